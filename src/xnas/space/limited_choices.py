"""What limits make of the choices of a search: the strongest cell that obeys them, and where it differs.

Edges stay those that the search keeps, and only operations are chosen again. Where no operations on them
are within the limits, edges are chosen again as well, by the same strength (`strongest_within`), since
what the absence of an edge costs says nothing about pairs of edge and operation.

Departure: the paper has no limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from xnas.records import EdgeChoice
from xnas.space.spaces import SearchSpace
from xnas.space.strongest_within import Pick, strongest_anywhere, strongest_on

LIMIT = "limit"
"""What decided an edge that a limit changed."""


def picks_of(choices: Sequence[EdgeChoice], space: SearchSpace) -> tuple[Pick, ...]:
    """Return the edges and operations of the cell that was chosen."""
    return tuple(
        (c.kind, space.edges.index((c.source, c.node)), space.operations.index(c.operation))
        for c in choices
        if c.kept
    )


def picks_within(
    choices: Sequence[EdgeChoice],
    space: SearchSpace,
    *,
    strengths: Mapping[str, Tensor],
    costs: Mapping[str, Tensor],
    room: Tensor,
    paid: Mapping[str, Tensor] | None = None,
) -> tuple[Pick, ...] | None:
    """Choose the strongest cell whose operations have room; None if there is none.

    `strengths` are the weights u of all experts, by kind (edges, operations), `costs` those of their
    operations (edges, operations, resources), and `room` is what they may cost together (resources).
    `paid` (edges, operations) is by how much prices have lowered the logarithms of the weights. It is
    given back: where limits are held exactly, a cost that was paid would count twice.
    """
    smallest = torch.finfo(torch.float64).tiny  # a weight of 0 can still be the only way
    logarithms = {}
    for kind, u in strengths.items():
        logarithms[kind] = u.detach().cpu().double().clamp(min=smallest).log()
        if paid is not None:
            logarithms[kind] += paid[kind]
    edges = [(kind, row) for kind, row, _ in picks_of(choices, space)]
    on_them = strongest_on(edges, space, strengths=logarithms, costs=costs, room=room)
    if on_them is not None:
        return on_them
    return strongest_anywhere(space, strengths=logarithms, costs=costs, room=room)


def limited_choices(
    choices: Sequence[EdgeChoice],
    picks: Sequence[Pick],
    space: SearchSpace,
    *,
    strengths: Mapping[str, Tensor],
    sums: Mapping[str, Tensor],
) -> tuple[EdgeChoice, ...]:
    """Return the choices of another cell; edges that differ name the limit and what they would be.

    `strengths` and `sums` of rewards have for each kind of cell a tensor (edges, operations).
    """
    columns = {(kind, row): column for kind, row, column in picks}
    found = []
    for choice in choices:
        row = space.edges.index((choice.source, choice.node))
        column = columns.get((choice.kind, row))
        operation = choice.operation if column is None else space.operations[column]
        if (operation, column is not None) == (choice.operation, choice.kept):
            found.append(replace(choice, limited=False))
            continue
        limited = replace(choice, kept=column is not None, decided_by=LIMIT, limited=True)
        if column is not None and operation != choice.operation:
            earned, own = sums[choice.kind][row].tolist(), space.operations.index(choice.operation)
            limited = replace(
                limited,
                operation=operation,
                lead=earned[column] - max(e for i, e in enumerate(earned) if i != column),
                runner_up=choice.operation,
                runner_up_strength=float(strengths[choice.kind][row, own]),
            )
        found.append(limited)
    return tuple(found)
