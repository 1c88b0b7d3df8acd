"""Tables of searches with other methods, next to what their authors and others report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean

from jobs import Record, ResultsFile
from judged_search_tables import standard_error
from result_tables import (
    NOTHING,
    Results,
    gib,
    machines,
    seconds_of,
    spread,
    table,
    table_of_measured,
)
from search_tables import milliseconds
from searches import SETS, SearchJob
from xnas.methods.published import BENCHMARK


def benchmark(results: Results) -> str:
    """One row per search of NAS-Bench-201, with the accuracy that is known of its cell."""
    header = ("method", "seed", "epochs", "true accuracy", "best epoch", "rank", *COST, "published")
    return _table(results, "rivals", header, _known)


def darts(results: Results) -> str:
    """One row per search of the DARTS space, by the judge."""
    header = ("method", "seed", "epochs", "judged", "better than", *COST)
    return _table(results, "rivals-darts", header, _judged)


def defaults(results: Results) -> str:
    """The DARTS space's default, and NAS-Bench-201 with rewards at the best temperature."""
    rows: list[tuple[str, list[str] | None]] = []
    each: list[list[str]] = []
    measured = []
    for name, space in DEFAULTS.items():
        lines = results.measured(SETS[name])
        ends = [_last_accuracy(line) for line in lines]
        row = [name, f"{len(lines)} of {len(SETS[name])}", spread(ends)] if ends else None
        rows.append((f"`{name}`", row))
        each += [_by_seed(name, space, line) for line in lines]
        measured += lines
    header = ("set of searches", "seeds", "accuracy of the last cell, %")
    made = table_of_measured(measured, header, rows, COMMAND.format("SET"))
    if not each:
        return made
    columns = ("set of searches", "seed", *(f"epoch {e}" for e in LOOKED_AT), "last", "among others")
    return f"{made}\n\n{table((*columns, *COST), each)}"


def _by_seed(name: str, space: str, line: Record) -> list[str]:
    """The accuracies of one search on its way, and what the last says."""
    found = {e["epoch"]: e["truth"][TRUTHS[space]] for e in line["epochs"] if e["truth"] is not None}
    truth = line["epochs"][-1]["truth"]
    among = f"rank {truth['rank']:,}" if "rank" in truth else f"± {truth['error']:.2f}"
    on_its_way = [f"{found[e]:.2f}" if e in found else "—" for e in LOOKED_AT]
    return [name, str(line["seed"]), *on_its_way, f"{_last_accuracy(line):.2f}", among, *_costs(line)]


def _last_accuracy(line: Record) -> float:
    return float(line["epochs"][-1]["truth"][TRUTHS[line["space"]]])


def default_apart(results: Results) -> str:
    """The cells of the DARTS space's default taken apart, and what they have more on average."""
    judged = results.whole("judged_cells.json") or {}
    found = judged.get("default", [])
    if not found:
        return f"N{NOTHING[1:]}: `python experiments/judged_cells.py CELLS.csv` measures it."
    rows = [
        [
            str(row["seed"]),
            *(f"{row[name]:.2f}" for name in ("judged", "shuffled", "drawn")),
            *(f"{row[name]:.0f} %" for name in ("better than shuffled", "better than drawn")),
            f"{row['from the inputs']} of 16",
        ]
        for row in found
    ]
    gains = [mean_and_error([row["judged"] - row[name] for row in found]) for name in APART]
    told = "; ".join(f"{what}: {gain}" for gain, what in zip(gains, APART.values(), strict=True))
    header = (
        "seed",
        "found",
        *APART.values(),
        "better than so many shuffled",
        "drawn",
        "edges from the inputs",
    )
    return f"{table(header, rows)}\n\nFound minus others, means over seeds with standard errors: {told}."


def mean_and_error(values: Sequence[float]) -> str:
    """A mean difference with its standard error."""
    error = f" ± {standard_error(values):.3f}" if len(values) > 1 else ""
    return f"{mean(values):+.3f}{error}"


def stopped(results: Results) -> str:
    """Searches that ended with their machine: how far they were, and what their cell was worth then."""
    lines = ResultsFile(results.folder / STOPPED).lines()
    rows = [
        (
            f"`{line['job']}`",
            [
                f"`{line['command']}`",
                f"{line['stopped_after']} of {line['settings']['epochs']}",
                f"{_last_accuracy(line):.2f}",
            ],
        )
        for line in lines
    ]
    header = ("search", "epochs", "accuracy of the cell then, %")
    return table_of_measured(lines, header, rows, "") or machines(lines)


DEFAULTS = {"present": "darts", "temperature": "nasbench201", "temperature-short": "nasbench201"}
"""Sets of searches with a default or what may become one, and their spaces."""
LOOKED_AT = (5, 10, 15, 20, 30, 40)
"""Epochs before the last."""
APART = {"shuffled": "same shape, operations shuffled", "drawn": "same operations, shape drawn"}
FROM_INPUTS = "edges from the cell's inputs"
TRUTHS = {"darts": "accuracy", "nasbench201": "test_200"}
"""The number that counts of what is known, or judged, of a cell."""
STOPPED = "stopped_searches.jsonl"
COST = ("per round", "memory", "in all")
COMMAND = "python experiments/searches.py --set {} --data-dir DIR --truth FILE"


def _table(
    results: Results, name: str, header: Sequence[str], row: Callable[[SearchJob, Record], list[str]]
) -> str:
    jobs = SETS[name]
    known = [(job, results.of(job)) for job in jobs]
    rows = [(f"`{job.variant}`", None if line is None else row(job, line)) for job, line in known]
    return table_of_measured(results.measured(jobs), header, rows, COMMAND.format(name))


def _known(job: SearchJob, line: Record) -> list[str]:
    figure = BENCHMARK.get(job.variant)
    published = "—" if figure is None else f"{figure.cifar10:.2f} ({figure.source})"
    path = [e["truth"]["test_200"] for e in line["epochs"] if e["truth"] is not None]
    rank = line["epochs"][-1]["truth"]["rank"]
    return [*_named(job), f"{path[-1]:.2f}", f"{max(path):.2f}", f"{rank:,}", *_costs(line), published]


def _judged(job: SearchJob, line: Record) -> list[str]:
    truth = line["epochs"][-1]["truth"]
    judged = f"{truth['accuracy']:.2f} ± {truth['error']:.2f}"
    return [*_named(job), judged, f"{truth['percentile']:.0f} %", *_costs(line)]


def _named(job: SearchJob) -> list[str]:
    return [job.variant, str(job.options["seed"]), str(job.epochs)]


def _costs(line: Record) -> list[str]:
    memory = gib(max(e["cost"]["memory_bytes"] for e in line["epochs"]))
    return [milliseconds(line["epochs"][-1]), memory, seconds_of(line["search_seconds"])]
