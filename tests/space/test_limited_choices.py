"""What limits change of the choices of a search, and what they leave."""

import pytest
import torch

from xnas.space import SPACES, explain
from xnas.space.limited_choices import LIMIT, limited_choices, picks_of, picks_within

DARTS, BENCHMARK = SPACES["darts"], SPACES["nasbench201"]
BIG = DARTS.operations.index("sep_conv_5x5")
FREE = torch.tensor([torch.inf], dtype=torch.float64)


def searched(space, seed=0):
    """Choices of a search with random sums, and the tables that they follow from."""
    draw = torch.Generator().manual_seed(seed)
    shape = (len(space.edges), len(space.operations))
    sums = {str(k): torch.randn(shape, generator=draw).double() for k in space.kinds}
    strengths = {kind: table.softmax(-1) for kind, table in sums.items()}
    alive = {kind: torch.ones(shape, dtype=torch.bool) for kind in sums}
    return explain(strengths, alive, space, sums), strengths, sums


def counting(space, operation):
    """An operation costs 1 everywhere, and all others nothing."""
    shape = (len(space.edges), len(space.operations), 1)
    costs = {str(kind): torch.zeros(shape, dtype=torch.float64) for kind in space.kinds}
    for table in costs.values():
        table[:, operation] = 1.0
    return costs


def test_with_room_for_all_nothing_changes():
    choices, strengths, sums = searched(DARTS)
    given = {"strengths": strengths, "costs": counting(DARTS, BIG), "room": FREE}
    picks = picks_within(choices, DARTS, **given)
    assert sorted(picks) == sorted(picks_of(choices, DARTS))
    same = limited_choices(choices, picks, DARTS, strengths=strengths, sums=sums)
    assert [c.limited for c in same] == [False] * len(choices)
    assert [(c.operation, c.kept, c.decided_by) for c in same] == [
        (c.operation, c.kept, c.decided_by) for c in choices
    ]


def test_the_edges_stay_and_the_operations_that_lose_least_change():
    choices, strengths, sums = searched(BENCHMARK, seed=1)
    costs = counting(BENCHMARK, BENCHMARK.operations.index("nor_conv_3x3"))
    own = [c for c in choices if c.operation == "nor_conv_3x3"]
    assert len(own) >= 2
    room = torch.tensor([len(own) - 1.0], dtype=torch.float64)
    picks = picks_within(choices, BENCHMARK, strengths=strengths, costs=costs, room=room)
    found = limited_choices(choices, picks, BENCHMARK, strengths=strengths, sums=sums)
    (changed,) = [c for c in found if c.limited]
    loss = {c.source + 10 * c.node: (c.strength / c.runner_up_strength) for c in own}
    assert changed.source + 10 * changed.node == min(loss, key=loss.get)
    before = next(c for c in own if (c.source, c.node) == (changed.source, changed.node))
    assert changed.decided_by == LIMIT
    assert (changed.operation, changed.runner_up) == (before.runner_up, "nor_conv_3x3")
    assert changed.runner_up_strength == pytest.approx(before.strength)
    assert changed.lead == pytest.approx(-before.lead)
    assert changed.kept


def test_edges_move_only_where_no_operations_on_them_have_room():
    choices, strengths, sums = searched(DARTS)
    costs = {kind: torch.zeros_like(t) for kind, t in counting(DARTS, BIG).items()}
    dear = next(c for c in choices if c.kept and c.node == 5)
    row = DARTS.edges.index((dear.source, dear.node))
    costs[dear.kind][row] = 1.0
    none = torch.zeros(1, dtype=torch.float64)
    picks = picks_within(choices, DARTS, strengths=strengths, costs=costs, room=none)
    found = limited_choices(choices, picks, DARTS, strengths=strengths, sums=sums)
    moved = {(c.kind, c.node, c.source): c for c in found}[dear.kind, dear.node, dear.source]
    assert (moved.kept, moved.decided_by, moved.limited) == (False, LIMIT, True)
    at_node = [c for c in found if (c.kind, c.node) == (dear.kind, 5) and c.kept]
    assert len(at_node) == 2
    assert sum(c.kept for c in found) == sum(c.kept for c in choices)


def test_operations_of_weight_0_are_the_last_resort():
    choices, strengths, _ = searched(BENCHMARK)
    gone = {"normal": torch.zeros_like(strengths["normal"])}
    gone["normal"][:, 2] = 1.0
    costs = counting(BENCHMARK, 2)
    none = torch.zeros(1, dtype=torch.float64)
    picks = picks_within(choices, BENCHMARK, strengths=gone, costs=costs, room=none)
    assert [column for *_, column in picks] == [0] * 6
    assert picks_within(choices, BENCHMARK, strengths=gone, costs=costs, room=none - 1) is None


def test_what_was_paid_does_not_count_again_where_the_limit_is_exact():
    choices, strengths, sums = searched(BENCHMARK, seed=1)
    big = BENCHMARK.operations.index("nor_conv_3x3")
    costs = counting(BENCHMARK, big)
    room = torch.tensor([2.0], dtype=torch.float64)
    given = {"costs": costs, "room": room}
    free = picks_within(choices, BENCHMARK, strengths=strengths, **given)
    paid = {"normal": torch.zeros_like(sums["normal"])}
    paid["normal"][:, big] = 50.0
    lowered = {"normal": (sums["normal"] - paid["normal"]).softmax(-1)}
    assert all(
        column != big for *_, column in picks_within(choices, BENCHMARK, strengths=lowered, **given)
    )
    again = picks_within(choices, BENCHMARK, strengths=lowered, paid=paid, **given)
    assert again == free
