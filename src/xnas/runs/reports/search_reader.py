"""A search as its run folder tells it."""

from __future__ import annotations

from functools import cache

from xnas.engine.outlook import worries
from xnas.errors import DamagedFileError
from xnas.records import EdgeChoice, Ledger, SearchEpoch
from xnas.records.reading import value_of
from xnas.report.page.stories import CellSize, SearchedCells, SearchStory
from xnas.runs.doubts import compared, undecided
from xnas.runs.listing.kinds import METRICS, REMEDY, text, whole
from xnas.runs.reports.drawn_cells import GENOTYPE, saved_cell
from xnas.runs.reports.run_files import ReadRun
from xnas.runs.search_config import SearchConfig
from xnas.space import NETWORKS, SPACES, Genotype, SearchSpace, cell_depth, list_cells, zoo_cell
from xnas.space.paper_size import paper_size

WHY, LEDGER = "discretization.json", "ledger.json"
HEAD = {"format", "version"}
"""Keys of ledger.json beside the kinds of cells."""
ON_CIFAR10 = "cifar10"


def search_story(run: ReadRun) -> SearchStory:
    """All that the files of a search say, read as far as possible."""
    epochs = _alike(run, run.records(SearchEpoch.from_json))
    choices = run.attempt(WHY, lambda: _choices(run), ())
    ledgers = run.attempt(LEDGER, lambda: _ledgers(run), {})
    graph = run.attempt(GENOTYPE, lambda: saved_cell(run.path), None)
    sizes = run.attempt(GENOTYPE, lambda: _sizes(run), ())
    doubtful = run.attempt(LEDGER, lambda: undecided(choices, ledgers), ())
    planned = whole(run.settings.get("epochs")) or len(epochs)
    if graph is not None:
        run.require_epochs(len(epochs), planned)
    seen: set[str] = set()
    warnings = [line for epoch in epochs for line in worries(epoch, epochs=planned, seen=seen)]
    return SearchStory(
        head=run.head(SearchConfig),
        space=text(run.settings.get("space")) or "",
        method=text(run.settings.get("method")) or "",
        epochs_planned=planned,
        cells=_cells(run, epochs),
        epochs=epochs,
        choices=choices,
        ledgers=ledgers,
        undecided=doubtful,
        compared=len(compared(choices, ledgers)),
        sizes=sizes,
        graph=graph,
        network="What each cell costs in the paper's network for CIFAR-10 (36 channels, 20 cells).",
        warning=" ".join(f"{line[0].upper()}{line[1:]}." for line in warnings),
    )


def _alike(run: ReadRun, epochs: tuple[SearchEpoch, ...]) -> tuple[SearchEpoch, ...]:
    """Epochs whose mixtures have the kinds, edges and experts of the first; others are a fault."""
    first: dict[str, list[int]] | None = None
    for number, epoch in enumerate(epochs):
        if epoch.mixtures is None:
            continue
        shape = {kind: [len(row) for row in rows] for kind, rows in epoch.mixtures.items()}
        first = shape if first is None else first
        if shape != first or not all(shape.values()):
            where = f"{run.path / METRICS} is damaged in line {number + 1}"
            run.note(
                f"{where}: its mixtures have other edges or experts; the epochs before it are shown"
            )
            return epochs[:number]
    return epochs


def _cells(run: ReadRun, epochs: tuple[SearchEpoch, ...]) -> SearchedCells | None:
    """Edges and operations, which the space of the search knows; None for an unknown one.

    Without settings, cells say what space they are of.
    """
    of_cells = [text(e.cell.get("space")) for e in epochs if e.cell is not None]
    name = text(run.settings.get("space")) or next(filter(None, of_cells), None)
    if name is None or name not in SPACES:
        return None
    space: SearchSpace = SPACES[name]
    wide = space.with_none() if run.settings.get("include_none") else space
    columns = {len(rows[0]) for e in epochs[-1:] for rows in (e.mixtures or {}).values() if rows}
    found = next((one for one in (wide, space) if columns <= {len(one.operations)}), wide)
    return SearchedCells(
        operations=found.operations,
        edges=found.edges,
        inputs=found.inputs,
        nodes=found.nodes,
        concat=found.concat,
    )


def _choices(run: ReadRun) -> tuple[EdgeChoice, ...]:
    if not run.files.has(WHY):
        return ()
    found: tuple[EdgeChoice, ...] = value_of(
        tuple[EdgeChoice, ...], run.files.json(WHY)["edges"], "edges"
    )
    return found


def _ledgers(run: ReadRun) -> dict[str, Ledger]:
    books = {kind: book for kind, book in run.files.json(LEDGER).items() if kind not in HEAD}
    if run.files.has(LEDGER) and not books:
        raise DamagedFileError(f"{run.path / LEDGER} is damaged: it holds no ledger; {REMEDY}")
    return {kind: Ledger.from_json(book) for kind, book in books.items()}


def _sizes(run: ReadRun) -> tuple[CellSize, ...]:
    """The cell that was found beside those of the zoo, where the paper's network can be built of it."""
    if not run.files.has(GENOTYPE):
        return ()
    cell = Genotype.load(run.path / GENOTYPE)
    if cell.defaults.networks is not NETWORKS:
        return ()
    size, depth = paper_size(cell), cell_depth(cell)
    own = CellSize(name="this cell", parameters=size.parameters, macs=size.macs, depth=depth, own=True)
    return (own, *_zoo())


@cache
def _zoo() -> tuple[CellSize, ...]:
    return tuple(
        CellSize(
            name=cell.name,
            parameters=size.parameters,
            macs=size.macs,
            depth=cell.depth,
            error=next((row.errors[ON_CIFAR10] for row in cell.paper if ON_CIFAR10 in row.errors), None),
        )
        for cell in map(zoo_cell, list_cells())
        for size in cell.sizes
        if size.spec == NETWORKS["cifar"]
    )
