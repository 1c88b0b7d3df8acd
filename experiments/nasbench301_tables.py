"""Tables of the trainings by NAS-Bench-301's protocol, and the answers to the two questions about them.

The rules are those at the top of `nasbench301.py`. As long as trainings are missing there is no answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import mean

from cell_statistics import kendall, welch
from jobs import Record
from nasbench301 import (
    DRAWN,
    FEWEST_FOUND,
    LEAST_CORRELATION,
    MOST_DIFFERENCE,
    PUBLISHED,
    Cell,
    all_jobs,
    found_cells,
    known_accuracies,
)
from result_tables import NOTHING, Results, machines, percent, seconds_of, table
from xnas.space import Genotype

UNTRAINED = f"N{NOTHING[1:]}: nothing has been trained."


def cell_line(results: Results, cell: Cell) -> Record | None:
    """The training of a cell; one that trained another cell than its file has now is refused."""
    line = next((line for job in all_jobs() if job.of == cell and (line := results.of(job))), None)
    if line is None or cell.path is None or not cell.path.exists():
        return line
    if Genotype.from_json(json.dumps(line["genotype"])) != Genotype.load(cell.path):
        raise SystemExit(f"{line['job']} trained another cell than {cell.given} has; delete its line")
    return line


def accuracies(results: Results, cells: Sequence[Cell]) -> dict[str, float]:
    """Validation accuracies in percent of the cells that are trained, by name."""
    lines = {cell.name: cell_line(results, cell) for cell in cells}
    return {name: 100 * line["valid_accuracy"] for name, line in lines.items() if line is not None}


def cells(results: Results) -> str:
    """One row per cell."""
    measured = results.measured(all_jobs())
    if not measured:
        return UNTRAINED
    known = known_accuracies()
    rows = [_row(cell, results, known.get(cell.name)) for cell in (*DRAWN, *PUBLISHED, *found_cells())]
    header = (
        "cell",
        "origin",
        "the file's accuracy",
        "validation accuracy",
        "difference, points",
        "test accuracy",
        "parameters",
        "training",
    )
    return f"{machines(measured)}\n\n{table(header, rows)}"


def _row(cell: Cell, results: Results, known: float | None) -> list[str]:
    line = cell_line(results, cell)
    given = [cell.name, cell.origin, "—" if known is None else f"{known:.2f} %"]
    if line is None:
        waits = cell.path is not None and not cell.path.exists()
        return [*given, f"{NOTHING}: its file comes first" if waits else NOTHING, "", "", "", ""]
    ours = 100 * line["valid_accuracy"]
    return [
        *given,
        f"{ours:.2f} %",
        "—" if known is None else f"{ours - known:+.2f}",
        percent(line["test_accuracy"]),
        f"{line['parameters'] / 1e6:.2f} M",
        seconds_of(line["train_seconds"]) + (f" in {line['calls']} calls" if line["calls"] > 1 else ""),
    ]


def check(results: Results) -> str:
    """Whether our trainings give what the benchmark's file says, by rule (a)."""
    ours, known = accuracies(results, DRAWN), known_accuracies()
    if not ours:
        return UNTRAINED
    if len(ours) < len(DRAWN):
        return f"No answer yet: {len(ours)} of {len(DRAWN)} drawn cells are trained."
    pairs = [(ours[cell.name], known[cell.name]) for cell in DRAWN]
    apart = mean(abs(one - other) for one, other in pairs)
    offset = mean(one - other for one, other in pairs)
    tau = kendall(*zip(*pairs, strict=True))
    sound = apart <= MOST_DIFFERENCE and tau >= LEAST_CORRELATION
    return (
        f"Mean absolute difference {apart:.2f} points (at most {MOST_DIFFERENCE} wanted; on average "
        f"{offset:+.2f}), Kendall's correlation {tau:.2f} (at least {LEAST_CORRELATION} wanted), "
        f"{len(pairs)} cells. **The trainer is {'sound' if sound else 'not sound'} by the rule.**"
    )


def comparison(results: Results) -> str:
    """Found cells against the drawn ones, by rule (b)."""
    found = found_cells()
    ours, others = accuracies(results, found), accuracies(results, DRAWN)
    if not ours and not others:
        return UNTRAINED
    counted = f"{len(ours)} of {len(found)} found cells and {len(others)} of {len(DRAWN)} drawn ones"
    if len(ours) < max(FEWEST_FOUND, len(found)) or len(others) < len(DRAWN):
        return f"No answer yet: {counted} are trained."
    answer = welch(list(ours.values()), list(others.values()))
    verdict = "A difference is not shown."
    if answer.low > 0:
        verdict = "Found cells are better than drawn ones."
    elif answer.high < 0:
        verdict = "Found cells are worse than drawn ones."
    return (
        f"{counted}: {mean(ours.values()):.2f} % against {mean(others.values()):.2f} %, "
        f"{answer.difference:+.2f} points, 95 % interval {answer.low:+.2f} to {answer.high:+.2f}. "
        f"**{verdict}**"
    )
