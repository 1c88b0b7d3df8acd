"""Tables of `method_costs.py` and `sampled_trainings.py`."""

from __future__ import annotations

import method_costs
import sampled_trainings
from jobs import Job, Record, ResultsFile
from method_costs import MethodTiming
from result_tables import NOTHING, Results, gib, percent, table_of_measured
from sampled_trainings import SampledSearch
from xnas.bench.methods import FIRST


def rounds(results: Results) -> str:
    """Milliseconds and memory of a round of every method, a line per method, compared with `xnas`."""
    lines = _lines(results, method_costs.RESULTS, method_costs.JOBS)
    spaces = tuple(method_costs.SIZES)
    header = ["method"]
    for space in spaces:
        header += [f"{space}: per round", f"compared with `{FIRST}`", "memory", "backend"]
    rows: list[tuple[str, list[str] | None]] = []
    for method in dict.fromkeys(job.method for job in method_costs.JOBS):
        row = [f"`{method}`"]
        for space in spaces:
            row += _round(_of(method, space, lines), _of(FIRST, space, lines))
        measured = any(_of(method, space, lines) for space in spaces)
        rows.append((f"`{method}`", row if measured else None))
    command = "python experiments/method_costs.py"
    return table_of_measured(list(lines.values()), header, rows, command)


def _of(method: str, space: str, lines: dict[str, Record]) -> Record | None:
    return lines.get(f"{space}-{method}")


def _round(line: Record | None, first: Record | None) -> list[str]:
    if line is None:
        return [NOTHING, "", "", ""]
    if line["failure"]:
        return ["not possible", "", "", ""]
    compared = "—"
    if first is not None and not first["failure"]:
        compared = f"{line['milliseconds'] / first['milliseconds']:.2f}"
    how = f"{line['backend']}, {line['precision']}"
    return [f"{line['milliseconds']:.1f} ms", compared, gib(line["memory_bytes"]), how]


def trained(results: Results) -> str:
    """Searches that train every cell, a line per sampler, and one by shared weights."""
    header = (
        "search",
        "evaluations",
        "best validation accuracy after 8",
        "at the end",
        "the answer by the judge, %",
        "distinct cells",
        "per evaluation",
        "in all",
        "command",
    )
    lines = _lines(results, sampled_trainings.RESULTS, sampled_trainings.JOBS)
    known = [(job, lines.get(job.name)) for job in sampled_trainings.JOBS]
    rows = [(f"`{job.name}`", None if line is None else _trained(job, line)) for job, line in known]
    command = "python experiments/sampled_trainings.py --data-dir DIR --truth CELLS.csv"
    return table_of_measured(list(lines.values()), header, rows, command)


def _trained(job: SampledSearch, line: Record) -> list[str]:
    values = [value for value in line["values"] if value is not None]
    truth = line["truth"]
    return [
        f"`{job.name}`",
        str(len(line["values"])),
        percent(max((v for v in line["values"][:8] if v is not None), default=None)),
        percent(max(values, default=None)),
        "—" if truth is None else f"{truth['accuracy']:.2f}",
        str(len({str(cell) for cell in line["cells"]})),
        _duration(line["evaluation_seconds"]),
        "—" if line["search_seconds"] is None else f"{line['search_seconds']:.0f} s",
        f"`{job.command}`",
    ]


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1e3 * seconds:.0f} ms"


def _lines(
    results: Results, name: str, jobs: tuple[MethodTiming, ...] | tuple[SampledSearch, ...]
) -> dict[str, Record]:
    """The lines of jobs that are declared as they were run, by name."""
    declared: dict[tuple[str, str], Job] = {(job.name, job.command): job for job in jobs}
    lines = ResultsFile(results.folder / name).lines()
    return {line["job"]: line for line in lines if (line["job"], line["command"]) in declared}
