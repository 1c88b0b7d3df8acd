"""How the cells of a genotype are written as JSON: as lists of edges, or as one string.

A search space names its notation. Both of ours are here; a space of your own may bring another, an
object with the four methods of `Notation`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as brief
from typing import NoReturn, Protocol

from xnas.errors import GenotypeError
from xnas.space.arch_string import read_arch, write_arch
from xnas.space.cell_genotype import INPUTS, CellGenotype, CellKind, Edge


class Notation(Protocol):
    """How the cells of a space's genotypes are written."""

    def keys(self, kinds: Sequence[CellKind]) -> tuple[str, ...]:
        """Return the keys of the JSON object that hold the cells."""

    def write(self, cells: Mapping[CellKind, CellGenotype]) -> dict[str, str]:
        """Return JSON text for each key."""

    def read(
        self, values: Mapping[str, object], kinds: Sequence[CellKind]
    ) -> dict[CellKind, CellGenotype]:
        """Return the cells of parsed values; what cannot be read is a GenotypeError."""

    def one_line(self, cells: Mapping[CellKind, CellGenotype]) -> str | None:
        """Return the cells as one short string, or None if this notation has none."""


@dataclass(frozen=True, slots=True)
class EdgeLists:
    """DARTS's: each kind of cell is an object with a list of edges per node, and the concat."""

    def keys(self, kinds: Sequence[CellKind]) -> tuple[str, ...]:
        """Return the kinds of cells."""
        return tuple(kind.value for kind in kinds)

    def write(self, cells: Mapping[CellKind, CellGenotype]) -> dict[str, str]:
        """Return one object per kind of cell, with one node per line."""
        return {kind.value: _written(cell) for kind, cell in cells.items()}

    def read(
        self, values: Mapping[str, object], kinds: Sequence[CellKind]
    ) -> dict[CellKind, CellGenotype]:
        """Return the cells by kind."""
        return {kind: _read_cell(values[kind], kind) for kind in kinds}

    def one_line(self, cells: Mapping[CellKind, CellGenotype]) -> str | None:  # noqa: ARG002
        """Return None: the lists have no short form."""
        return None


@dataclass(frozen=True, slots=True)
class ArchString:
    """NAS-Bench-201's: the one cell as a string under the key `arch`."""

    def keys(self, kinds: Sequence[CellKind]) -> tuple[str, ...]:  # noqa: ARG002 - there is one
        """Return the one key."""
        return ("arch",)

    def write(self, cells: Mapping[CellKind, CellGenotype]) -> dict[str, str]:
        """Return the string, quoted."""
        return {"arch": json.dumps(self.one_line(cells))}

    def read(
        self, values: Mapping[str, object], kinds: Sequence[CellKind]
    ) -> dict[CellKind, CellGenotype]:
        """Return the cell of the string, for the one kind of cell that the space has."""
        return {kind: read_arch(values["arch"]) for kind in kinds}

    def one_line(self, cells: Mapping[CellKind, CellGenotype]) -> str:
        """Return the string."""
        return write_arch(cells[CellKind.NORMAL])


def require_keys(value: Mapping[str, object], names: tuple[str, ...], what: str) -> None:
    """Raise a GenotypeError unless an object has these keys and no others."""
    for name in names:
        if name not in value:
            raise GenotypeError(f"{what} lacks {str(name)!r}; its keys are {', '.join(names)}")
    for name in value:
        if name not in names:
            raise GenotypeError(f"{what} has the unknown key {brief(name)}; keys are {', '.join(names)}")


def _written(cell: CellGenotype) -> str:
    nodes = [json.dumps([(edge.operation, edge.source) for edge in edges]) for edges in cell.nodes]
    joined = ",\n   ".join(nodes)
    return f'{{\n  "nodes": [\n   {joined}\n  ],\n  "concat": {json.dumps(cell.concat)}\n }}'


def _read_cell(value: object, kind: CellKind) -> CellGenotype:
    where = f"the {kind} cell"
    if not isinstance(value, dict):
        raise GenotypeError(f"{where} is {brief(value)}; it must be an object with nodes and concat")
    require_keys(value, ("nodes", "concat"), where)
    nodes, concat = value["nodes"], value["concat"]
    if not isinstance(concat, list):
        raise GenotypeError(f"concat of {where} is {brief(concat)}; it must be a list of states")
    if not isinstance(nodes, list):
        raise GenotypeError(f"nodes of {where} are {brief(nodes)}; they must be a list")
    return CellGenotype(
        tuple(_read_node(edges, f"node {node} of {where}") for node, edges in enumerate(nodes, INPUTS)),
        tuple(concat),
    )


def _read_node(value: object, where: str) -> tuple[Edge, ...]:
    def complain(found: object) -> NoReturn:
        raise GenotypeError(f"{where} holds {brief(found)}; a node is a list of [operation, source]")

    if not isinstance(value, list):
        complain(value)
    return tuple(Edge(*e) if isinstance(e, list) and len(e) == 2 else complain(e) for e in value)
