"""The graphs of a page: of a search, epoch by epoch, or of one finished cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xnas.records import EdgeChoice, SearchEpoch
from xnas.report.colours import operation_colours
from xnas.report.page.graphs import ONLY, CellGraph, CellGraphs, Frame, GraphEdge, Wiped, leaders
from xnas.report.page.stories import DrawnCell, SearchedCells, SearchStory

REASONS = {
    "no rival": "no other edge competed for its place",
    "cost of absence": "what decided was how much the validation loss grows without the edge",
    "strength": "what decided was the strength of its operation",
    "lead of the sums": "strengths were equal, and the lead in summed rewards decided",
    "lower source index": "all else was equal, and the lower source decided",
    "living experts": "what decided was which experts were alive",
}


def searched_graphs(story: SearchStory) -> CellGraphs | None:
    """The cells of a search with a frame per epoch; None where mixtures were not recorded."""
    cells = story.cells
    epochs = [epoch for epoch in story.epochs if epoch.mixtures is not None]
    if cells is None or not epochs or not _fit(epochs[-1], cells):
        return None
    kinds = list(epochs[-1].mixtures or {})
    graphs = tuple(_graph(kind, cells, epochs, story, only=len(kinds) == 1) for kind in kinds)
    moved = " Move the slider to see how the search got there." if len(epochs) > 1 else ""
    return CellGraphs(
        title="The cell that was found" if story.choices else "The cell so far",
        caption="Edges have the colour of their strongest operation, are the thicker the larger its "
        "weight, and faint if they are left out. Bars show the whole mixture of every edge; the number "
        f"beside one counts its wiped-out experts.{moved}",
        graphs=graphs,
        colours=operation_colours(cells.operations),
    )


def finished_graphs(cell: DrawnCell, title: str = "The cell") -> CellGraphs:
    """A finished cell, which has one frame and no weights."""
    names = tuple(dict.fromkeys(name for edges in cell.kinds.values() for _, _, name in edges))
    graphs = []
    for kind, edges in cell.kinds.items():
        nodes = max((node for _, node, _ in edges), default=cell.inputs) - cell.inputs + 1
        frame = Frame(
            epoch=1,
            weights=((),) * len(edges),
            kept=tuple(range(len(edges))),
            chosen=tuple(names.index(name) for _, _, name in edges),
        )
        graphs.append(
            CellGraph(
                kind=ONLY if len(cell.kinds) == 1 else kind,
                inputs=cell.inputs,
                nodes=nodes,
                operations=names,
                edges=tuple(GraphEdge(source=source, node=node) for source, node, _ in edges),
                concat=cell.concat[kind],
                frames=(frame,),
            )
        )
    return CellGraphs(
        title=title,
        caption="Each line is an edge in the colour of its operation.",
        graphs=tuple(graphs),
        colours=operation_colours(names),
    )


def wiped_edges(story: SearchStory, kind: str) -> set[tuple[int, int]]:
    """Source and node of the edges of a kind of cell that lost experts."""
    edges = () if story.cells is None else story.cells.edges
    gone = {d.forecaster for epoch in story.epochs for d in epoch.deleted if d.kind == kind}
    return {edges[at] for at in gone if 0 <= at < len(edges)}


def reason(choice: EdgeChoice, *, wiped: bool = False) -> str:
    """Why an edge is in the cell or not, in two sentences; `wiped`: it lost experts.

    Strengths are then other numbers than the weights of the mixture.
    """
    lead = "" if choice.lead is None else f", by {choice.lead:.3g} in summed rewards"
    rival = ""
    if choice.runner_up is not None and choice.runner_up_strength is not None:
        rival = f" before {choice.runner_up} ({100 * choice.runner_up_strength:.1f} %){lead}"
    whole = ", as if no expert had been wiped out" if wiped else ""
    strongest = f"{choice.operation} is the strongest operation here ({100 * choice.strength:.1f} %)"
    first = f"{strongest}{rival}{whole}."
    cost = ""
    if choice.absence_cost is not None:
        cost = f" Without the edge the validation loss grew by {choice.absence_cost:.3g} in all."
    ruling = REASONS.get(choice.decided_by, f"what decided was {choice.decided_by}")
    return f"{first} The edge is {'kept' if choice.kept else 'left out'}: {ruling}.{cost}"


def _graph(
    kind: str,
    cells: SearchedCells,
    epochs: Sequence[SearchEpoch],
    story: SearchStory,
    *,
    only: bool,
) -> CellGraph:
    at = {edge: index for index, edge in enumerate(cells.edges)}
    wiped = wiped_edges(story, kind)
    why = {
        (c.source, c.node): reason(c, wiped=(c.source, c.node) in wiped)
        for c in story.choices
        if c.kind == kind
    }
    final = [c for c in story.choices if c.kind == kind and c.kept]
    frames = [_frame(kind, epoch, cells, at) for epoch in epochs]
    if final:
        kept = tuple(at[c.source, c.node] for c in final if (c.source, c.node) in at)
        chosen = list(frames[-1].chosen)
        for one in final:
            if (one.source, one.node) in at and one.operation in cells.operations:
                chosen[at[one.source, one.node]] = cells.operations.index(one.operation)
        last = frames[-1]
        frames[-1] = Frame(epoch=last.epoch, weights=last.weights, kept=kept, chosen=tuple(chosen))
    return CellGraph(
        kind=ONLY if only else kind,
        inputs=cells.inputs,
        nodes=cells.nodes,
        operations=cells.operations,
        edges=tuple(GraphEdge(source=s, node=n, reason=why.get((s, n), "")) for s, n in cells.edges),
        concat=cells.concat,
        frames=tuple(frames),
        wiped=tuple(
            Wiped(edge=d.forecaster, expert=d.expert, epoch=epoch.epoch, round_index=d.round_index)
            for epoch in epochs
            for d in epoch.deleted
            if d.kind == kind
        ),
    )


def _frame(
    kind: str, epoch: SearchEpoch, cells: SearchedCells, at: Mapping[tuple[int, int], int]
) -> Frame:
    weights = (epoch.mixtures or {})[kind]
    chosen, kept = list(leaders(weights)), []
    for source, node, operation in cell_edges(epoch.cell, kind, cells.inputs):
        if (source, node) in at and operation in cells.operations:
            kept.append(at[source, node])
            chosen[at[source, node]] = cells.operations.index(operation)
    return Frame(epoch=epoch.epoch, weights=weights, kept=tuple(kept), chosen=tuple(chosen))


def cell_edges(cell: dict[str, Any] | None, kind: str, inputs: int) -> list[tuple[int, int, str]]:
    """Edges (source, node, operation) of a genotype as its file has it; none for what is no genotype."""
    try:
        if cell is None:
            return []
        if "arch" in cell:
            nodes = [
                [
                    (name, int(source))
                    for name, _, source in (e.partition("~") for e in part.split("|") if e)
                ]
                for part in cell["arch"].split("+")
            ]
        else:
            nodes = [[(str(name), int(source)) for name, source in node] for node in cell[kind]["nodes"]]
    except (AttributeError, KeyError, TypeError, ValueError):
        return []
    return [
        (source, node, name) for node, edges in enumerate(nodes, start=inputs) for name, source in edges
    ]


def _fit(epoch: SearchEpoch, cells: SearchedCells) -> bool:
    """Whether mixtures have a row for every edge and a column for every operation."""
    return all(
        len(rows) == len(cells.edges) and all(len(row) == len(cells.operations) for row in rows)
        for rows in (epoch.mixtures or {}).values()
    )
