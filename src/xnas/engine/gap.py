"""The discretization gap: what a supernet loses when it commits itself (Sec. 3.2.2, "No Weight Decay").

Accuracy on the validation half, with batch statistics, of (a) the mixture, (b) the strongest expert on
every edge, (c) the cell that the search would give. Where only `none` lives, a cell has another
operation (`space/discretize.py`); once that is deleted from the supernet, (c) cannot be measured.
Weights and buffers stay untouched.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from xnas.engine.forward import untouched_buffers
from xnas.engine.search import Search
from xnas.records import Gap
from xnas.space import SearchSpace

EVALUATION_BATCHES = 20
"""At most so many batches: enough to see a gap, few enough to be measured often."""


def discretization_gap(search: Search) -> Gap | None:
    """The three accuracies now, or None for a supernet of no registered space."""
    supernet, space = search.replicated, getattr(search.supernet, "space", None)
    if supernet is None or space is None:
        return None
    experts, cell = chosen_mixtures(search, space)
    spread = {kind: len(copies) for kind, copies in supernet.spread().items()}

    def measured(mixtures: Mapping[str, Tensor]) -> float:
        return accuracy(search, {k: u.expand(spread[k], -1, -1) for k, u in mixtures.items()})

    with untouched_buffers(search.supernet):
        return Gap(
            mixture=accuracy(search, supernet.spread()),
            experts=measured(experts),
            cell=None if cell is None else measured(cell),
        )


def chosen_mixtures(
    search: Search, space: SearchSpace
) -> tuple[dict[str, Tensor], dict[str, Tensor] | None]:
    """One-hot mixtures of the strongest living experts on all edges, and of the cell's operations.

    The second is None if an operation of the cell was deleted.
    """
    standing = search.standing()
    deleted = set(search.deleted)
    choices, alive = standing.choices(space), standing.alive
    experts: dict[str, Tensor] = {}
    cell: dict[str, Tensor] = {}
    lost = False
    for kind, mixture in search.mixtures.items():
        mine = {(c.source, c.node): c for c in choices if c.kind == kind}
        ordered = [mine[edge] for edge in space.edges]
        columns = [space.operations.index(c.operation) for c in ordered]
        kept = torch.tensor([c.kept for c in ordered])
        living = alive[kind].tolist()
        strongest = [
            i if lives[i] else lives.index(True) for i, lives in zip(columns, living, strict=True)
        ]
        experts[kind] = one_hot(torch.tensor(strongest), len(space.operations)).to(mixture)
        alone = one_hot(torch.tensor(columns), len(space.operations)).to(mixture)
        cell[kind] = alone * kept[:, None].to(mixture)
        lost |= any(
            c.kept and (kind, edge, i) in deleted
            for edge, (c, i) in enumerate(zip(ordered, columns, strict=True))
        )
    return experts, None if lost else cell


@torch.no_grad()
def accuracy(search: Search, mixtures: Mapping[str, Tensor]) -> float:
    """Share of right answers on the validation half, with batch statistics."""
    right, seen = 0, 0
    for images, labels in search.valid.whole(EVALUATION_BATCHES):
        logits = search.supernet(images, mixtures)
        right += int((logits.argmax(-1) == labels).sum())
        seen += len(labels)
    return right / seen
