"""DrNAS in stages."""

import copy

import pytest
import torch
from method_games import build

from xnas.methods import METHODS


@pytest.mark.parametrize(
    ("space", "experts", "partial"), [("darts", [None, 4], [6, 4]), ("nasbench201", [None, 3], [4, 2])]
)
def test_channels_grow_and_experts_go(space, experts, partial):
    stages = METHODS["drnas-progressive"].stages_on(space)
    assert [stage.experts for stage in stages] == experts
    assert [stage.partial_channels for stage in stages] == partial


@pytest.mark.parametrize(("length", "kept"), [(25, 1), (50, None)])
def test_it_rests_in_the_first_ten_epochs_of_each_stage(length, kept):
    stages = {"stages": (length, length), "epochs": 2 * length, "kept_edges": kept}
    _, method = build("drnas-progressive", **stages)
    resting = [epoch for epoch in range(2 * length) if not method.learns(epoch, 0)]
    assert resting == [*range(10), *range(length, length + 10)]  # DARTS and NAS-Bench-201 scripts


def test_epochs_of_a_warm_up_count_as_rest():
    _, method = build("drnas-progressive", stages=(25, 25), epochs=50 - 12)
    assert [epoch for epoch in range(38) if not method.learns(epoch, 0)] == list(range(13, 23))


def test_what_it_learned_lives_on_in_the_second_stage():
    for space in ("darts", "nasbench201"):
        _, second = METHODS["drnas-progressive"].stages_on(space)
        assert second.fresh_weights
        assert not second.fresh_method
        assert second.experts is not None


def test_operations_that_are_dropped_belong_to_its_state():
    mixtures, method = build("drnas-progressive")
    gone = torch.zeros(4, 5, dtype=torch.bool)
    gone[:, 1] = gone[2, 3] = True
    before = method.logits_of("normal").detach().clone()
    method.wipe(mixtures["normal"], gone)
    assert torch.equal(method.logits_of("normal"), before)
    assert torch.equal(method.alive(mixtures["normal"]), ~gone)
    torch.testing.assert_close(mixtures["normal"].sum(-1), torch.ones(4))
    others, other = build("drnas-progressive", seed=4)
    other.load_state_dict(copy.deepcopy(method.state_dict()))
    assert torch.equal(other.alive(others["normal"]), ~gone)
    assert torch.equal(others["normal"], mixtures["normal"])
