"""DrNAS in stages."""

import pytest
from method_games import build

from xnas.methods import METHODS


@pytest.mark.parametrize(
    ("space", "experts", "partial"), [("darts", [None, 4], [6, 4]), ("nasbench201", [None, 3], [4, 2])]
)
def test_channels_grow_and_experts_go(space, experts, partial):
    stages = METHODS["drnas-progressive"].stages_on(space)
    assert [stage.experts for stage in stages] == experts
    assert [stage.partial_channels for stage in stages] == partial


def test_it_rests_at_the_start_of_a_stage_but_not_on_the_benchmark():
    _, method = build("drnas-progressive", epochs=25)
    assert [method.learns(e, 0) for e in (0, 9, 10, 24)] == [False, False, True, True]
    _, method = build("drnas-progressive", epochs=25, kept_edges=None)
    assert method.learns(0, 0)
