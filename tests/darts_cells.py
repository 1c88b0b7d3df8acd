"""Cells of the DARTS space for tests: a CSV of random cells with made-up accuracies.

The real file, 718 cells of NAS-Bench-301, is not part of the repository.
"""

import csv
import os
from pathlib import Path

import pytest

from xnas import Genotype

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data" / "nasbench301" / "cells.csv"
REAL = Path(os.environ.get("XNAS_NASBENCH301", BESIDE))
needs_the_real_cells = pytest.mark.skipif(
    not REAL.exists(),
    reason="the 718 cells of NAS-Bench-301 are neither named by XNAS_NASBENCH301 nor in ../shared",
)
HEADER = ("normal", "reduction", "valid_100", "params_m")
CELLS = 130


def word(cell):
    """A cell as the file writes it."""
    return " ".join(f"{edge.operation}:{edge.source}" for node in cell.nodes for edge in node)


def made_up(genotype):
    """An accuracy that depends on operations, more so near the inputs, and on the depth."""
    worth = {"sep": 0.5, "dil": 0.2, "ski": 0.1, "max": -0.4, "avg": -0.5}
    total = 92.0
    for weight, cell in ((1.0, genotype.normal), (0.3, genotype.reduction)):
        for edge in (edge for node in cell.nodes for edge in node):
            total += weight * worth[edge.operation[:3]] * (1.0 if edge.source < 2 else 0.6)
    return round(total, 4)


def rows(count=CELLS, start=10_000):
    """Random cells with those accuracies."""
    drawn = [Genotype.random("darts", start + seed) for seed in range(count)]
    return [[word(g.normal), word(g.reduction), made_up(g), 0.7] for g in drawn]


def write_cells(path, table, header=HEADER):
    with path.open("w", encoding="utf8", newline="") as file:
        csv.writer(file).writerows([header, *table])
    return path
