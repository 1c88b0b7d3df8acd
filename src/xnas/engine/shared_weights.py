"""What a cell is worth with the weights of a trained supernet.

Each edge of the cell has its operation alone, with share 1, and every other edge of the supernet has
nothing. Accuracy is that of the discretization gap (`gap.py`): on the first batches of the validation
half, which are the same for every cell, with their own batch statistics. Running statistics were
gathered over mixtures of operations and do not fit a single one (Bender et al., 2018). Weights and
buffers stay untouched.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.engine.forward import untouched_buffers
from xnas.engine.gap import accuracy
from xnas.engine.search import Search
from xnas.errors import ConfigError, GenotypeError
from xnas.space import Genotype, SearchSpace
from xnas.space.cell_genotype import NONE


def cell_accuracy(search: Search, cell: Genotype) -> float:
    """Share of right answers of a cell on the validation half, with the supernet's weights."""
    supernet, space = search.replicated, getattr(search.supernet, "space", None)
    if supernet is None or space is None:
        raise ConfigError(
            f"{type(search.supernet).__name__} is the supernet of no registered space, so cells cannot "
            "be told apart in it; search a space with --space"
        )
    spread = {kind: len(copies) for kind, copies in supernet.spread().items()}
    mixtures = cell_mixtures(search, cell, space)
    with untouched_buffers(search.supernet):
        return accuracy(search, {kind: u.expand(spread[kind], -1, -1) for kind, u in mixtures.items()})


def experts_left(search: Search) -> tuple[int, int]:
    """How many experts that cells can have are still in the supernet, and how many it began with."""
    space = getattr(search.supernet, "space", None)
    names = tuple(getattr(space, "operations", ()))
    used = [column for column, name in enumerate(names) if name != NONE]
    began = sum(len(mixture) * len(used) for mixture in search.mixtures.values())
    gone = sum(column in used for _, _, column in search.deleted)
    return began - gone, began


def cell_mixtures(search: Search, cell: Genotype, space: SearchSpace) -> dict[str, Tensor]:
    """By kind of cell, shares of 1 for the operations of `cell` and 0 for all others.

    Shapes: (edges, operations), as the supernet's mixtures. Raises for a cell that the supernet does
    not hold, or no longer.
    """
    if cell.space != space.name:
        raise GenotypeError(f"a cell of the space {cell.space} is not in a supernet of {space.name}")
    deleted, rows = set(search.deleted), {edge: row for row, edge in enumerate(space.edges)}
    found = {}
    for kind, mixture in search.mixtures.items():
        graph = cell.cell(next(known for known in space.kinds if known.value == kind))
        if len(graph.nodes) != space.nodes or tuple(graph.concat) != space.concat:
            raise GenotypeError(
                f"the {kind} cell has {len(graph.nodes)} nodes and joins {list(graph.concat)}; a "
                f"supernet of {space.name} has {space.nodes} and joins {list(space.concat)}"
            )
        chosen = torch.zeros_like(mixture, requires_grad=False)
        for node, edges in zip(space.node_numbers, graph.nodes, strict=True):
            for edge in edges:
                if edge.operation == NONE:
                    continue  # like an edge that is not there
                if edge.operation not in space.operations:
                    raise GenotypeError(
                        f"node {node} of the {kind} cell uses {edge.operation}, which the supernet has "
                        "not trained"
                    )
                row, column = rows[edge.source, node], space.operations.index(edge.operation)
                if (kind, row, column) in deleted:
                    raise GenotypeError(
                        f"{edge.operation} of the edge {edge.source} -> {node} of the {kind} cell was "
                        "wiped out of the supernet"
                    )
                chosen[row, column] += 1
        found[kind] = chosen
    return found
