"""Tables of searches with other methods, next to what their authors and others report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jobs import Record, ResultsFile
from result_tables import Results, gib, machines, seconds_of, spread, table_of_measured
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
    """The present default of the DARTS space, and NAS-Bench-201 with rewards at the best temperature."""
    rows: list[tuple[str, list[str] | None]] = []
    measured = []
    for name, space in (("present", "darts"), ("temperature", "nasbench201")):
        lines = results.measured(SETS[name])
        ends = [line["epochs"][-1]["truth"][TRUTHS[space]] for line in lines]
        row = [name, f"{len(lines)} of {len(SETS[name])}", spread(ends)] if ends else None
        rows.append((f"`{name}`", row))
        measured += lines
    header = ("set of searches", "seeds", "accuracy of the last cell, %")
    return table_of_measured(measured, header, rows, COMMAND.format("SET"))


def stopped(results: Results) -> str:
    """Searches that ended with their machine: how far they were, and what their cell was worth then."""
    lines = ResultsFile(results.folder / STOPPED).lines()
    rows = [
        (
            f"`{line['job']}`",
            [
                f"`{line['command']}`",
                f"{line['stopped_after']} of {line['settings']['epochs']}",
                f"{line['epochs'][-1]['truth'][TRUTHS[line['space']]]:.2f}",
            ],
        )
        for line in lines
    ]
    header = ("search", "epochs", "accuracy of the cell then, %")
    return table_of_measured(lines, header, rows, "") or machines(lines)


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
