"""Our row of Table 1, as a data file of the package: `xnas reproduce table-1` works without results/."""

from __future__ import annotations

import json
from dataclasses import asdict
from statistics import mean, stdev

from cell_tables import DEFAULT, accuracies, cell_lines
from compare_cells import JOBS, SEEDS
from jobs import ROOT, Record
from result_tables import Results
from xnas.paper.found_here import DATA_FILE, FoundHere
from xnas.space import Genotype, cell_depth

PATH = ROOT / "src" / "xnas" / "paper" / DATA_FILE
ROW = "XNAS, searched here"


def found_rows(results: Results) -> list[FoundHere]:
    """The default search of the DARTS space: all its cells with all their seeds, or nothing."""
    searched = results.measured([cell.search for cell in DEFAULT if cell.search is not None])
    trained = [line for cell in DEFAULT for line in cell_lines(results, cell)]
    if (len(searched), len(trained)) != (len(DEFAULT), len(DEFAULT) * len(SEEDS)):
        return []
    alone = [line for line in searched if line["at_once"] == 1]
    errors = [100 - mean(by_seed.values()) for by_seed in accuracies(results, DEFAULT).values()]
    depths = [cell_depth(Genotype.from_json(json.dumps(line["genotype"]))) for line in searched]
    options = next(job.options for job in JOBS if job.of in DEFAULT)
    return [
        FoundHere(
            row=ROW,
            searches=len(searched),
            search_minutes=round(mean(map(_seconds, alone or searched)) / 60, 2),
            device=" or ".join(sorted({line["device"] for line in searched})),
            seeds=len(SEEDS),
            error=round(mean(errors), 2),
            deviation=round(stdev(errors), 2),
            recipe=f"{options['recipe']}, {options['epochs']} epochs",
            network=f"cifar, {trained[0]['cells']} cells",
            channels=trained[0]["channels"],
            parameters=round(mean(line["parameters"] for line in trained)),
            macs=round(mean(line["macs"] for line in trained)),
            depth=round(mean(depths), 3),
        )
    ]


def _seconds(line: Record) -> float:
    """Of the whole search; of its epochs where a killed process left the rest unknown."""
    if line["search_seconds"] is not None:
        return float(line["search_seconds"])
    return float(sum(epoch["cost"]["seconds"] for epoch in line["epochs"]))


def data(results: Results) -> bytes:
    """The data file."""
    rows = [asdict(row) for row in found_rows(results)]
    value = {"format": "xnas-found-here", "version": 1, "rows": rows}
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
