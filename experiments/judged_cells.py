"""What the judge of the DARTS space says of published and random cells, next to an earlier judge.

    python experiments/judged_cells.py CELLS.csv

CELLS.csv is the file that `xnas.benchmarks.SurrogateBenchmark` reads. Writes `results/judged_cells.json`
and prints it as tables. The earlier judge was fitted to 1,225 cells, with other features and regressors,
before this one was written; its column shows what depends on the judge.

Cells that `compare_cells.py` has trained have a table of their own, with the mean of their trainings.
Those are shorter and of other networks than the ones that the judge stands for, so that only the order
can be compared.

Cells of the DARTS space's default (`searches.py --set present`) are taken apart: each is compared with
cells of its shape whose operations are shuffled, and with cells of its operations whose shape is drawn.

The last table asks how the judge fares with cells that are better than those it was fitted to, as a
search finds them: it is fitted again without a kind of good cells, and judges those.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import numpy as np
from scipy.stats import kendalltau  # type: ignore[import-untyped]

from compare_cells import CELLS
from jobs import ROOT, ResultsFile, script
from searches import SETS
from xnas.benchmarks import SurrogateBenchmark
from xnas.benchmarks.surrogate import read_cells
from xnas.benchmarks.taken_apart import take_apart
from xnas.space import SPACES, Genotype, zoo_cell
from xnas.space.cell_genotype import INPUTS
from xnas.space.genotype import CellGenotype, Edge
from xnas.space.zoo import find_genotype

SPACE = SPACES["darts"]
DRAWN = 2000
SEARCHES = ROOT / "results" / "searches.jsonl"
EARLIER = {
    "gaea_edarts4": 93.35,
    "asap": 93.81,
    "darts_v2": 93.84,
    "darts_v1": 93.87,
    "xnas": 93.86,
    "pdarts": 94.24,
    "gdas_v1": 94.25,
    "pc_darts_cifar": 94.31,
    "snas_moderate": 94.31,
    "pc_darts_image": None,
    "sharpsepconv_darts": None,
    "snas_mild": None,
}
"""Published cells that are of the space, with the earlier judge's estimates."""
SEARCHED = {"darts-default-0": 93.62, "darts-default-1": 93.34, "darts-default-2": 93.58}
"""Cells that searches of ours found, likewise."""
KINDS: dict[str, tuple[tuple[str, ...], float]] = {
    "any operation": (SPACE.operations, 93.10),
    "without pools": (SPACE.operations[2:], 93.7),
    "separable convolutions and skips": (SPACE.operations[2:5], 94.09),
}
"""Random cells by the operations they are drawn from, with the earlier judge's means."""
GOOD: dict[str, Callable[[Genotype], bool]] = {
    "four separable convolutions or more in the normal cell": lambda g: _count(g, "sep_") >= 4,
    "no pool in the normal cell": lambda g: _count(g, "max_", "avg_") == 0,
    "at most one pool in the normal cell": lambda g: _count(g, "max_", "avg_") <= 1,
}
"""Kinds of cells that the judge is fitted without, and then judges."""


def drawn(operations: Sequence[str], seed: int) -> Genotype:
    """A random cell of these operations."""
    draw = Random(seed)  # noqa: S311 - a comparison, not a secret

    def cell() -> CellGenotype:
        nodes = (
            tuple(Edge(draw.choice(operations), s) for s in sorted(draw.sample(range(node), 2)))
            for node in SPACE.node_numbers
        )
        return CellGenotype(tuple(nodes), SPACE.concat)

    return Genotype(SPACE.name, cell(), cell())


def published(judge: SurrogateBenchmark) -> list[dict[str, Any]]:
    """Cells of the zoo, with both judges' estimates."""
    found = []
    for name, earlier in EARLIER.items():
        now = judge.estimate(zoo_cell(name).genotype)
        found.append(
            {
                "cell": name,
                "judged": round(now.accuracy, 2),
                "error": round(now.error, 2),
                "percentile": round(now.percentile, 1),
                "earlier": earlier,
            }
        )
    return sorted(found, key=lambda row: row["judged"])


def random_cells(judge: SurrogateBenchmark) -> list[dict[str, Any]]:
    """Mean, deviation and upper end of random cells, with the earlier judge's mean."""
    found = []
    for name, (operations, earlier) in KINDS.items():
        judged = np.array(judge.accuracies([drawn(operations, seed) for seed in range(DRAWN)]))
        found.append(
            {
                "cells": name,
                "mean": round(float(judged.mean()), 2),
                "deviation": round(float(judged.std()), 2),
                "best 5 % above": round(float(np.quantile(judged, 0.95)), 2),
                "earlier mean": earlier,
            }
        )
    return found


def trained(judge: SurrogateBenchmark) -> list[dict[str, Any]]:
    """Cells that were trained here, with the mean test accuracy of their trainings in percent."""
    tests: dict[str, list[float]] = {}
    for line in ResultsFile(ROOT / "results" / "cells.jsonl").lines():
        tests.setdefault(line["cell"], []).append(100 * line["test_accuracy"])
    found = []
    for cell in CELLS:
        if measured := tests.get(cell.name):
            now = judge.estimate(find_genotype(_path(cell.given)))
            found.append(
                {
                    "cell": cell.name,
                    "judged": round(now.accuracy, 2),
                    "error": round(now.error, 2),
                    "percentile": round(now.percentile, 1),
                    "earlier": (EARLIER | SEARCHED).get(cell.name),
                    "trained": round(mean(measured), 2),
                    "trainings": len(measured),
                }
            )
    return sorted(found, key=lambda row: row["judged"])


def default(judge: SurrogateBenchmark) -> list[dict[str, Any]]:
    """Cells that the default found, taken apart."""
    known = {(line["job"], line["command"]): line for line in ResultsFile(SEARCHES).lines()}
    found = []
    for job in SETS["present"]:
        if line := known.get((job.name, job.command)):
            cell = Genotype.from_json(json.dumps(line["genotype"]))
            apart, now = take_apart(judge, cell), judge.estimate(cell)
            found.append(
                {
                    "seed": line["seed"],
                    "judged": round(apart.found, 3),
                    "error": round(now.error, 2),
                    "percentile": round(now.percentile, 1),
                    "shuffled": round(apart.shuffled, 3),
                    "drawn": round(apart.drawn, 3),
                    "better than shuffled": round(apart.better_than_shuffled, 1),
                    "better than drawn": round(apart.better_than_drawn, 1),
                    "from the inputs": sum(edge.source < INPUTS for edge in _edges(cell)),
                }
            )
    return found


def held_out(cells: Sequence[Genotype], accuracies: Sequence[float]) -> list[dict[str, Any]]:
    """Bias, error and rank correlation on kinds of good cells that the judge was fitted without."""
    found = []
    for name, good in GOOD.items():
        inside = np.array([good(cell) for cell in cells])
        fitted = [(c, a) for c, a, g in zip(cells, accuracies, inside, strict=True) if not g]
        judge = SurrogateBenchmark([c for c, _ in fitted], [a for _, a in fitted])
        others = [cell for cell, g in zip(cells, inside, strict=True) if g]
        known = np.array(accuracies)[inside]
        smooth, stepped = judge.by_regressor(others)
        judged = np.array(judge.accuracies(others))
        row: dict[str, Any] = {"left out": name, "cells": len(others)}
        for regressor, values in (("judge", judged), ("svr", smooth), ("trees", stepped)):
            row[f"{regressor}: bias"] = round(float((values - known).mean()), 3)
            row[f"{regressor}: error"] = round(float(np.sqrt(((values - known) ** 2).mean())), 3)
            row[f"{regressor}: Kendall"] = round(float(kendalltau(values, known).statistic), 3)
        found.append(row)
    return found


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as a table of Markdown."""
    lines = [list(rows[0]), ["---"] * len(rows[0])]
    lines += [["" if v is None else str(v) for v in row.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    """Fit, judge, write and print."""
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("cells", type=Path, help="CSV of cells with their accuracies")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "judged_cells.json")
    arguments = parser.parse_args()
    cells, accuracies = read_cells(arguments.cells)
    judge = SurrogateBenchmark(cells, accuracies)
    quality = judge.quality
    found = {
        "quality": [
            {
                "cells": quality.cells,
                "folds": quality.folds,
                "Kendall": round(quality.kendall, 4),
                "error": round(quality.error, 4),
            }
        ],
        "published": published(judge),
        "random": random_cells(judge),
        "trained": trained(judge),
        "default": default(judge),
        "held out": held_out(cells, accuracies),
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf8")
    print("\n\n".join(table(rows) for rows in found.values() if rows))
    return 0


def _path(given: str) -> str | Path:
    return ROOT / given if given.endswith(".json") else given


def _edges(genotype: Genotype) -> list[Edge]:
    cells = (genotype.normal, genotype.reduction)
    return [edge for cell in cells if cell for node in cell.nodes for edge in node]


def _count(genotype: Genotype, *prefixes: str) -> int:
    edges = [edge for node in genotype.normal.nodes for edge in node]
    return sum(edge.operation.startswith(prefixes) for edge in edges)


if __name__ == "__main__":
    script(main)
