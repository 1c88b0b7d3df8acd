"""Keeps docs/paper_to_code.md true: every item of the paper once, every name it gives real."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "paper_to_code.md"

# What arXiv:1906.08031v1 numbers, as LaTeX does: 55 equations, 13 lines of Algorithm 1, ...
NUMBERED = (
    *(f"Eq. {n}" for n in range(1, 56)),
    *(f"Algorithm 1, line {n}" for n in range(1, 14)),
    *(f"Lemma {n}" for n in range(1, 4)),
    "Theorem 1",
    "Remark 1",
    *(f"Figure {n}" for n in range(1, 10)),
    *(f"Table {n}" for n in range(1, 5)),
)
# ... and what it states or prescribes without a number.
STATED = (
    "Sec. 2.1, cells",
    "Sec. 2.1, edge strength",
    "Sec. 2.1, discretization",
    "Sec. 3.1, wipeout factors",
    "Sec. 3.1, worst cases",
    "Sec. 3.1, lower bound",
    "Sec. 3.1, multiple learning rates",
    "Sec. 3.1, policy gradient",
    "Sec. 3.2.1, relaxation",
    "Sec. 3.2.2, example rates",
    "Sec. 3.2.2, faster without momentum",
    "Sec. 3.2.2, fewer hyper-parameters",
    *(f"Sec. 4.{n}" for n in range(1, 4)),
    "Sec. 8.1",
    "Sec. 8.2",
    *(f"Sec. 8.2.{n}" for n in range(1, 5)),
    "Sec. 8.3",
    "Sec. 8.5",
    *(f"Sec. 9.{n}" for n in range(1, 4)),
    "Sec. 10",
)
ITEMS = NUMBERED + STATED


def rows(text: str) -> list[list[str]]:
    """Cells of every table row, without headers and rules; a bar inside a cell is written \\|."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [c for c in cells if c[0] != "Item" and set(c[0]) != {"-"}]


@cache
def page() -> list[list[str]]:
    return rows(PAGE.read_text("utf-8"))


def references() -> list[tuple[str, str]]:
    prose = re.findall(r"^[^|\n].*`(\S+::\S+)`", PAGE.read_text("utf-8"), re.MULTILINE)
    found = [("the introduction", reference) for reference in prose]
    for item, _, where in page():
        found += [(item, reference) for reference in re.findall(r"`([^`]+)`", where)]
    return found


@cache
def names_in(path: str) -> frozenset[str]:
    """Functions, classes, their methods and fields, and constants of a module."""
    names: set[str] = set()

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
            targets = node.targets if isinstance(node, ast.Assign) else []
            if isinstance(node, ast.AnnAssign):
                targets = [node.target]
            names.update(prefix + t.id for t in targets if isinstance(t, ast.Name))

    visit(ast.parse((ROOT / path).read_text("utf-8")).body, "")
    return frozenset(names)


def test_every_item_of_the_paper_stands_on_the_page_once() -> None:
    seen = Counter(row[0] for row in page())
    absent = [item for item in ITEMS if item not in seen]
    twice = [item for item, times in seen.items() if times > 1]
    unknown = [item for item in seen if item not in ITEMS]
    assert not absent, f"{PAGE.name} lacks {absent}; add a row that names what implements each"
    assert not twice, f"{PAGE.name} lists {twice} more than once; keep one row of each"
    assert not unknown, f"{PAGE.name} lists {unknown}, which the paper does not have; see ITEMS here"


def test_every_row_says_where() -> None:
    bare = [row[0] for row in page() if "::" not in row[-1]]
    assert not bare, f"{bare} have no `path::name` in {PAGE.name}; add one"


def test_every_name_on_the_page_exists() -> None:
    for item, reference in references():
        path, _, name = reference.partition("::")
        assert (ROOT / path).is_file(), f"{item}: no file {path}; correct the row in {PAGE.name}"
        assert name in names_in(path), f"{item}: {path} has no {name}; correct the row in {PAGE.name}"
