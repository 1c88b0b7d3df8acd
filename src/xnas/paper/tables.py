"""The paper's tables as data: its columns, then what the same networks and cells count here.

Errors and search costs are the paper's, of trainings and searches that were not repeated. Parameters,
multiply-accumulates and depths are ours. Table 1 ends with a row of our own searches, if there is one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from matplotlib.figure import Figure

from xnas.paper import cell_depths, table_claims
from xnas.paper.found_here import FoundHere, found_here
from xnas.paper.network_sizes import agreement, macs, nearest_channels, parameters
from xnas.records import Claim, ComparedRow, DepthRow, Entry, RandomDepths, Table
from xnas.report.cell_figure import draw_genotype
from xnas.space import list_cells, zoo_cell
from xnas.space.zoo import PaperRow, other_systems

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
DEPTH_NOTE = (
    "The depth of a cell is the mean number of the states that its edges come from, so it depends on "
    "how inputs and nodes are numbered. Least and most are over all numberings under which edges lead "
    "upwards; `printed by` names the first that gives the paper's depth: as numbered in the cell's "
    "source, with the inputs swapped, or renumbered in some other way."
)


@cache
def compared_rows(table: int) -> tuple[ComparedRow, ...]:
    """Rows of one of Tables 1 to 3, in its order; one for each cell that a row could mean."""
    found: list[tuple[PaperRow, str | None]] = [(row, None) for row in other_systems()]
    found += [(row, cell) for cell in list_cells() for row in zoo_cell(cell).paper]
    rows = [_compared(row, cell) for row, cell in found if row.table == table]
    return tuple(sorted(rows, key=lambda row: (row.line, row.cell or "")))


def _compared(row: PaperRow, cell: str | None) -> ComparedRow:
    result = ComparedRow(
        table=row.table,
        line=row.line,
        row=row.row,
        errors=row.errors,
        printed=row.parameters,
        search_cost=row.search_cost,
        cell=cell,
        network=None,
        channels=None,
        stem_channels=None,
        squeeze_excitation=None,
        parameters=None,
        macs=None,
        depth=None,
        agrees=None,
        nearest_channels=None,
        nearest_parameters=None,
        note=row.note,
    )
    if cell is None or row.network is None or row.parameters is None:
        return result
    spec = row.network
    nearest = nearest_channels(cell, spec, row.parameters)
    return replace(
        result,
        network=spec.network,
        channels=spec.channels,
        stem_channels=spec.stem_channels,
        squeeze_excitation=spec.squeeze_excitation,
        parameters=parameters(cell, spec),
        macs=macs(cell, spec),
        depth=zoo_cell(cell).depth,
        agrees=agreement(parameters(cell, spec), row.parameters),
        nearest_channels=nearest[0],
        nearest_parameters=nearest[1],
    )


def paper_table(number: int, rows: tuple[ComparedRow, ...], found: tuple[FoundHere, ...] = ()) -> Table:
    """One of Tables 1 to 3, the paper's columns before ours; `found` has our own rows of the first."""
    datasets = list(dict.fromkeys(d for row in rows for d in row.errors))
    names = [f"{table_claims.NAMES[d]} error" for d in datasets]
    header = (
        *("architecture", *names, "parameters (M)", "search cost"),
        *("cell", "network", "channels", "stem", "squeeze-excitation"),
        *("our parameters", "our MACs", "depth", "agrees"),
        *("nearest channels", "parameters there", "note"),
    )
    lines = tuple(
        (
            row.row,
            *(_printed_error(row, dataset) for dataset in datasets),
            _general(row.printed),
            _general(row.search_cost),
            row.cell,
            row.network,
            row.channels,
            row.stem_channels,
            row.squeeze_excitation,
            row.parameters,
            row.macs,
            row.depth,
            row.agrees,
            row.nearest_channels,
            row.nearest_parameters,
            row.note,
        )
        for row in rows
    )
    note = f"{UNITS} {OWN_ROW[bool(found)]}" if number == 1 else UNITS
    own = tuple(map(_own_line, found))
    return Table(title=TITLES[number], header=header, rows=lines + own, note=note)


def _own_line(found: FoundHere) -> tuple[Entry, ...]:
    """A row of Table 1."""
    return (
        *(found.row, f"{found.error:.2f}", f"{found.parameters / 1e6:.2g}", f"{found.search_days:.2g}"),
        *(f"mean of {found.searches}", found.network, found.channels, None, None),
        *(found.parameters, found.macs, found.depth, None, None, None, found.note),
    )


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
    return [*rows, *found], paper_table(number, rows, found), claims


def depth_table(rows: list[DepthRow], random: RandomDepths) -> Table:
    """Table 4 with all that its rows could mean, the other published cells, and random ones."""
    header = (
        *("row", "depth in the paper", "cell", "nodes", "our depth", "inputs swapped", "least", "most"),
        *("printed by", "random cells", "note"),
    )
    lines: list[tuple[Entry, ...]] = [
        (
            row.row,
            row.printed,
            row.cell,
            row.nodes,
            row.depth,
            row.swapped,
            row.least,
            row.most,
            row.reached,
            row.random_mean,
            _why(row),
        )
        for row in rows
    ]
    lines.append(
        (
            *(None, None, f"{random.cells} random cells", cell_depths.NODES, random.mean),
            *(None, None, None, None, random.exact_mean),
            (
                f"standard deviation {random.deviation:.3f} ({random.exact_deviation:.3f} over all "
                f"cells); deeper than XNAS: {100 * random.share_deeper:.1f} % "
                f"({100 * random.exact_share_deeper:.1f} % of all cells)"
            ),
        )
    )
    return Table(
        title="Table 4: depths of normal cells", header=header, rows=tuple(lines), note=DEPTH_NOTE
    )


def _why(row: DepthRow) -> str:
    """Tell why a depth is not the printed one."""
    if row.reached == "none" and row.least == row.most:
        return "differs: half of the edges come from each input, so that all numberings give this depth"
    return {
        "none": "differs: no numbering gives the printed depth",
        "inputs swapped": "differs, unless the inputs are swapped",
        "renumbered": "differs; another numbering of inputs and nodes gives the printed depth",
    }.get(row.reached or "", "")


def depth_records() -> tuple[list[DepthRow], RandomDepths]:
    """Depths of published cells, and of random ones beside XNAS."""
    return cell_depths.depth_rows(), cell_depths.random_depths(zoo_cell("xnas").depth)


def cell_figures(cells: list[str]) -> dict[str, Figure]:
    """Published cells, drawn; XNAS's is Figure 9."""
    return {f"cell-{name}": draw_genotype(zoo_cell(name).genotype) for name in cells}


def _printed_error(row: ComparedRow, dataset: str) -> str | None:
    if dataset not in row.errors:
        return None
    error = float(row.errors[dataset])
    return f"{error:.{ERROR_DIGITS[row.table]}f}" if row.table in ERROR_DIGITS else str(error)


def _general(value: float | None) -> str | None:
    return None if value is None else f"{value:g}"
