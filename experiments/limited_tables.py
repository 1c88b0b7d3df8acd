"""The table of docs/results.md on searches within limits, and what its picture shows."""

from __future__ import annotations

from typing import Any

from jobs import Record, ResultsFile
from limited_searches import JOBS, RESULTS, SEEDS, SHARES, LimitedSearch, limit_of
from result_tables import NOTHING, Results, machines, table

HEADER = (
    "most parameters",
    "found: parameters",
    "true accuracy",
    "edges that the limit changed",
    "highest price",
    "choice alone: parameters",
    "true accuracy",
    "cells within the limit: mean",
    "best",
)


def limited(results: Results) -> str:
    """A row per limit, values by seed."""
    found = _found(results)
    rows = [_row(share, found) for share in SHARES]
    return f"{machines([*found.values()])}\n\n{table(HEADER, rows)}"


def _row(share: float | None, found: dict[tuple[float | None, int], Record]) -> list[str]:
    name = "no limit" if share is None else f"{limit_of(share):,}"
    lines = [found[share, seed] for seed in SEEDS if (share, seed) in found]
    if not lines:
        return [name, NOTHING, *[""] * 7]
    within = lines[0]["within"]
    alone = [cell for seed in SEEDS if (cell := _alone(share, seed, found)) is not None]
    return [
        name,
        ", ".join(f"{line['found']['parameters']:,}" for line in lines),
        ", ".join(f"{line['found']['true_accuracy']:.2f}" for line in lines),
        "" if share is None else ", ".join(str(line["changed_by_limit"]) for line in lines),
        "" if share is None else ", ".join(f"{max(line['prices']):.2f}" for line in lines),
        ", ".join(f"{cell['parameters']:,}" for cell in alone),
        ", ".join(f"{cell['true_accuracy']:.2f}" for cell in alone),
        f"{within['mean']:.2f}",
        f"{within['best']:.2f}",
    ]


def points(results: Results) -> dict[str, list[list[Any]]]:
    """Parameters and true accuracies: found with prices, by choice alone, and the best within limits."""
    found = _found(results)
    if not found:
        return {}
    alone = [
        cell
        for share, seed in ((share, seed) for share in SHARES for seed in SEEDS)
        if (cell := _alone(share, seed, found)) is not None
    ]
    within = {line["max_params"]: line["within"] for line in found.values() if line["max_params"]}
    return {
        "found": [_point(line["found"], line["seed"]) for line in found.values()],
        "alone": [_point(cell, cell["seed"]) for cell in alone],
        "best": [[limit, within[limit]["best"]] for limit in sorted(within)],
        "mean": [[limit, within[limit]["mean"]] for limit in sorted(within)],
    }


def _point(cell: Record, seed: int) -> list[Any]:
    return [cell["parameters"], cell["true_accuracy"], seed]


def _found(results: Results) -> dict[tuple[float | None, int], Record]:
    """The last line of each search, by share and seed."""
    lines = {
        (line["job"], line["command"]): line for line in ResultsFile(results.folder / RESULTS).lines()
    }
    jobs: tuple[LimitedSearch, ...] = JOBS
    wanted = {(job.share, job.seed): (job.name, job.command) for job in jobs}
    return {key: lines[job] for key, job in wanted.items() if job in lines}


def _alone(
    share: float | None, seed: int, found: dict[tuple[float | None, int], Record]
) -> Record | None:
    """What the limit alone chooses at the end of the search of this seed that knew none."""
    free = found.get((None, seed))
    chosen = [] if free is None else free["by_choice_alone"]
    return next((cell | {"seed": seed} for cell in chosen if cell["share"] == share), None)
