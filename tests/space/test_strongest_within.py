"""The strongest cell within limits, compared with trying all cells."""

from itertools import combinations, product

import pytest
import torch

from xnas.space import SPACES, CellKind, SearchSpace
from xnas.space import strongest_within as job
from xnas.space.strongest_within import strongest_anywhere, strongest_on

PAIRS = SearchSpace("pairs", ("a", "b", "none", "c"), nodes=2, kinds=(CellKind.NORMAL,))
FULL = SPACES["nasbench201"]


def tables(space, resources, seed):
    draw = torch.Generator().manual_seed(seed)
    shape = (len(space.edges), len(space.operations))
    strengths = {k: torch.randn(shape, generator=draw).double() for k in space.kinds}
    costs = {k: torch.rand(*shape, resources, generator=draw).double() for k in space.kinds}
    return strengths, costs


def every_cell(space, edges=None):
    """All cells of a space with one kind, as picks."""
    able = [i for i, name in enumerate(space.operations) if name != "none"]
    nodes = []
    for node in space.node_numbers:
        rows = [row for row, (_, target) in enumerate(space.edges) if target == node]
        keep = space.kept_edges or len(rows)
        nodes.append([k for k in combinations(rows, keep) if not edges or {*k} <= {*edges}])
    for rows in product(*nodes):
        flat = [row for part in rows for row in part]
        for columns in product(able, repeat=len(flat)):
            yield tuple(("normal", row, column) for row, column in zip(flat, columns, strict=True))


def total(table, picks):
    kinds, rows, columns = zip(*picks, strict=True)
    return table[kinds[0]][list(rows), list(columns)].sum(0)


def best_of(cells, strengths, costs, room):
    """By adding up all cells at once; they have one kind."""
    cells = list(cells)
    rows = torch.tensor([[row for _, row, _ in picks] for picks in cells])
    columns = torch.tensor([[column for *_, column in picks] for picks in cells])
    fits = (costs["normal"][rows, columns].sum(1) <= room).all(-1)
    value = strengths["normal"][rows, columns].sum(1).masked_fill(~fits, -torch.inf)
    return cells[int(value.argmax())] if fits.any() else None


@pytest.mark.parametrize("space", [PAIRS, FULL], ids=["two edges per node", "all edges"])
@pytest.mark.parametrize("resources", [1, 3])
@pytest.mark.parametrize("share", [0.2, 0.35, 0.6])
def test_it_is_the_best_of_all_cells(space, resources, share):
    strengths, costs = tables(space, resources, seed=resources)
    every = list(every_cell(space))
    room = torch.full((resources,), share * len(every[0]), dtype=torch.float64)
    found = strongest_anywhere(space, strengths=strengths, costs=costs, room=room)
    wanted = best_of(every, strengths, costs, room)
    assert found == wanted


def test_edges_may_be_given():
    strengths, costs = tables(PAIRS, 1, seed=5)
    rows, room = (0, 1, 2, 4), torch.tensor([1.6], dtype=torch.float64)
    edges = [("normal", row) for row in rows]
    found = strongest_on(edges, PAIRS, strengths=strengths, costs=costs, room=room)
    assert found == best_of(every_cell(PAIRS, edges=rows), strengths, costs, room)
    assert [row for _, row, _ in found] == [*rows]


def test_without_room_for_the_cheapest_there_is_none():
    strengths, costs = tables(FULL, 1, seed=0)
    least = sum(costs["normal"].amin(1))
    assert strongest_anywhere(FULL, strengths=strengths, costs=costs, room=0.999 * least) is None
    found = strongest_anywhere(FULL, strengths=strengths, costs=costs, room=1.001 * least)
    assert [column for *_, column in found] == costs["normal"][..., 0].argmin(1).tolist()


def test_none_is_never_chosen_however_strong_and_cheap():
    strengths, costs = tables(PAIRS, 1, seed=0)
    strengths["normal"][:, 2], costs["normal"][:, 2] = 100.0, 0.0
    room = torch.tensor([torch.inf], dtype=torch.float64)
    found = strongest_anywhere(PAIRS, strengths=strengths, costs=costs, room=room)
    assert all(column != 2 for *_, column in found)


def test_too_many_partial_cells_lose_strength_at_most_never_the_limit(monkeypatch):
    monkeypatch.setattr(job, "MOST", 2)
    monkeypatch.setattr(job, "BLOCK", 3)
    strengths, costs = tables(FULL, 1, seed=3)
    for share in (0.15, 0.3, 0.5):
        room = torch.tensor([share * 6], dtype=torch.float64)
        found = strongest_anywhere(FULL, strengths=strengths, costs=costs, room=room)
        assert (found is None) == bool(sum(costs["normal"].amin(1)) > room)
        assert found is None or bool(total(costs, found) <= room)


def test_ties_go_to_the_earlier_operation():
    strengths = {"normal": torch.zeros(6, 4, dtype=torch.float64)}
    costs = {"normal": torch.ones(6, 4, 1, dtype=torch.float64)}
    room = torch.tensor([6.0], dtype=torch.float64)
    found = strongest_anywhere(FULL, strengths=strengths, costs=costs, room=room)
    assert [column for *_, column in found] == [0] * 6
