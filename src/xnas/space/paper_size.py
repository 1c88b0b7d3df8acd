"""The size of the paper's network for CIFAR of any cell, by addition.

Costs of edges add up, so a table of them (`paper_size.json`) spares a report the seconds in which torch
counts a network. What the table does not have is counted.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from xnas.space.cell_genotype import CellKind
from xnas.space.genotype import Genotype
from xnas.space.layout import edge_stride
from xnas.space.network import NETWORKS
from xnas.space.network_size import NetworkSize, NetworkSizes

IMAGE = (3, 32, 32)
JOINED = (2, 3, 4, 5)
"""What the outputs of the cells in the table join."""


def paper_size(genotype: Genotype) -> NetworkSize:
    """Parameters and multiply-accumulates of the network of 36 channels and 20 cells, for 10 classes."""
    table, places = _table(), edge_places(genotype)
    joined = {genotype.cell(kind).concat for kind in CellKind}
    if joined != {JOINED} or not set(places) <= set(table):
        return _counted().size(genotype)
    return sum((table[place] for place in places), table["rest"])


def edge_places(genotype: Genotype) -> list[str]:
    """Kind, operation and stride of every edge."""
    return [
        f"{kind} {edge.operation} {edge_stride(kind, edge.source)}"
        for kind in CellKind
        for edges in genotype.cell(kind).nodes
        for edge in edges
    ]


@cache
def _table() -> dict[str, NetworkSize]:
    text = (files("xnas.space") / "paper_size.json").read_text(encoding="utf8")
    return {place: NetworkSize(*size) for place, size in json.loads(text).items()}


@cache
def _counted() -> NetworkSizes:
    """Remembers what it has counted."""
    return NetworkSizes(NETWORKS["cifar"], IMAGE)
