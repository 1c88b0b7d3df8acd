"""Every method keeps the contract that the search relies on; each keeps its own protocol."""

import copy
import math

import pytest
import torch

from xnas import ConfigError, ExpertsOptimizer, RoundError, optimal_learning_rate, uniform_mixture
from xnas.methods import METHODS, Game, experts_learning_rates, ledgers


def game(**arguments):
    defaults = {
        "updates": 200,
        "examples": 100,
        "epochs": 20,
        "batch_size": 10,
        "replications": {"normal": 6, "reduction": 2},
        "seed": 3,
    }
    return Game(**defaults | arguments)


def build(name, **arguments):
    mixtures = {"normal": uniform_mixture(4, 5), "reduction": uniform_mixture(4, 5)}
    return mixtures, METHODS[name](mixtures, game(**arguments))


def play(mixtures, method, rounds, seed=0):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(rounds):
        for mixture in mixtures.values():
            mixture.grad = 0.3 * torch.randn(mixture.shape, generator=generator)
        method.step()


@pytest.mark.parametrize("name", list(METHODS))
class TestEveryMethod:
    def test_keeps_mixtures_on_the_simplex_and_moves_them(self, name):
        mixtures, method = build(name)
        before = {kind: m.detach().clone() for kind, m in mixtures.items()}
        play(mixtures, method, 50)
        for kind, mixture in mixtures.items():
            torch.testing.assert_close(mixture.sum(-1), torch.ones(4))
            assert (mixture >= 0).all()
            assert (mixture - before[kind]).abs().max() > 1e-4

    def test_prefers_the_expert_that_earns_more(self, name):
        mixtures, method = build(name)
        for _ in range(100):
            for mixture in mixtures.values():
                mixture.grad = -torch.tensor([0.0, -0.1, 0.0, 0.2, 0.0]).expand(4, 5)
            method.step()
        for mixture in mixtures.values():
            assert (method.strengths(mixture).argmax(-1) == 3).all()
            assert (method.comparable_sums(mixture).argmax(-1) == 3).all()
            assert method.alive(mixture)[:, 3].all()

    def test_goes_on_exactly_where_its_state_was_taken(self, name):
        mixtures, method = build(name)
        play(mixtures, method, 30)
        saved = copy.deepcopy(method.state_dict())
        values = {kind: m.detach().clone() for kind, m in mixtures.items()}
        play(mixtures, method, 30, seed=1)
        others, other = build(name)
        with torch.no_grad():
            for kind, mixture in others.items():
                mixture.copy_(values[kind])
        other.load_state_dict(saved)
        play(others, other, 30, seed=1)
        for kind, mixture in mixtures.items():
            assert torch.equal(mixture, others[kind])

    def test_the_same_seed_gives_the_same_numbers(self, name):
        one, other = build(name), build(name)
        for mixtures, method in (one, other):
            play(mixtures, method, 10)
        assert torch.equal(one[0]["normal"], other[0]["normal"])

    def test_numbers_that_are_not_finite_are_told(self, name):
        mixtures, method = build(name)
        for mixture in mixtures.values():
            mixture.grad = torch.full((4, 5), math.nan)

        def step_and_check():
            method.step()
            method.check()

        with pytest.raises(RoundError, match=r"not finite|is nan"):
            step_and_check()


def test_xnas_gives_each_kind_its_horizon_and_rate():
    mixtures, method = build("xnas", experts_lr="paper")
    assert isinstance(method, ExpertsOptimizer)
    rates = [float(group["lr"]) for group in method.param_groups]
    assert rates == [optimal_learning_rate(5, 100 * 20 * r) for r in (6, 2)]
    assert [method.ledger(m).horizon for m in mixtures.values()] == [200, 200]
    assert experts_learning_rates(5, "normal", game())["matched"] == optimal_learning_rate(5, 200)


def test_per_sample_accounting_counts_samples_and_replicas():
    mixtures, method = build("xnas", accounting="sample")
    horizons = [method.ledger(m).horizon for m in mixtures.values()]
    assert horizons == [200 * 10 * 6, 200 * 10 * 2]


def test_a_number_is_taken_as_the_rate():
    _, method = build("xnas", experts_lr=0.07)
    assert [float(group["lr"]) for group in method.param_groups] == [0.07, 0.07]


def test_without_wipeout_nobody_goes():
    for wipeout in (True, False):
        mixtures, method = build("xnas", wipeout=wipeout)
        play(mixtures, method, 200)
        assert bool(method.alive(mixtures["normal"]).all()) is not wipeout


def test_darts_descends_its_logits_as_autograd_and_adam_do():
    mixtures, method = build("darts")
    logits = [a.detach().clone().requires_grad_() for a in method.logits]
    adam = torch.optim.Adam(logits, lr=3e-4, betas=(0.5, 0.999), weight_decay=1e-3)
    for seed in range(5):
        target = torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(seed))
        for mixture, t in zip(mixtures.values(), target, strict=True):
            mixture.grad = t.clone()
        method.step()
        adam.zero_grad()
        sum((a.softmax(-1) * t).sum() for a, t in zip(logits, target, strict=True)).backward()
        adam.step()
    for mine, theirs in zip(method.logits, logits, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


def test_darts_starts_near_uniform_with_noise_from_its_seed():
    mixtures, _ = build("darts")
    assert 0 < (mixtures["normal"] - 0.2).abs().max() < 2e-3


def test_darts_takes_one_round_an_update():
    with pytest.raises(ConfigError, match="not accounting 'sample'"):
        build("darts", accounting="sample")


@pytest.mark.parametrize("rounds", [1, 2])
def test_darts_refuses_to_observe_one_mixture_and_leaves_all_as_they_are(rounds):
    mixtures, method = build("darts")
    play(mixtures, method, 3)
    before = copy.deepcopy(mixtures)
    with pytest.raises(
        ConfigError, match=f"cannot observe .* got {rounds} .*; set the gradient .* step"
    ):
        method.observe(mixtures["normal"], torch.ones(rounds, 4, 5))
    for kind, mixture in mixtures.items():
        assert torch.equal(mixture, before[kind])


def test_unknown_methods_are_named():
    with pytest.raises(ConfigError, match="no method called 'magic'; there are: "):
        METHODS["magic"]


def test_ledgers_are_kept_by_methods_of_expert_advice_alone():
    mixtures, xnas = build("xnas")
    assert set(ledgers(xnas, mixtures)) == {"normal", "reduction"}
    mixtures, darts = build("darts")
    assert ledgers(darts, mixtures) == {}
