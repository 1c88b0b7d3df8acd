"""Published, random and odd cells for tests that draw them."""

import random
from collections import Counter
from dataclasses import dataclass

OPERATIONS = (
    "max_pool_3x3",
    "avg_pool_3x3",
    "skip_connect",
    "sep_conv_3x3",
    "sep_conv_5x5",
    "dil_conv_3x3",
    "dil_conv_5x5",
)


@dataclass(frozen=True)
class Edge:
    operation: str
    source: int


@dataclass(frozen=True)
class Cell:
    nodes: tuple
    concat: tuple = (2, 3, 4, 5)


@dataclass(frozen=True)
class Pair:
    normal: Cell
    reduction: Cell


def cell(*nodes, concat=None):
    """A cell whose nodes are pairs of (operation, source)."""
    edges = tuple(tuple(Edge(*edge) for edge in node) for node in nodes)
    return Cell(edges, concat or tuple(range(2, 2 + len(nodes))))


def random_cell(seed, operations=OPERATIONS):
    draw = random.Random(seed)
    return cell(*([(draw.choice(operations), s) for s in draw.sample(range(n), 2)] for n in range(2, 6)))


# github.com/NivNayman/XNAS, genotypes.py
XNAS = Pair(
    cell(
        [("sep_conv_3x3", 1), ("skip_connect", 0)],
        [("sep_conv_3x3", 0), ("sep_conv_3x3", 2)],
        [("sep_conv_3x3", 3), ("sep_conv_3x3", 1)],
        [("dil_conv_5x5", 4), ("sep_conv_3x3", 0)],
    ),
    cell(
        [("max_pool_3x3", 0), ("avg_pool_3x3", 1)],
        [("avg_pool_3x3", 0), ("skip_connect", 2)],
        [("dil_conv_3x3", 3), ("max_pool_3x3", 0)],
        [("dil_conv_5x5", 4), ("avg_pool_3x3", 0)],
    ),
)


# github.com/quark0/darts, cnn/genotypes.py; NASNet has five nodes, and two edges between the same states
DARTS_V2 = cell(
    [("sep_conv_3x3", 0), ("sep_conv_3x3", 1)],
    [("sep_conv_3x3", 0), ("sep_conv_3x3", 1)],
    [("sep_conv_3x3", 1), ("skip_connect", 0)],
    [("skip_connect", 0), ("dil_conv_3x3", 2)],
)


NASNET = cell(
    [("sep_conv_5x5", 1), ("sep_conv_3x3", 0)],
    [("sep_conv_5x5", 0), ("sep_conv_3x3", 0)],
    [("avg_pool_3x3", 1), ("skip_connect", 0)],
    [("avg_pool_3x3", 0), ("avg_pool_3x3", 0)],
    [("sep_conv_3x3", 1), ("skip_connect", 1)],
)


CELLS = {
    "xnas": XNAS.normal,
    "xnas reduction": XNAS.reduction,
    "darts": DARTS_V2,
    "nasnet": NASNET,
    "skips": random_cell(0, ("skip_connect",)),
    **{f"random {seed}": random_cell(seed) for seed in range(12)},
}


def edges_of(a_cell):
    return Counter((e.operation, e.source, n) for n, es in enumerate(a_cell.nodes, 2) for e in es)
