"""Genotypes: the cells that a search found, as frozen data and as JSON.

    {"format": "xnas-genotype", "version": 1, "space": "darts",
     "normal": {"nodes": [[["sep_conv_3x3", 1], ["skip_connect", 0]], ...], "concat": [2, 3, 4, 5]},
     "reduction": {...}}

or, in spaces that write a cell as one string, NAS-Bench-201's, with one kind of cell,

    {"format": "xnas-genotype", "version": 1, "space": "nasbench201",
     "arch": "|nor_conv_3x3~0|+|nor_conv_3x3~0|skip_connect~1|+|none~0|avg_pool_3x3~1|nor_conv_1x1~2|"}

A node is the list of its incoming edges, and an edge an operation with the state it comes from: 0 is
the output of the cell before the previous one, 1 that of the previous cell, nodes count from 2. The
output of a cell joins the states in `concat`. A `Genotype` that exists is valid: it is checked when it
is made, as a graph here and by the rule of its search space.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from reprlib import repr as brief
from typing import TYPE_CHECKING, ClassVar

from xnas.errors import ConfigError, GenotypeError
from xnas.space.arch_string import read_arch
from xnas.space.cell_genotype import NONE, CellGenotype, CellKind, Edge
from xnas.space.description_file import DescriptionFile, parse_object, require_header
from xnas.space.notations import EdgeLists, require_keys
from xnas.space.spaces import SPACES, SearchSpace, SpaceDefaults

if TYPE_CHECKING:
    from xnas.space.network import Network
    from xnas.space.network_spec import NetworkSpec

__all__ = ["CellGenotype", "CellKind", "Edge", "Genotype", "cell_depth"]

NOUN, FORMAT, VERSION = "genotype", "xnas-genotype", 1
HEADER = ("format", "version", "space")
MOST_NODES = 100  # of a cell; published ones have 3 to 5, and a network grows with them


@dataclass(frozen=True, slots=True)
class Genotype(DescriptionFile):
    """The cells of one network, of a search space that `SPACES` knows by name.

    >>> genotype = Genotype.random("darts", seed=0)
    >>> Genotype.from_json(genotype.to_json()) == genotype
    True
    >>> Genotype.from_arch("|skip_connect~0|+|none~0|none~1|+|none~0|none~1|nor_conv_3x3~2|").space
    'nasbench201'
    """

    key: ClassVar[str] = NOUN
    space: str
    normal: CellGenotype
    reduction: CellGenotype | None = None
    """None in spaces with one kind of cell."""

    def __post_init__(self) -> None:
        if self.space not in SPACES:
            raise GenotypeError(
                f"the genotype is of the search space {brief(self.space)}, which is not known here; "
                f"known are {', '.join(SPACES)}"
            )
        space = SPACES[self.space]
        given = tuple(kind for kind in CellKind if getattr(self, kind) is not None)
        if given != space.kinds:
            raise GenotypeError(
                f"a genotype of the space {self.space!r} has the cells {', '.join(space.kinds)}; this "
                f"one has {', '.join(given) or 'none'}"
            )
        for kind in space.kinds:
            _require_graph(space, kind, self.cell(kind))
            space.rule(space, kind, self.cell(kind))

    @classmethod
    def random(cls, space: SearchSpace | str, seed: int) -> Genotype:
        """A cell drawn uniformly from all that a search of the space could find.

        Every node gets as many different sources as the space keeps, each with any operation but `none`;
        one seed, one cell.
        """
        space = SPACES[space] if isinstance(space, str) else space
        if type(seed) is not int or seed < 0:
            raise ConfigError(f"seed must be a whole number from 0, got {seed!r}")
        draw = Random(seed)  # noqa: S311 - a comparison, not a secret
        operations = [name for name in space.operations if name != NONE]
        cells = [
            CellGenotype(
                tuple(
                    tuple(
                        Edge(draw.choice(operations), source)
                        for source in _drawn(draw, space.sources(node), space.kept_edges)
                    )
                    for node in space.node_numbers
                ),
                space.concat,
            )
            for _ in space.kinds
        ]
        return cls(space.name, *cells)

    @classmethod
    def from_arch(cls, arch: object, space: str = "nasbench201") -> Genotype:
        """The genotype of a NAS-Bench-201 architecture string."""
        return cls(space, read_arch(arch))

    @property
    def arch(self) -> str:
        """The cell as a NAS-Bench-201 architecture string."""
        if self.one_line is None:
            raise GenotypeError(f"cells of the space {self.space!r} have no string; use to_json")
        return self.one_line

    @property
    def one_line(self) -> str | None:
        """The cells as one short string, or None if the space's notation has none."""
        return SPACES[self.space].notation.one_line(self._cells())

    def cell(self, kind: CellKind) -> CellGenotype:
        """The cell of that kind."""
        cell = self.normal if CellKind(kind) is CellKind.NORMAL else self.reduction
        if cell is None:
            raise GenotypeError(f"a genotype of the space {self.space!r} has no {kind} cell")
        return cell

    @property
    def origin(self) -> str:
        """The search space, for messages."""
        return f"the space {self.space}"

    @property
    def defaults(self) -> SpaceDefaults:
        """Networks of the space, with the sizes that they have by default."""
        return SPACES[self.space].defaults

    def build(self, spec: NetworkSpec) -> Network:
        """Return the network of the cells with random weights; `build_network` checks `spec` before."""
        return SPACES[self.space].network(self, spec)

    def to_json(self) -> str:
        """Return JSON text, with one node per line."""
        header = {"format": FORMAT, "version": VERSION, "space": self.space}
        texts = {key: json.dumps(value) for key, value in header.items()}
        texts |= SPACES[self.space].notation.write(self._cells())
        lines = [f" {json.dumps(key)}: {text}" for key, text in texts.items()]
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Genotype:
        """Read what `to_json` wrote; anything else is a GenotypeError that names the fault."""
        value = parse_object(text, NOUN)
        space = _read_header(value)
        kinds = SPACES[space].kinds if space in SPACES else tuple(CellKind)
        notation = SPACES[space].notation if space in SPACES else EdgeLists()
        require_keys(value, (*HEADER, *notation.keys(kinds)), "the genotype")
        cells = notation.read(value, kinds)
        return cls(space, *(cells[kind] for kind in kinds))

    def _cells(self) -> dict[CellKind, CellGenotype]:
        return {kind: self.cell(kind) for kind in SPACES[self.space].kinds}


def _drawn(draw: Random, sources: tuple[int, ...], kept: int | None) -> list[int]:
    """Sources of a random node's edges, ascending; all of them unless the space keeps fewer."""
    return sorted(draw.sample(sources, len(sources) if kept is None else kept))


def cell_depth(genotype: Genotype) -> float:
    """Return the paper's depth of the normal cell (Sec. 10): the mean source of its edges.

    States are numbered from 0 (two inputs, then the nodes), and the depth of a connection is the number
    of the state it comes from. It depends on the order in which nodes are numbered.

    >>> from xnas.space import find_genotype
    >>> cell_depth(find_genotype("darts_v2"))
    0.625
    """
    sources = [edge.source for edges in genotype.normal.nodes for edge in edges]
    return sum(sources) / len(sources)


def _require_graph(space: SearchSpace, kind: CellKind, cell: CellGenotype) -> None:
    """Raise unless edges and output only use states that exist where they are used."""
    if len(cell.nodes) > MOST_NODES:
        raise GenotypeError(
            f"the {kind} cell has {len(cell.nodes):,} nodes; a cell has at most {MOST_NODES}"
        )
    states = space.inputs + len(cell.nodes)
    for node, edges in enumerate(cell.nodes, start=space.inputs):
        for edge in edges:
            where = f"node {node} of the {kind} cell"
            if not isinstance(edge.operation, str):
                raise GenotypeError(
                    f"{where} has the operation {brief(edge.operation)}; an operation is a name"
                )
            if type(edge.source) is not int or not 0 <= edge.source < node:
                raise GenotypeError(
                    f"{where} has an edge from {brief(edge.source)}; an edge comes from a state before "
                    f"its node, here 0 to {node - 1}"
                )
    for state in cell.concat:
        if type(state) is not int or not 0 <= state < states:
            raise GenotypeError(
                f"concat of the {kind} cell lists {brief(state)}; its states are 0 to {states - 1}"
            )
    if not cell.concat:
        raise GenotypeError(f"concat of the {kind} cell is empty; the output must join some nodes")
    if len(set(cell.concat)) < len(cell.concat):
        raise GenotypeError(
            f"concat of the {kind} cell is {brief(list(cell.concat))}; every state may stand there once"
        )


def _read_header(value: dict[str, object]) -> str:
    """Check format and version, and give the name of the space, whose body may then be read."""
    require_header(value, NOUN, form=FORMAT, version=VERSION, again="search again")
    space = value.get("space")
    if not isinstance(space, str):
        given = brief(space) if "space" in value else "missing"
        raise GenotypeError(
            f"the search space of the genotype is {given}; it must be a name, of {', '.join(SPACES)}"
        )
    return space
