"""The table of searches on the DARTS space: what was found, how it came about, and at what cost."""

from __future__ import annotations

import json

from jobs import Record
from result_tables import NOTHING, Results, gib, machines, percent, seconds_of, table
from search_tables import by_kind, called, departures, milliseconds, with_results
from searches import SETS
from xnas.space import Genotype, cell_depth


def darts(results: Results) -> str:
    """What was found on the DARTS space, and at what cost."""
    jobs = SETS["darts"]
    rows = []
    for job, line in with_results(results, jobs):
        if line is None:
            rows.append([called(job), NOTHING, *[""] * 11])
            continue
        first, before, last = (line["epochs"][place] for place in (0, -2, -1))
        genotype = Genotype.from_json(json.dumps(line["genotype"]))
        rows.append(
            [
                called(job),
                _skips_of(genotype),
                f"{cell_depth(genotype):.3f}",
                by_kind(before["entropy"], "{:.3f}"),
                *departures(line),
                *(milliseconds(e) for e in (first, last)),
                *(gib(e["cost"]["memory_bytes"]) for e in (first, last)),
                _gap(_evaluated_before(line)),
                _gap(last),
                seconds_of(line["search_seconds"]),
            ]
        )
    header = (
        "search",
        "skips (normal, reduction)",
        "depth",
        "entropy before the last epoch (normal, reduction)",
        "first, half, last expert left after epoch",
        "experts before the last epoch",
        "per round, first epoch",
        "last epoch",
        "memory of the first epoch",
        "last epoch",
        "accuracy of mixture, experts, cell at epoch 40",
        "at the end",
        "in all",
    )
    return f"{machines(results.measured(jobs))}\n\n{table(header, rows)}"


def _skips_of(genotype: Genotype) -> str:
    cells = [cell for cell in (genotype.normal, genotype.reduction) if cell is not None]
    edges = [[edge.operation for node in cell.nodes for edge in node] for cell in cells]
    return ", ".join(f"{names.count('skip_connect')} of {len(names)}" for names in edges)


def _evaluated_before(line: Record) -> Record | None:
    """The last epoch but the last whose gap was measured, before most experts go."""
    found = [epoch for epoch in line["epochs"][:-1] if epoch["gap"] is not None]
    return found[-1] if found else None


def _gap(epoch: Record | None) -> str:
    if epoch is None or epoch["gap"] is None:
        return "—"
    return ", ".join(percent(epoch["gap"][name]) for name in ("mixture", "experts", "cell"))
