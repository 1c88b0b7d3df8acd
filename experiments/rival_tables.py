"""Tables of searches with other methods, next to what their authors and others report."""

from __future__ import annotations

from collections.abc import Sequence

from jobs import Record
from result_tables import NOTHING, Results, gib, machines, seconds_of, spread, table
from search_tables import milliseconds
from searches import SETS, SearchJob
from xnas.methods.published import BENCHMARK


def benchmark(results: Results) -> str:
    """One row per search of NAS-Bench-201, with the accuracy that is known of its cell."""
    header = ("method", "seed", "epochs", "true accuracy", "best epoch", "rank", *COST, "published")
    rows = [_known(job, results.of(job)) for job in SETS["rivals"]]
    return _table(results, "rivals", header, rows)


def darts(results: Results) -> str:
    """One row per search of the DARTS space, by the judge."""
    header = ("method", "seed", "epochs", "judged", "better than", *COST)
    rows = [_judged(job, results.of(job)) for job in SETS["rivals-darts"]]
    return _table(results, "rivals-darts", header, rows)


def defaults(results: Results) -> str:
    """The present default of the DARTS space, and NAS-Bench-201 with rewards at the best temperature."""
    rows = []
    for name, key in (("present", "accuracy"), ("temperature", "test_200")):
        lines = results.measured(SETS[name])
        ends = [line["epochs"][-1]["truth"][key] for line in lines]
        rows.append([name, f"{len(lines)} of {len(SETS[name])}", spread(ends) if ends else NOTHING])
    measured = [line for name in ("present", "temperature") for line in results.measured(SETS[name])]
    header = ("set of searches", "seeds", "accuracy of the last cell, %")
    return f"{machines(measured)}\n\n{table(header, rows)}"


COST = ("per round", "memory", "in all")


def _table(results: Results, name: str, header: Sequence[str], rows: list[list[str]]) -> str:
    return f"{machines(results.measured(SETS[name]))}\n\n{table(header, rows)}"


def _known(job: SearchJob, line: Record | None) -> list[str]:
    figure = BENCHMARK.get(job.variant)
    published = "—" if figure is None else f"{figure.cifar10:.2f} ({figure.source})"
    if line is None:
        return [*_named(job), NOTHING, "", "", *[""] * len(COST), published]
    path = [e["truth"]["test_200"] for e in line["epochs"] if e["truth"] is not None]
    rank = line["epochs"][-1]["truth"]["rank"]
    return [*_named(job), f"{path[-1]:.2f}", f"{max(path):.2f}", f"{rank:,}", *_costs(line), published]


def _judged(job: SearchJob, line: Record | None) -> list[str]:
    if line is None:
        return [*_named(job), NOTHING, "", *[""] * len(COST)]
    truth = line["epochs"][-1]["truth"]
    judged = f"{truth['accuracy']:.2f} ± {truth['error']:.2f}"
    return [*_named(job), judged, f"{truth['percentile']:.0f} %", *_costs(line)]


def _named(job: SearchJob) -> list[str]:
    return [job.variant, str(job.options["seed"]), str(job.epochs)]


def _costs(line: Record) -> list[str]:
    memory = gib(max(e["cost"]["memory_bytes"] for e in line["epochs"]))
    return [milliseconds(line["epochs"][-1]), memory, seconds_of(line["search_seconds"])]
