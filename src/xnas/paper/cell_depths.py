"""The paper's depth of a cell (Sec. 10) under every numbering of its states, and that of random cells.

The depth of a cell is the mean number of the states that its edges come from. The graph of a cell does
not order its two inputs, nor nodes that do not feed one another, so it has several depths.
"""

from __future__ import annotations

import statistics
from fractions import Fraction
from itertools import combinations, permutations, product

from xnas.records import DepthRow, RandomDepths
from xnas.space import CellGenotype, Genotype, cell_depth, list_cells, zoo_cell

INPUTS = 2
NODES = 4
"""Nodes of a cell of the paper's space."""
CANDIDATES: dict[str, tuple[str, ...]] = {
    "SNAS": ("snas_mild", "snas_moderate", "snas_aggressive"),
    "PNAS": ("pnas",),
    "Amoeba-A": ("amoebanet_a", "amoebanet_a_google"),
    "NASNet": ("nasnet_a",),
    "DARTS": ("darts_v1", "darts_v2"),
    "ASAP": ("asap",),
    "XNAS": ("xnas",),
}
"""Cells that the rows of Table 4 could mean, in its order."""


def depth_rows() -> list[DepthRow]:
    """Table 4 with every cell that it could mean, then all other published cells."""
    printed = dict(filter(None, (zoo_cell(name).paper_depth for name in list_cells())))
    rows = [_row(cell, row, printed[row]) for row, cells in CANDIDATES.items() for cell in cells]
    named = {row.cell for row in rows}
    return rows + [_row(cell, None, None) for cell in list_cells() if cell not in named]


def reachable_depths(cell: CellGenotype) -> list[float]:
    """Depths that a cell can have, over all numberings under which edges lead upwards; ascending."""
    edges = [(edge.source, node) for node, edges in enumerate(cell.nodes, INPUTS) for edge in edges]
    numbers = range(INPUTS, INPUTS + len(cell.nodes))
    found = set()
    for inputs, nodes in product(permutations(range(INPUTS)), permutations(numbers)):
        number = (*inputs, *nodes)
        if all(number[source] < number[node] for source, node in edges):
            found.add(sum(number[source] for source, _ in edges) / len(edges))
    return sorted(found)


def swapped_depth(cell: CellGenotype) -> float:
    """Depth of a cell whose two inputs are numbered the other way round."""
    sources = [edge.source for edges in cell.nodes for edge in edges]
    return sum(1 - source if source < INPUTS else source for source in sources) / len(sources)


def mean_random_depth(nodes: int) -> float:
    """Expected depth of a cell whose nodes each choose two different sources uniformly."""
    return (nodes + 1) / 4


def random_depths(compared: float, *, cells: int = 1000) -> RandomDepths:
    """Depths of random cells with four nodes: drawn with seeds 0, 1, ..., and all that exist."""
    drawn = [cell_depth(Genotype.random("darts", seed)) for seed in range(cells)]
    every = [float(depth) for depth in _all_depths(NODES)]
    return RandomDepths(
        cells=cells,
        compared=compared,
        mean=statistics.fmean(drawn),
        deviation=statistics.stdev(drawn),
        share_deeper=sum(depth > compared for depth in drawn) / cells,
        exact_mean=statistics.fmean(every),
        exact_deviation=statistics.pstdev(every),
        exact_share_deeper=sum(depth > compared for depth in every) / len(every),
    )


def _all_depths(nodes: int) -> list[Fraction]:
    """Depths of all choices of two sources for every node; all are equally likely."""
    choices = [combinations(range(node), 2) for node in range(INPUTS, INPUTS + nodes)]
    return [Fraction(sum(map(sum, pairs)), 2 * nodes) for pairs in product(*choices)]


def _row(name: str, row: str | None, printed: float | None) -> DepthRow:
    cell = zoo_cell(name).genotype.normal
    depth, swapped = cell_depth(zoo_cell(name).genotype), swapped_depth(cell)
    reachable = reachable_depths(cell)
    ways = {
        "as numbered": [depth],
        "inputs swapped": [swapped],
        "renumbered": reachable,
    }
    reached = next((way for way, depths in ways.items() if printed in depths), "none")
    return DepthRow(
        row=row,
        printed=printed,
        cell=name,
        nodes=len(cell.nodes),
        depth=depth,
        swapped=swapped,
        least=reachable[0],
        most=reachable[-1],
        reached=None if printed is None else reached,
        random_mean=mean_random_depth(len(cell.nodes)),
    )
