"""Random graphs with directed edges, which stages of a randomly wired network are made of.

The three generators of Xie et al. (2019, arXiv:1904.01569, Sec. 3.2), by the names `er`, `ba` and `ws`.
Each draws an undirected graph and directs every edge from the smaller number to the larger, so that no
graph has a cycle. They differ in how nodes are numbered: in random order (`er`), in the order in which
nodes join (`ba`), or around a ring (`ws`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from random import Random

from xnas.errors import ConfigError, UnknownNameError
from xnas.registry import known_names

Edges = tuple[tuple[int, int], ...]
"""Pairs (source, target) of node numbers, ascending; the source is the smaller one."""

MOST_DRAWS = 1000  # of a graph that has to be connected


def erdos_renyi(nodes: int, draw: Random, chance: float) -> Edges:
    """Join every pair with the same chance; drawn again until the graph is connected."""
    _require_chance("er", chance)
    pairs = [(source, target) for target in range(nodes) for source in range(target)]
    for _ in range(MOST_DRAWS):
        edges = [pair for pair in pairs if draw.random() < chance]
        if _connected(nodes, edges):
            return _directed(edges)
    raise ConfigError(
        f"none of {MOST_DRAWS:,} graphs of {nodes} nodes with er and the chance {chance:g} was "
        f"connected; use a chance well above {math.log(nodes) / nodes:.2g}"
    )


def barabasi_albert(nodes: int, draw: Random, links: float) -> Edges:
    """Start with `links` nodes without edges; each further node joins `links` of those before it.

    They are different, and drawn in proportion to their degree. There are links x (nodes - links) edges.
    """
    count = _whole("ba", "links", links)
    if not 1 <= count < nodes:
        raise ConfigError(f"ba takes links from 1 to {nodes - 1} for {nodes} nodes, got {links}")
    ends: list[int] = []  # every node as often as it has edges
    edges: list[tuple[int, int]] = []
    for node in range(count, nodes):
        chosen: set[int] = set() if ends else set(range(count))
        while len(chosen) < count:
            chosen.add(draw.choice(ends))
        edges += [(source, node) for source in chosen]
        ends += [*sorted(chosen), *[node] * count]
    return _directed(edges)


def watts_strogatz(nodes: int, draw: Random, neighbours: float, chance: float) -> Edges:
    """A ring in which every node is joined to its neighbours, half of them on either side.

    Then, for i = 1 .. neighbours / 2 and node by node, the edge to the i-th next node is moved with that
    chance: to a random node that is no neighbour yet. There are nodes x neighbours / 2 edges.
    """
    count = _whole("ws", "neighbours", neighbours)
    if count % 2 or not 2 <= count < nodes:
        raise ConfigError(
            f"ws takes an even number of neighbours below the {nodes} nodes, got {neighbours}"
        )
    _require_chance("ws", chance)
    steps = range(1, count // 2 + 1)
    joined: list[set[int]] = [set() for _ in range(nodes)]
    for node in range(nodes):
        for step in steps:
            joined[node].add((node + step) % nodes)
            joined[(node + step) % nodes].add(node)
    for step in steps:
        for node in range(nodes):
            old = (node + step) % nodes
            free = [other for other in range(nodes) if other != node and other not in joined[node]]
            if draw.random() >= chance or not free:
                continue
            new = draw.choice(free)
            joined[node].remove(old)
            joined[old].remove(node)
            joined[node].add(new)
            joined[new].add(node)
    return _directed((node, other) for node in range(nodes) for other in joined[node])


GENERATORS: dict[str, tuple[Callable[..., Edges], tuple[str, ...]]] = {
    "er": (erdos_renyi, ("chance",)),
    "ba": (barabasi_albert, ("links",)),
    "ws": (watts_strogatz, ("neighbours", "chance")),
}
"""Generators with the names of their parameters, by name."""


def random_graph(generator: str, parameters: Sequence[float], *, nodes: int, draw: Random) -> Edges:
    """Return a graph of that generator."""
    if generator not in GENERATORS:
        raise UnknownNameError(
            f"no generator called {generator!r}; {known_names(generator, GENERATORS)}"
        )
    make, names = GENERATORS[generator]
    if len(parameters) != len(names):
        given = ", ".join(map(str, parameters)) or "none"
        raise ConfigError(f"{generator} takes {' and '.join(names)}, got {given}")
    return make(nodes, draw, *parameters)


def _directed(edges: Iterable[tuple[int, int]]) -> Edges:
    return tuple(sorted({(min(edge), max(edge)) for edge in edges}))


def _connected(nodes: int, edges: Sequence[tuple[int, int]]) -> bool:
    reached, added = {0}, {0}
    while added:
        pairs = (*edges, *((target, source) for source, target in edges))
        added = {target for source, target in pairs if source in added} - reached
        reached |= added
    return len(reached) == nodes


def _whole(generator: str, name: str, value: float) -> int:
    if not float(value).is_integer():
        raise ConfigError(f"{generator} takes a whole number of {name}, got {value}")
    return int(value)


def _require_chance(generator: str, chance: float) -> None:
    if not 0 <= chance <= 1:
        raise ConfigError(f"{generator} takes a chance from 0 to 1, got {chance}")
