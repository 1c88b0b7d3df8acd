"""State survives saving, loading, copying and pickling, bit for bit and dtype for dtype."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

from xnas import ConfigError, ExpertsOptimizer, uniform_mixture


def build(horizon=40):
    mixtures = [uniform_mixture(3, 4), uniform_mixture(3, 4), uniform_mixture(2, 5)]
    groups = [
        {"params": mixtures[:1], "lr": 0.3},
        {"params": mixtures[1:], "relaxation": 0.2, "lr": 0.1},
    ]
    return mixtures, ExpertsOptimizer(groups, horizon=horizon)


def run(mixtures, optimizer, rounds, seed):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(rounds):
        for mixture in mixtures:
            mixture.grad = 2 * torch.randn(mixture.shape, generator=generator)
        optimizer.step()


def assert_same_state(one, other):
    for (p, mine), (q, theirs) in zip(one.state.items(), other.state.items(), strict=True):
        assert torch.equal(p, q)
        assert mine.keys() == theirs.keys()
        for name in mine:
            assert mine[name].dtype == theirs[name].dtype, name
            assert torch.equal(mine[name], theirs[name]), name


def through_a_file(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def test_a_resumed_run_ends_like_an_uninterrupted_one():
    mixtures, optimizer = build()
    run(mixtures, optimizer, 25, seed=1)
    saved = through_a_file(
        {"optimizer": optimizer.state_dict(), "mixtures": [m.detach() for m in mixtures]}
    )
    run(mixtures, optimizer, 15, seed=2)

    resumed_mixtures, resumed = build()
    resumed.load_state_dict(saved["optimizer"])
    with torch.no_grad():
        for mixture, value in zip(resumed_mixtures, saved["mixtures"], strict=True):
            mixture.copy_(value)
    run(resumed_mixtures, resumed, 15, seed=2)
    assert_same_state(optimizer, resumed)
    for one, other in zip(mixtures, resumed_mixtures, strict=True):
        assert optimizer.ledger(one) == resumed.ledger(other)


def test_sums_masks_and_counters_keep_their_dtypes_when_loaded():
    mixtures, optimizer = build()
    run(mixtures, optimizer, 30, seed=3)
    _, loaded = build()
    loaded.load_state_dict(optimizer.state_dict())
    state = next(iter(loaded.state.values()))
    assert state["cumulative_rewards"].dtype == torch.float64
    assert state["settings_changed"].dtype == torch.bool
    assert state["rounds"].dtype == torch.int64
    # A third does not fit float32: the base class would have rounded it.
    assert (state["cumulative_rewards"] != state["cumulative_rewards"].float().double()).any()


def test_loading_writes_into_the_tensors_that_a_graph_would_read():
    mixtures, optimizer = build()
    run(mixtures, optimizer, 5, seed=4)
    _, loaded = build()
    rate = loaded.param_groups[1]["lr"]
    addresses = [value.data_ptr() for state in loaded.state.values() for value in state.values()]
    loaded.load_state_dict(optimizer.state_dict())
    assert loaded.param_groups[1]["lr"] is rate
    assert addresses == [value.data_ptr() for state in loaded.state.values() for value in state.values()]


def test_a_schedule_survives_loading():
    mixtures, optimizer = build()
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    run(mixtures, optimizer, 1, seed=5)
    scheduler.step()
    _, loaded = build()
    again = torch.optim.lr_scheduler.ExponentialLR(loaded, gamma=0.9)
    loaded.load_state_dict(optimizer.state_dict())
    again.load_state_dict(scheduler.state_dict())
    for one, other in zip(optimizer.param_groups, loaded.param_groups, strict=True):
        assert torch.equal(one["lr"], other["lr"])
        assert other["lr"].dtype == torch.float64


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])  # noqa: S301
def test_copies_continue_alone(clone):
    mixtures, optimizer = build()
    run(mixtures, optimizer, 10, seed=6)
    other = clone(optimizer)
    others = [p for group in other.param_groups for p in group["params"]]
    assert_same_state(optimizer, other)
    before = optimizer.ledger(mixtures[0])
    run(others, other, 5, seed=7)
    assert optimizer.ledger(mixtures[0]) == before
    run(mixtures, optimizer, 5, seed=7)
    assert_same_state(optimizer, other)


def test_a_copy_continues_with_its_mixtures_when_a_group_is_added():
    mixtures, optimizer = build()
    run(mixtures, optimizer, 10, seed=6)
    others, other = copy.deepcopy((mixtures, optimizer))
    for list_of, owner in ((mixtures, optimizer), (others, other)):
        list_of.append(uniform_mixture(2, 3))
        owner.add_param_group({"params": list_of[-1:]})
        run(list_of, owner, 5, seed=7)
    assert other.ledger(others[0]).rounds == 15
    assert_same_state(optimizer, other)


def test_a_copy_takes_a_number_that_is_assigned_before_its_first_step():
    mixtures, optimizer = build()
    run(mixtures, optimizer, 10, seed=6)
    others, other = copy.deepcopy((mixtures, optimizer))
    for list_of, owner in ((mixtures, optimizer), (others, other)):
        owner.param_groups[0]["lr"] = 0.1
        run(list_of, owner, 5, seed=7)
    assert_same_state(optimizer, other)


def test_a_copy_with_a_bad_number_refuses_every_step_until_it_is_fixed():
    mixtures, optimizer = copy.deepcopy(build())
    optimizer.param_groups[1]["lr"] = -1.0
    for _ in range(2):
        with pytest.raises(ConfigError, match="lr must be positive and finite"):
            run(mixtures, optimizer, 1, seed=8)
    optimizer.param_groups[1]["lr"] = 0.1
    run(mixtures, optimizer, 1, seed=8)
    assert [optimizer.ledger(mixture).rounds for mixture in mixtures] == [1, 1, 1]


def test_load_hooks_see_and_may_change_the_state():
    mixtures, optimizer = build()
    run(mixtures, optimizer, 3, seed=8)
    _, loaded = build()
    seen = []

    def forget_the_rounds(_, saved):
        saved = copy.deepcopy(saved)
        for state in saved["state"].values():
            state["rounds"].zero_()
        return saved

    loaded.register_load_state_dict_pre_hook(forget_the_rounds)
    loaded.register_load_state_dict_post_hook(
        lambda o: seen.append(next(iter(o.state.values()))["cumulative_rewards"].dtype)
    )
    loaded.load_state_dict(optimizer.state_dict())
    assert [int(state["rounds"]) for state in loaded.state.values()] == [0, 0, 0]
    assert seen == [torch.float64]


def test_state_of_other_mixtures_is_refused_and_nothing_is_lost():
    mixtures, optimizer = build()
    run(mixtures, optimizer, 3, seed=9)
    before = copy.deepcopy(optimizer.state_dict())
    other = ExpertsOptimizer(
        [
            {"params": [uniform_mixture(3, 4)]},
            {"params": [uniform_mixture(3, 4), uniform_mixture(2, 6)]},
        ],
        horizon=5,
        lr=1.0,
    )
    with pytest.raises(ConfigError, match=r"'cumulative_rewards' of mixture 2 was saved as .* \(2, 6\)"):
        optimizer.load_state_dict(other.state_dict())
    adam = torch.optim.Adam([{"params": mixtures[:1]}, {"params": mixtures[1:]}])
    with pytest.raises(ConfigError, match="mixture 0 has no 'cumulative_rewards'"):
        optimizer.load_state_dict(adam.state_dict())
    few = ExpertsOptimizer([uniform_mixture(3, 4)], horizon=5)
    with pytest.raises(ConfigError, match="saved state has 1 mixtures, this optimizer 3"):
        optimizer.load_state_dict(few.state_dict())
    for mine, theirs in zip(
        before["state"].values(), optimizer.state_dict()["state"].values(), strict=True
    ):
        assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_weights_and_mixtures_of_a_model_resume_together():
    model = nn.ModuleDict({"layer": nn.Linear(2, 2)})
    model.mixture = uniform_mixture(1, 3)
    optimizer = ExpertsOptimizer([model.mixture], horizon=10)
    run([model.mixture], optimizer, 4, seed=10)
    saved = through_a_file({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    fresh = nn.ModuleDict({"layer": nn.Linear(2, 2)})
    fresh.mixture = uniform_mixture(1, 3)
    again = ExpertsOptimizer([fresh.mixture], horizon=10)
    fresh.load_state_dict(saved["model"])
    again.load_state_dict(saved["optimizer"])
    assert torch.equal(fresh.mixture, model.mixture)
    assert again.ledger(fresh.mixture) == optimizer.ledger(model.mixture)


def test_loading_the_optimizer_alone_brings_its_mixtures_back():
    mixtures, optimizer = build()
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    run(mixtures, optimizer, 12, seed=11)
    scheduler.step()  # a rate that no mixture was made with yet
    fresh, loaded = build()
    loaded.load_state_dict(optimizer.state_dict())
    for one, other in zip(mixtures, fresh, strict=True):
        assert torch.equal(one, other)
