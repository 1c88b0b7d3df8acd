"""Discretization: from the strengths of experts to a cell (Sec. 2.1, "The Discretization Stage").

Each node keeps its two strongest incoming edges, where an edge is as strong as its strongest expert,
max_i u_i, and each edge that is kept becomes its strongest expert. `none` never counts.

Departure: strengths are given over all experts, with wiped ones at the gap to the leader that they had
(`ExpertsOptimizer.strengths`). At the end of Algorithm 1 one expert is left on every edge, and max_i u_i
over the living would be 1 everywhere and rank nothing. Operations are chosen among the living.

Departure: given what the absence of each edge costs (`engine/absence.py`), a node keeps the two edges
that it would miss most. Strengths compare the experts of one edge, and say little about edges.

The paper does not say what becomes of ties. Here strengths are compared exactly, in float64. Between
operations the earlier one wins; between edges the one whose operation leads by more in summed rewards
(`ExpertsOptimizer.comparable_sums`, wiped ones at the same gap), then the one from the lower source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from xnas.errors import ConfigError
from xnas.records import EdgeChoice
from xnas.space.cell_genotype import NONE
from xnas.space.genotype import CellGenotype, CellKind, Edge, Genotype
from xnas.space.spaces import SPACES, SearchSpace

ByKind = Mapping[CellKind, Tensor] | Mapping[str, Tensor]
"""For each kind of cell a tensor (edges, operations), in the order of `space.edges`."""

NO_RIVAL, LIVING, STRENGTH = "no rival", "living experts", "strength"
ABSENCE = "cost of absence"
LEAD, SOURCE = "lead of the sums", "lower source index"
ONLY_NONE = "only none is alive"


def discretize(
    strengths: ByKind,
    alive: ByKind,
    space: SearchSpace | str,
    cumulative_rewards: ByKind | None = None,
    edge_costs: ByKind | None = None,
) -> Genotype:
    """Return the cells that a search found; `explain`, with the same arguments, gives the reasons.

    Each argument but `space` has, for each kind of cell, one tensor (edges, operations) whose rows are
    `space.edges` and whose columns are `space.operations`. `strengths` rank operations and edges.
    `alive` is a boolean mask; only living operations are chosen. `cumulative_rewards` break ties
    between edges. They have to be comparable: those of a wiped expert froze in the round that wiped it,
    so give `ExpertsOptimizer.comparable_sums`, which puts it as far behind the leader as it was then.
    `edge_costs`, one tensor (edges,) for each kind, rank the edges instead of their strengths: what the
    loss grows by when an edge is cut.
    The edges of a node come in the order of their sources. `space` must be registered in `SPACES`.

    >>> import torch
    >>> from xnas.space import SPACES
    >>> space = SPACES["darts"]
    >>> strengths = {"normal": torch.zeros(14, 7), "reduction": torch.zeros(14, 7)}
    >>> strengths["normal"][:, space.operations.index("sep_conv_3x3")] = 1.0
    >>> alive = {kind: torch.ones(14, 7, dtype=torch.bool) for kind in strengths}
    >>> genotype = discretize(strengths, alive, "darts")
    >>> genotype.normal.nodes[0]
    (Edge(operation='sep_conv_3x3', source=0), Edge(operation='sep_conv_3x3', source=1))
    """
    space = SPACES[space] if isinstance(space, str) else space
    return chosen_cells(explain(strengths, alive, space, cumulative_rewards, edge_costs), space)


def chosen_cells(choices: Iterable[EdgeChoice], space: SearchSpace) -> Genotype:
    """Return the cells of the edges that `explain` keeps."""
    kept = [choice for choice in choices if choice.kept]
    cells = [
        CellGenotype(
            nodes=tuple(
                tuple(Edge(c.operation, c.source) for c in kept if (c.kind, c.node) == (kind, node))
                for node in space.node_numbers
            ),
            concat=space.concat,
        )
        for kind in space.kinds
    ]
    return Genotype(space.name, *cells)


def strongest_cell(strengths: ByKind, alive: ByKind, space: SearchSpace) -> Genotype:
    """Return the cell of the strongest living expert on every edge, `none` among them.

    It is for spaces that keep all edges, where `none` could be chosen and `discretize` does not. Shapes
    are those of `discretize`.
    """
    cells = []
    for kind in space.kinds:
        u = _table(strengths, "strengths", kind, space)
        living = _table(alive, "alive", kind, space)
        best = u.masked_fill(~living, -torch.inf).argmax(-1).tolist()
        chosen = dict(zip(space.edges, (space.operations[i] for i in best), strict=True))
        nodes = tuple(
            tuple(Edge(chosen[source, node], source) for source in space.sources(node))
            for node in space.node_numbers
        )
        cells.append(CellGenotype(nodes, space.concat))
    return Genotype(space.name, *cells)


def explain(
    strengths: ByKind,
    alive: ByKind,
    space: SearchSpace | str,
    cumulative_rewards: ByKind | None = None,
    edge_costs: ByKind | None = None,
) -> tuple[EdgeChoice, ...]:
    """Return for every edge whether it is kept and what decided it, by kind, as in `space.edges`.

    Arguments and shapes are those of `discretize`.
    """
    space = SPACES[space] if isinstance(space, str) else space
    choices: list[EdgeChoice] = []
    for kind in space.kinds:
        u = _table(strengths, "strengths", kind, space)
        living = _table(alive, "alive", kind, space)
        sums = None
        if cumulative_rewards is not None:
            sums = _table(cumulative_rewards, "cumulative_rewards", kind, space).tolist()
        costs = None
        if edge_costs is not None:
            costs = _table(edge_costs, "edge_costs", kind, space).tolist()
        _require_living(living, kind, space)
        nothing = [None] * len(u)
        rows = zip(
            space.edges, u.tolist(), living.tolist(), sums or nothing, costs or nothing, strict=True
        )
        edges = [
            _read_edge(space, edge, weights, lives, sums=earned, absence_cost=cost)
            for edge, weights, lives, earned, cost in rows
        ]
        for node in space.node_numbers:
            incoming = [edge for edge in edges if edge.node == node]
            choices += _choose(incoming, kind, keep=space.kept_edges or len(incoming))
    return tuple(choices)


@dataclass(frozen=True, slots=True)
class _Incoming:
    """One edge that a node may keep, with what ranks it."""

    source: int
    node: int
    operation: str
    hollow: bool
    """Only `none` is alive."""
    strength: float
    lead: float | None
    runner_up: str | None
    runner_up_strength: float | None
    absence_cost: float | None

    def rank(self) -> tuple[bool, float, float, float, int]:
        """Smaller is better."""
        cost = self.absence_cost or 0.0
        return self.hollow, -cost, -self.strength, -(self.lead or 0.0), self.source


def _read_edge(
    space: SearchSpace,
    edge: tuple[int, int],
    u: Sequence[float],
    living: Sequence[bool],
    *,
    sums: Sequence[float] | None,
    absence_cost: float | None,
) -> _Incoming:
    """Find the operation of one edge, its runner-up, and what ranks the edge."""
    experts = range(len(space.operations))
    able = [i for i in experts if space.operations[i] != NONE]
    candidates = [i for i in able if living[i]]

    def strongest(among: Sequence[int]) -> int:
        return max(among, key=lambda i: (u[i], -i))

    chosen = strongest(candidates or able)
    others = [i for i in able if i != chosen]
    second = strongest(others) if others else None
    rivals = [i for i in experts if i != chosen]
    lead = None
    if sums is not None:
        lead = sums[chosen] - max(sums[i] for i in rivals) if rivals else 0.0
    return _Incoming(
        *edge,
        operation=space.operations[chosen],
        hollow=not candidates,
        strength=max(u[i] for i in able),
        lead=lead,
        runner_up=None if second is None else space.operations[second],
        runner_up_strength=None if second is None else u[second],
        absence_cost=absence_cost,
    )


def _choose(edges: Sequence[_Incoming], kind: CellKind, *, keep: int) -> list[EdgeChoice]:
    """Keep the best edges of one node. Those on which only `none` lives fill what others leave free."""
    ranked = sorted(edges, key=_Incoming.rank)
    kept, left_out = ranked[:keep], ranked[keep:]
    choices = []
    for edge in edges:
        rival = None
        if left_out:
            rival = left_out[0] if edge in kept else kept[-1]
        choices.append(
            EdgeChoice(
                kind=kind.value,
                node=edge.node,
                source=edge.source,
                operation=edge.operation,
                strength=edge.strength,
                lead=edge.lead,
                runner_up=edge.runner_up,
                runner_up_strength=edge.runner_up_strength,
                absence_cost=edge.absence_cost,
                kept=edge in kept,
                decided_by=_reason(edge, rival),
            )
        )
    return choices


def _reason(edge: _Incoming, rival: _Incoming | None) -> str:
    """Name the first criterion on which an edge and its rival differ."""
    if rival is None:
        reason = NO_RIVAL
    elif edge.hollow != rival.hollow:
        return ONLY_NONE if edge.hollow else LIVING
    elif edge.absence_cost != rival.absence_cost:
        reason = ABSENCE
    elif edge.strength != rival.strength:
        reason = STRENGTH
    elif edge.lead != rival.lead:
        reason = LEAD
    else:
        reason = SOURCE
    return f"{ONLY_NONE}; {reason}" if edge.hollow else reason


def _table(tables: ByKind, name: str, kind: CellKind, space: SearchSpace) -> Tensor:
    """One kind's tensor, in float64 unless it is the mask, or a clear error."""
    by_name = {str(key): value for key, value in tables.items()}
    kinds = ", ".join(space.kinds)
    strangers = sorted(set(by_name) - set(space.kinds))
    if strangers:
        raise ConfigError(f"{name} has a tensor for {strangers[0]!r}; kinds of cells are {kinds}")
    if kind not in by_name:
        raise ConfigError(f"{name} lacks the {kind} cell; give a tensor for each of {kinds}")
    table = by_name[kind].detach()
    edges, experts = len(space.edges), len(space.operations)
    if table.shape != ((edges,) if name == "edge_costs" else (edges, experts)):
        raise ConfigError(
            f"{name} of the {kind} cell has shape {tuple(table.shape)}; the space {space.name!r} has "
            f"{edges} edges and {experts} operations (with_none() adds 'none')"
        )
    if name == "alive":
        if table.dtype != torch.bool:
            raise ConfigError(f"alive of the {kind} cell is {table.dtype}; give a mask, torch.bool")
        return table
    if not table.is_floating_point() or not table.isfinite().all():
        value = table[~table.isfinite()][0].item() if table.is_floating_point() else table.dtype
        raise ConfigError(f"{name} of the {kind} cell has {value}; give finite floating-point numbers")
    return table.double()


def _require_living(living: Tensor, kind: CellKind, space: SearchSpace) -> None:
    for (source, node), lives in zip(space.edges, living.any(-1).tolist(), strict=True):
        if not lives:
            raise ConfigError(
                f"no expert is alive on the edge from {source} to {node} of the {kind} cell; a mask "
                "keeps at least one expert per edge"
            )
