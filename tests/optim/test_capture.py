"""A step can be captured: nothing is read on the host, and faults are masked until `check`.

Without a GPU, fake tensors stand in: they have shapes but no values, so any read of a value on the
host raises. The real capture is in `test_cuda.py`.
"""

import math

import pytest
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from xnas import ExpertsOptimizer, Forecaster, RoundError, uniform_mixture
from xnas.optim import experts
from xnas.optim.stacks import Stack


@pytest.fixture
def capturing(monkeypatch):
    monkeypatch.setattr(experts, "_is_capturing", lambda _: True)


def without_values(optimizer):
    """The optimizer's stacks, with every tensor replaced by one that has no values."""
    mode = FakeTensorMode()

    def fake(tensor):
        return mode.from_tensor(tensor.detach())

    stacks = [
        Stack(
            stack.groups,
            tuple(fake(p) for p in stack.params),
            {name: fake(value) for name, value in stack.accounts.items()},
            {
                number: {name: fake(value) for name, value in settings.items()}
                for number, settings in stack.settings.items()
            },
            fake(stack.rows),
            fake(stack.edges),
        )
        for stack in optimizer._stacks()
    ]
    return mode, stacks


@pytest.mark.usefixtures("capturing")
def test_a_captured_step_reads_nothing_on_the_host():
    optimizer = ExpertsOptimizer([uniform_mixture(14, 7), uniform_mixture(14, 7)], horizon=100)
    mode, stacks = without_values(optimizer)
    with mode, torch.no_grad():
        rewards = torch.randn(2, 1, 14, 7, dtype=torch.float64)
        optimizer._play([(stacks[0], rewards)])


def test_the_stand_in_notices_the_host_reads_of_a_plain_step():
    optimizer = ExpertsOptimizer([uniform_mixture(14, 7), uniform_mixture(14, 7)], horizon=100)
    mode, stacks = without_values(optimizer)
    optimizer.param_groups[0].update(stacks[0].settings[0])
    with mode, torch.no_grad(), pytest.raises(DataDependentOutputException):
        optimizer._play([(stacks[0], torch.randn(2, 1, 14, 7, dtype=torch.float64))])


def test_a_forecaster_reads_nothing_on_the_host():
    with FakeTensorMode():
        forecaster = Forecaster({"a": torch.nn.Linear(3, 3), "b": torch.nn.Identity()})
        assert forecaster(torch.randn(5, 3)).shape == (5, 3)


@pytest.mark.usefixtures("capturing")
def test_captured_and_plain_steps_agree_to_the_bit(monkeypatch):
    rewards = torch.randn(40, 3, 4)
    results = []
    for captured in (True, False):
        monkeypatch.setattr(experts, "_is_capturing", lambda _, captured=captured: captured)
        mixture = uniform_mixture(3, 4)
        optimizer = ExpertsOptimizer([mixture], horizon=40)
        for round_rewards in rewards:
            mixture.grad = -round_rewards
            optimizer.step()
        optimizer.check()
        results.append((mixture.detach().clone(), optimizer.ledger(mixture)))
    assert torch.equal(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]


@pytest.mark.usefixtures("capturing")
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            lambda _, m: m[1].grad.fill_(math.nan),
            r"mixture 1 refused 1 captured round\(s\): rewards were not",
        ),
        (lambda o, _: o.param_groups[0]["horizon"].fill_(2), "the horizon of 2 rounds has passed"),
        (lambda o, _: o.param_groups[0]["lr"].fill_(-1.0), "settings are out of range: lr -1"),
    ],
)
def test_faults_in_a_graph_are_masked_and_raised_by_check(spoil, words):
    mixtures = [uniform_mixture(2, 3), uniform_mixture(2, 3)]
    optimizer = ExpertsOptimizer(mixtures, horizon=10, lr=0.5)
    for mixture in mixtures:
        mixture.grad = torch.randn(2, 3)
    optimizer.step()
    optimizer.step()
    optimizer.check()
    before = [
        (m.detach().clone(), optimizer.ledger(m).regret, optimizer.ledger(m).rounds) for m in mixtures
    ]
    spoil(optimizer, mixtures)
    optimizer.step()
    after = [
        (m.detach().clone(), optimizer.ledger(m).regret, optimizer.ledger(m).rounds) for m in mixtures
    ]
    for (u, regret, rounds), (v, after_regret, after_rounds) in zip(before, after, strict=True):
        assert torch.equal(u, v)
        assert (regret, rounds) == (after_regret, after_rounds)
    with pytest.raises(RoundError, match=words):
        optimizer.check()
    optimizer.check()  # reported once


@pytest.mark.usefixtures("capturing")
def test_check_reports_every_mixture_at_once():
    mixtures = [uniform_mixture(2, 3) for _ in range(3)]
    optimizer = ExpertsOptimizer(mixtures, horizon=10, lr=0.5)
    for mixture in mixtures:
        mixture.grad = torch.zeros(2, 3)
    mixtures[0].grad[0, 0] = math.nan
    mixtures[2].grad[1, 1] = math.inf
    optimizer.step()
    optimizer.step()
    with pytest.raises(
        RoundError, match=r"mixture 0 refused 2 captured.*; mixture 2 refused 2 captured"
    ):
        optimizer.check()
    optimizer.check()
