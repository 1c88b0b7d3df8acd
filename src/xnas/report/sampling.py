"""Tables of what a search by sampling has evaluated: the best cells, and those that nothing beats."""

from __future__ import annotations

from collections.abc import Sequence

from xnas.records import Sampled
from xnas.report.tables import aligned_table
from xnas.words import counted

MOST_ROWS = 10
TINY = 100_000
"""Parameters or multiply-accumulates below which millions would hide most digits."""


def highest_rung(records: Sequence[Sampled]) -> list[Sampled]:
    """Evaluations that can be compared: those with a value at the most epochs; all without rungs."""
    done = [record for record in records if record.value is not None]
    most = max((record.budget or 0 for record in done), default=0)
    return [record for record in done if (record.budget or 0) == most]


def rung_text(records: Sequence[Sampled]) -> str:
    """Of which rung tables and fronts are, in words; empty without rungs."""
    highest = highest_rung(records)
    if not highest or highest[0].budget is None:
        return ""
    return f"{counted(len(highest), 'evaluation')} at the highest rung, {highest[0].budget} epochs"


def best_cells(records: Sequence[Sampled], most: int = MOST_ROWS) -> list[Sampled]:
    """The best evaluation of each of the `most` best cells of the highest rung, best first."""
    best: dict[int, Sampled] = {}
    for record in highest_rung(records):
        cell = record.number if record.same_as is None else record.same_as
        known = best.get(cell)
        if known is None or (record.value or 0.0) > (known.value or 0.0):
            best[cell] = record
    return sorted(best.values(), key=lambda record: (-(record.value or 0.0), record.number))[:most]


def pareto_front(records: Sequence[Sampled]) -> list[Sampled]:
    """The cells that no other of the highest rung is both smaller than and as accurate as."""
    front: list[Sampled] = []
    by_size = sorted(
        best_cells(records, len(records)), key=lambda r: (r.parameters, -(r.value or 0.0), r.number)
    )
    for record in by_size:
        if not front or (record.value or 0.0) > (front[-1].value or 0.0):
            front.append(record)
    return front


def cells_table(records: Sequence[Sampled], shown: Sequence[Sampled]) -> str:
    """Some evaluations as a table for the terminal; a star marks the front of accuracy and size."""
    front = {record.number for record in pareto_front(records)}
    parameters, sizes = _sizes("parameters", [record.parameters for record in shown], digits=3)
    macs, costs = _sizes("MACs", [record.macs for record in shown], digits=1)
    rows = [
        (
            f"{100 * (record.value or 0.0):.2f} %",
            size,
            cost,
            str(record.number),
            "*" if record.number in front else "",
        )
        for record, size, cost in zip(shown, sizes, costs, strict=True)
    ]
    header = ("validation", parameters, macs, "trial", "front")
    return aligned_table(header, rows, left=())


def _sizes(name: str, counts: Sequence[int], *, digits: int) -> tuple[str, list[str]]:
    """A column in millions with its header, or in whole numbers where a network is tiny."""
    if min(counts, default=0) < TINY:
        return name, [f"{count:,}" for count in counts]
    return f"M {name}", [f"{count / 1e6:,.{digits}f}" for count in counts]


def evaluations_line(records: Sequence[Sampled]) -> str:
    """How many evaluations, cells and failures there were, and how many can be compared, in one line."""
    failed = sum(record.value is None for record in records)
    cells = sum(record.same_as is None for record in records)
    failures = f", {failed} failed" if failed else ""
    rung = rung_text(records)
    compared = f"; {rung}" if rung else ""
    return (
        f"{counted(len(records), 'evaluation')}, {counted(cells, 'different cell')}{failures}{compared}"
    )
