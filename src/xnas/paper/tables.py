"""The paper's tables as data: its columns, then what the same networks and cells count here.

Errors and search costs are the paper's, of trainings and searches that were not repeated. Parameters,
multiply-accumulates and depths are ours. Table 1 ends with a row of our own searches, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xnas.paper import cell_depths, table_claims
from xnas.paper.columns import Column, table_of
from xnas.paper.compared_rows import ComparedRow, compared_rows
from xnas.paper.found_here import FoundHere, found_here, measured_here
from xnas.paper.measured_here import MeasuredHere, command_of, datasets_trained
from xnas.records import Claim, DepthRow, Entry, RandomDepths, Table
from xnas.space import zoo_cell
from xnas.space.zoo import CountedNetwork, PaperRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {
    1: "Table 1: CIFAR-10",
    2: "Table 2: ImageNet",
    3: "Table 3: other data sets",
}
ERROR_DIGITS = {1: 2, 2: 1}
"""Decimals of errors as the paper prints them; those of Table 3 vary."""
UNITS = (
    "Errors are in percent, parameters (M) in millions, search costs in GPU days: the paper's, not "
    "repeated here. What follows is ours: the network that the parameters belong to, what it counts, "
    "and the even channels with which such a network comes nearest to the printed parameters. A network "
    "agrees if its parameters give the printed digits when rounded, when truncated, or both (yes). MACs "
    "are the multiply-accumulates of one image."
)
OWN_ROW = {
    True: "The last row is of our own searches, with a smaller network and a shorter training than "
    "those of the other rows: its error does not compare with theirs.",
    False: "There is no row of our own searches yet: they have not been run, or their cells not "
    "trained.",
}
"""By whether there is one."""
HERE = (
    "`Trained here` is the test error in percent of the published cell in a small network, after a far "
    "shorter training than the paper's. `Search here` is the command that searches as the row's system "
    "does, in one of our spaces, and `found here` the test accuracy in percent, by the tables of "
    "NAS-Bench-201, of the cells that it found on CIFAR-10. A search that names its images was a small "
    "one, with these alone: such searches compare with each other. One that names the DARTS space has "
    "the estimate of a judge."
)
DEPTH_NOTE = (
    "The depth of a cell is the mean number of the states that its edges come from, so it depends on "
    "how inputs and nodes are numbered. Least and most are over all numberings under which edges lead "
    "upwards; `printed by` names the first that gives the paper's depth: as numbered in the cell's "
    "source, with the inputs swapped, or renumbered in some other way."
)


def _ours(entry: Callable[[CountedNetwork], Entry]) -> Callable[[ComparedRow], Entry]:
    """An entry of the network that was counted for a row; empty if there is none."""
    return lambda row: None if row.counted is None else entry(row.counted)


def _error_column(dataset: str) -> Column[ComparedRow, FoundHere]:
    return Column(
        f"{table_claims.NAMES[dataset]} error",
        lambda row: _printed_error(row.paper, dataset),
        lambda found: f"{found.error:.2f}",
    )


NAME: Column[ComparedRow, FoundHere] = Column(
    "architecture", lambda row: row.paper.row, lambda found: found.row
)
PRINTED: tuple[Column[ComparedRow, FoundHere], ...] = (
    Column(
        "parameters (M)",
        lambda row: _general(row.paper.parameters),
        lambda found: f"{found.parameters / 1e6:.2g}",
    ),
    Column(
        "search cost",
        lambda row: _general(row.paper.search_cost),
        lambda found: f"{found.search_days:.2g}",
    ),
)
"""Of Tables 1 to 3, after the name and the errors: the paper's."""
COUNTED: tuple[Column[ComparedRow, FoundHere], ...] = (
    Column("cell", lambda row: row.cell, lambda found: f"mean of {found.searches}"),
    Column("network", _ours(lambda n: n.spec.network), lambda found: found.network),
    Column("channels", _ours(lambda n: n.spec.channels), lambda found: found.channels),
    Column("stem", _ours(lambda n: n.spec.stem_channels)),
    Column("squeeze-excitation", _ours(lambda n: n.spec.squeeze_excitation)),
    Column("our parameters", _ours(lambda n: n.parameters), lambda found: found.parameters),
    Column("our MACs", _ours(lambda n: n.macs), lambda found: found.macs),
    Column("depth", lambda row: row.depth, lambda found: found.depth),
    Column("agrees", lambda row: row.agrees),
    Column("nearest channels", lambda row: row.nearest and row.nearest[0]),
    Column("parameters there", lambda row: row.nearest and row.nearest[1]),
    Column("note", lambda row: row.paper.note, lambda found: found.note),
)
"""Ours, after them and after what was measured here."""


def _here(
    rows: tuple[ComparedRow, ...], measured: MeasuredHere
) -> tuple[Column[ComparedRow, FoundHere], ...]:
    """What was measured here, next to what the paper prints."""

    def trained(dataset: str) -> Column[ComparedRow, FoundHere]:
        return Column(
            f"{table_claims.NAMES[dataset]} error, trained here",
            lambda row: measured.training(row, dataset),
            lambda found: f"{found.error:.2f} ({found.recipe}, {found.seeds} trainings a cell)",
        )

    return (
        *map(trained, datasets_trained(rows, measured)),
        Column("search here", lambda row: command_of(row.paper.row), lambda _: "xnas search"),
        Column("found here", measured.search),
    )


def paper_table(
    number: int,
    rows: tuple[ComparedRow, ...],
    found: tuple[FoundHere, ...] = (),
    measured: MeasuredHere | None = None,
) -> Table:
    """One of Tables 1 to 3, the paper's columns before ours.

    `found` has our own rows of the first, `measured` what other rows of it and the third have beside.
    """
    datasets = dict.fromkeys(dataset for row in rows for dataset in row.paper.errors)
    here = () if measured is None else _here(rows, measured)
    columns = (NAME, *map(_error_column, datasets), *PRINTED, *here, *COUNTED)
    note = f"{UNITS} {OWN_ROW[bool(found)]}" if number == 1 else UNITS
    return table_of(TITLES[number], columns, rows, found, note if measured is None else f"{note} {HERE}")


def table_with_claims(number: int) -> tuple[list[ComparedRow | FoundHere], Table, list[Claim]]:
    """One of Tables 1 to 3 as records and as a table, and the claims that compare its entries."""
    rows = compared_rows(number)
    found = found_here() if number == 1 else ()
    if number == 3:
        claims = table_claims.table_3_claims([row for table in TITLES for row in compared_rows(table)])
    elif number == 1:
        claims = table_claims.table_1_claims(rows, found)
    else:
        claims = table_claims.table_2_claims(rows)
    measured = None if number == 2 else measured_here()
    return [*rows, *found], paper_table(number, rows, found, measured), claims


def depth_table(rows: list[DepthRow], random: RandomDepths) -> Table:
    """Table 4 with all that its rows could mean, the other published cells, and random ones."""
    columns: tuple[Column[DepthRow, RandomDepths], ...] = (
        Column("row", lambda row: row.row),
        Column("depth in the paper", lambda row: row.printed),
        Column("cell", lambda row: row.cell, lambda drawn: f"{drawn.cells} random cells"),
        Column("nodes", lambda row: row.nodes, lambda _: cell_depths.NODES),
        Column("our depth", lambda row: row.depth, lambda drawn: drawn.mean),
        Column("inputs swapped", lambda row: row.swapped),
        Column("least", lambda row: row.least),
        Column("most", lambda row: row.most),
        Column("printed by", lambda row: row.reached),
        Column("random cells", lambda row: row.random_mean, lambda drawn: drawn.exact_mean),
        Column("note", _why, _spread),
    )
    return table_of("Table 4: depths of normal cells", columns, rows, [random], DEPTH_NOTE)


def _spread(random: RandomDepths) -> str:
    """How depths of random cells vary."""
    return (
        f"standard deviation {random.deviation:.3f} ({random.exact_deviation:.3f} over all cells); "
        f"deeper than XNAS: {100 * random.share_deeper:.1f} % "
        f"({100 * random.exact_share_deeper:.1f} % of all cells)"
    )


def _why(row: DepthRow) -> str:
    """Why a depth is not the printed one."""
    if row.reached == "none" and row.least == row.most:
        return "differs: half of the edges come from each input, so that all numberings give this depth"
    return {
        "none": "differs: no numbering gives the printed depth",
        "inputs swapped": "differs, unless the inputs are swapped",
        "renumbered": "differs; another numbering of inputs and nodes gives the printed depth",
    }.get(row.reached or "", "")


def depth_records() -> tuple[list[DepthRow], RandomDepths]:
    """Depths of published cells, and of random ones to compare XNAS with."""
    return cell_depths.depth_rows(), cell_depths.random_depths(zoo_cell("xnas").depth)


def cell_figures(cells: list[str]) -> dict[str, Figure]:
    """Figures of published cells; XNAS's is Figure 9."""
    from xnas.report.cell_figure import draw_genotype  # noqa: PLC0415 - it imports matplotlib

    return {f"cell-{name}": draw_genotype(zoo_cell(name).genotype) for name in cells}


def _printed_error(row: PaperRow, dataset: str) -> str | None:
    if dataset not in row.errors:
        return None
    error = float(row.errors[dataset])
    return f"{error:.{ERROR_DIGITS[row.table]}f}" if row.table in ERROR_DIGITS else str(error)


def _general(value: float | None) -> str | None:
    return None if value is None else f"{value:g}"
