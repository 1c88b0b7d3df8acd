"""Wirings: the random graphs of a network, as frozen data and as JSON.

    {"format": "xnas-wiring", "version": 1, "generator": "ws", "parameters": [4, 0.75], "seed": 0,
     "nodes": [32, 32, 32], "stages": [[[0, 1], [0, 2], [1, 4], ...], ...]}

Every stage of a network has a graph of its own, with every edge written out from a smaller node number
to a larger one. So a wiring stays what it is if a generator changes, and a graph from elsewhere can be
written down: it names a generator of its own. A `Wiring` that exists is valid.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from random import Random
from reprlib import repr as brief
from typing import TYPE_CHECKING, ClassVar

from xnas.errors import ConfigError, GenotypeError
from xnas.space.description_file import MOST_DIGITS, DescriptionFile, parse_object, require_header
from xnas.space.notations import require_keys
from xnas.space.random_graphs import GENERATORS, Edges, random_graph
from xnas.space.spaces import SpaceDefaults
from xnas.space.wired_network import REGULAR_STAGES, SMALL_STAGES, WiredNetwork, wired_specs

if TYPE_CHECKING:
    from xnas.space.network import Network
    from xnas.space.network_spec import NetworkSpec

NOUN, FORMAT, VERSION = "wiring", "xnas-wiring", 1
KEYS = ("format", "version", "generator", "parameters", "seed", "nodes", "stages")
MOST_NODES = 100  # of a stage; the paper's have 32
MOST_PARAMETERS = 10
SMALL, REGULAR = (32, 32, 32), (16, 32, 32, 32)
"""Nodes of every stage in the small and in the regular regime of the paper."""
NAME = re.compile(rf"({'|'.join(GENERATORS)})-([0-9.]+(?:-[0-9.]+)*)(-regular)?")
BEGINNING = re.compile(rf"({'|'.join(GENERATORS)})-", re.IGNORECASE)
EXAMPLES = {"er": "er-0.2-0", "ba": "ba-5-0", "ws": "ws-4-0.75-0"}
"""Names by generator, with the parameters of the paper."""
GENERATOR = re.compile(r"[a-z][a-z0-9_]{0,30}")


@dataclass(frozen=True, slots=True)
class Wiring(DescriptionFile):
    """The graphs of a randomly wired network (Xie et al. 2019, arXiv:1904.01569), stage by stage.

    >>> wiring = Wiring.random("ws", 4, 0.75, seed=1)
    >>> wiring == Wiring.named("ws-4-0.75-1") == Wiring.from_json(wiring.to_json())
    True
    >>> [len(edges) for edges in wiring.stages]
    [64, 64, 64]
    """

    key: ClassVar[str] = NOUN
    generator: str
    """`er`, `ba` or `ws`; or a name of your own, for graphs from elsewhere."""
    parameters: tuple[float, ...]
    seed: int
    nodes: tuple[int, ...]
    """Nodes of every stage."""
    stages: tuple[Edges, ...]
    """Edges of every stage: pairs of node numbers, from the smaller to the larger."""

    def __post_init__(self) -> None:
        """Make sorted tuples of lists, so that equal wirings are equal; raise for what is no wiring."""
        _require_origin(self.generator, self.parameters, self.seed)
        object.__setattr__(self, "parameters", tuple(self.parameters))
        object.__setattr__(self, "nodes", _node_counts(self.nodes))
        object.__setattr__(self, "stages", _stages(self.stages, self.nodes))

    @classmethod
    def random(
        cls, generator: str, *parameters: float, seed: int = 0, nodes: tuple[int, ...] = SMALL
    ) -> Wiring:
        """A wiring drawn by a generator; one seed, one wiring.

        `er` takes the chance of an edge, `ba` the links of a new node, `ws` the neighbours of a node and
        the chance that an edge is moved. `nodes` are those of every stage: three stages for the small
        regime, four for the regular one.
        """
        _require_origin(generator, parameters, seed)
        draw = Random(seed)  # noqa: S311 - a network, not a secret
        nodes = _node_counts(nodes)
        stages = [random_graph(generator, parameters, nodes=count, draw=draw) for count in nodes]
        return cls(generator, parameters, seed, nodes, tuple(stages))

    @staticmethod
    def is_name(cell: object) -> bool:
        """Whether a cell is given as the name of a wiring: `ws-4-0.75-0`."""
        return isinstance(cell, str) and NAME.fullmatch(cell) is not None

    @classmethod
    def named(cls, name: str) -> Wiring:
        """The wiring of a name: generator, parameters and seed, as in `ws-4-0.75-0`.

        With `-regular` at the end it has the stages of the regular regime.
        """
        found = NAME.fullmatch(name)
        if found is None:
            raise ConfigError(f"no wiring is called {name!r}; a name is like ws-4-0.75-0")
        generator, numbers, regular = found.groups()
        try:
            *parameters, seed = (_number(text) for text in numbers.split("-"))
            return cls.random(generator, *parameters, seed=seed, nodes=REGULAR if regular else SMALL)  # type: ignore[arg-type]  # checked there
        except ValueError as error:  # ours are some
            raise ConfigError(
                f"no wiring is called {name!r}: {error}; a name is {_form(generator)}"
            ) from error

    @staticmethod
    def form_of(name: str) -> str | None:
        """How wirings of a generator are called, if a text begins like the name of one."""
        found = BEGINNING.match(name)
        return None if found is None else _form(found[1].lower())

    @property
    def title(self) -> str:
        """Generator, parameters and seed for people: `WS(4, 0.75), seed 0`."""
        values = ", ".join(f"{value:g}" for value in self.parameters)
        return f"{self.generator.upper()}({values}), seed {self.seed}"

    @property
    def origin(self) -> str:
        """The generator, for messages."""
        return f"the wiring {self.title}"

    @property
    def defaults(self) -> SpaceDefaults:
        """Networks of a wiring, with the sizes that they have by default."""
        count = len(self.stages)
        return SpaceDefaults(
            networks=wired_specs(count), recipe_sizes=False, least_cells=count, cells_unit="stages"
        )

    def build(self, spec: NetworkSpec) -> Network:
        """Return the network of the wiring with random weights; `build_network` checks `spec` before."""
        return WiredNetwork(self, spec)

    def sources(self, stage: int) -> tuple[tuple[int, ...], ...]:
        """Return the sources of every node of a stage; a node without any reads the stage's input.

        Stages count from 0.
        """
        edges = self.stages[stage]
        return tuple(
            tuple(source for source, target in edges if target == node)
            for node in range(self.nodes[stage])
        )

    def to_json(self) -> str:
        """Return JSON text, with one stage per line."""
        values = (FORMAT, VERSION, self.generator, self.parameters, self.seed, self.nodes)
        header = dict(zip(KEYS, values, strict=False))
        lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in header.items()]
        stages = ",\n".join(f"  {json.dumps(edges)}" for edges in self.stages)
        return "{\n" + ",\n".join([*lines, f' "stages": [\n{stages}\n ]']) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Wiring:
        """Read what `to_json` wrote; anything else is a GenotypeError that names the fault."""
        value = parse_object(text, NOUN)
        require_header(value, NOUN, form=FORMAT, version=VERSION, again="draw it again")
        require_keys(value, KEYS, "the wiring")
        return cls(**{key: value[key] for key in KEYS[2:]})  # type: ignore[arg-type]  # checked there


def _form(generator: str) -> str:
    """How wirings of a generator are called, with an example."""
    names = "-".join(name.upper() for name in GENERATORS[generator][1])
    return f"{generator}-{names}-SEED, such as {EXAMPLES[generator]}"


def _require_origin(generator: object, parameters: object, seed: object) -> None:
    if not isinstance(generator, str) or not GENERATOR.fullmatch(generator):
        raise GenotypeError(
            f"the generator of the wiring is {brief(generator)}; it must be a name of small letters, "
            f"such as {', '.join(GENERATORS)}"
        )
    numbers = parameters if isinstance(parameters, list | tuple) else (None,)
    finite = (type(value) in (int, float) and math.isfinite(value) for value in numbers)
    if len(numbers) > MOST_PARAMETERS or not all(finite):
        raise GenotypeError(
            f"the parameters of the wiring are {brief(parameters)}; they must be at most "
            f"{MOST_PARAMETERS} finite numbers"
        )
    if type(seed) is not int or not 0 <= seed < 10**MOST_DIGITS:
        raise GenotypeError(
            f"the seed of the wiring is {brief(seed)}; it must be a whole number from 0, of at most "
            f"{MOST_DIGITS} digits"
        )


def _node_counts(given: object) -> tuple[int, ...]:
    counts = tuple(given) if isinstance(given, list | tuple) else ()
    if len(counts) not in (SMALL_STAGES, REGULAR_STAGES) or not all(
        type(count) is int and 1 <= count <= MOST_NODES for count in counts
    ):
        raise GenotypeError(
            f"the nodes of the wiring are {brief(given)}; give those of {SMALL_STAGES} or "
            f"{REGULAR_STAGES} stages, from 1 to {MOST_NODES} each"
        )
    return counts


def _stages(given: object, nodes: tuple[int, ...]) -> tuple[Edges, ...]:
    if not isinstance(given, list | tuple) or len(given) != len(nodes):
        raise GenotypeError(
            f"the wiring has nodes for {len(nodes)} stages, and its stages are {brief(given)}; give a "
            "list of edges for every stage"
        )
    pairs = zip(given, nodes, strict=True)
    return tuple(_edges(edges, count, stage) for stage, (edges, count) in enumerate(pairs, start=1))


def _edges(given: object, nodes: int, stage: int) -> Edges:
    if not isinstance(given, list | tuple):
        raise GenotypeError(f"stage {stage} of the wiring is {brief(given)}; it must be a list of edges")
    edges = [_edge(edge, nodes, stage) for edge in given]
    if len(set(edges)) < len(edges):
        twice = next(edge for edge in edges if edges.count(edge) > 1)
        raise GenotypeError(f"stage {stage} of the wiring has the edge {[*twice]} twice; remove one")
    return tuple(sorted(edges))


def _edge(given: object, nodes: int, stage: int) -> tuple[int, int]:
    pair = tuple(given) if isinstance(given, list | tuple) else ()
    if not _is_edge(pair, nodes):
        raise GenotypeError(
            f"stage {stage} of the wiring has the edge {brief(given)}; an edge leads from a node to one "
            f"of a larger number, of 0 to {nodes - 1}"
        )
    source, target = pair
    return source, target


def _is_edge(pair: tuple[object, ...], nodes: int) -> bool:
    """Whether these are two node numbers, the smaller one first."""
    numbers = [node for node in pair if type(node) is int]
    return len(pair) == len(numbers) == 2 and 0 <= numbers[0] < numbers[1] < nodes


def _number(text: str) -> float:
    """A whole number where the text is one, so that it stays one in JSON."""
    return int(text) if text.isdecimal() else float(text)
