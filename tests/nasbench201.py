"""NAS-Bench-201 for tests: all its cells, and a table of them with made-up accuracies.

The real table is not part of the repository; tests of its numbers run where XNAS_NASBENCH201 names it.
"""

import csv
import os
import random
from itertools import product
from pathlib import Path

import pytest

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
HEADER = (
    "index",
    "arch",
    "c10_valid_200",
    "c10_test_200",
    "c10_valid_12",
    "c10_test_12",
    "params_c10",
    "mflops_c10",
)
OTHERS = tuple(
    f"{begin}_{split}_{epochs}"
    for begin in ("c100", "in16")
    for split in ("valid", "test")
    for epochs in (12, 200)
)
"""Columns that a table may have beside them."""
REAL = os.environ.get("XNAS_NASBENCH201")

needs_the_real_table = pytest.mark.skipif(not REAL, reason="XNAS_NASBENCH201 does not name the table")

# By hand, on CIFAR-10: widths 16, 32, 64; five cells a stage. A 1x1 convolution has 5 (16² + 32² + 64²)
# weights, a 3x3 one nine times as many, and either 5 · 2 (16 + 32 + 64) in its batch norms. The rest is
# the stem (27 · 16 + 32), the reductions (9·16·32 + 9·32² + 4·32 + 16·32, and with 32 and 64), the last
# batch norm of 64 and the classifier.
REST = (432 + 32) + (4608 + 9216 + 128 + 512) + (18432 + 36864 + 256 + 2048) + 128 + 650
PARAMETERS = {"nor_conv_1x1": 5 * 5376 + 1120, "nor_conv_3x3": 45 * 5376 + 1120}


def arch(operations):
    """The string of six operations, edge by edge: 0 to 1, 0 to 2, 1 to 2, 0 to 3, 1 to 3, 2 to 3."""
    a, b, c, d, e, f = operations
    return f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|"


def all_cells():
    """The six operations of all 15,625 cells."""
    return list(product(OPERATIONS, repeat=6))


def parameters(operations):
    """What a network of the cell counts, by the sum above."""
    return REST + sum(PARAMETERS.get(name, 0) for name in operations)


def rows(seed=0):
    """A table: parameters as they are, accuracies drawn from few values, so that many cells tie."""
    draw = random.Random(seed)
    table = []
    for index, operations in enumerate(all_cells()):
        accuracies = [round(draw.uniform(10, 95), 1) for _ in range(4)]
        table.append([index, arch(operations), *accuracies, parameters(operations), 7.5])
    draw.shuffle(table)
    return table


def with_others(table, columns=OTHERS):
    """The table with accuracies on other data sets, each a part of those on CIFAR-10."""
    more = [[round(row[3] * (9 - place) / 10, 3) for place in range(len(columns))] for row in table]
    return [[*row, *added] for row, added in zip(table, more, strict=True)]


def write_table(path, table, header=HEADER):
    """A CSV like the benchmark's."""
    with Path(path).open("w", encoding="utf8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(table)
    return Path(path)
