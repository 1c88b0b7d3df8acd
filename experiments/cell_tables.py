"""Tables of the comparison of cells: each cell's accuracies, then kinds of cells against random ones."""

from __future__ import annotations

import json
from collections.abc import Sequence

from cell_statistics import Array, compare, told, training_noise, whole_table
from compare_cells import CELLS, FOUND, JOBS, PUBLISHED, RANDOM, SEEDS, Cell, found_genotypes
from jobs import Record
from result_tables import NOTHING, Results, machines, spread, table
from xnas.space import Genotype, cell_depth

DEFAULT = tuple(cell for cell in FOUND if cell.origin == "default")
QUESTIONS = {
    "cells of the default search": DEFAULT,
    "all cells found, of three kinds of search": FOUND,
    "published cells": PUBLISHED,
}
"""Each against the random cells; the first is what was asked, set before any cell was found."""


def cell_lines(results: Results, cell: Cell) -> list[Record]:
    """Trainings of the cell, by seed; one that trained another cell than was found is refused."""
    lines = results.measured([job for job in JOBS if job.of == cell])
    known = found_genotypes(results.lines).get(cell.name)
    for line in lines:
        given = Genotype.from_json(json.dumps(line["genotype"]))
        if cell.search is not None and given != known:
            raise SystemExit(
                f"{line['job']} trained another cell than the search {cell.name} gave; delete its line"
            )
    return lines


def accuracies(results: Results, cells: Sequence[Cell]) -> dict[str, dict[int, float]]:
    """Test accuracies in percent, by cell and seed."""
    return {
        cell.name: {r["seed"]: 100 * r["test_accuracy"] for r in cell_lines(results, cell)}
        for cell in cells
    }


def cells(results: Results) -> str:
    """A row a cell."""
    rows = [_row(cell, results) for cell in CELLS]
    header = ("cell", "origin", "seeds", "test accuracy, %", "depth", "parameters", "MACs")
    return f"{machines(results.measured(JOBS))}\n\n{table(header, rows)}"


def _row(cell: Cell, results: Results) -> list[str]:
    lines = cell_lines(results, cell)
    known = [cell.name, cell.origin, f"{len(lines)} of {len(SEEDS)}"]
    if not lines:
        waits = cell.search is not None and cell.name not in found_genotypes(results.lines)
        return [*known, f"{NOTHING}: the search comes first" if waits else NOTHING, "", "", ""]
    return [
        *known,
        spread([100 * r["test_accuracy"] for r in lines]),
        f"{cell_depth(Genotype.from_json(json.dumps(lines[0]['genotype']))):.3f}",
        f"{lines[0]['parameters'] / 1e6:.2f} M",
        f"{lines[0]['macs'] / 1e6:.0f} M",
    ]


def comparison(results: Results) -> str:
    """Each kind of cells against the random ones, and the noise of a training."""
    lines = [f"- {what}: {_answer(results, kind)}" for what, kind in QUESTIONS.items()]
    return "\n".join([*lines, "", _noise(results)])


def _answer(results: Results, kind: Sequence[Cell]) -> str:
    known = accuracies(results, [*kind, *RANDOM])
    names, seeds, all_cells = whole_table(known)
    ours, others = (_rows(names, all_cells, group) for group in (kind, RANDOM))
    counted = f"{len(ours)} of {len(kind)} against {len(others)} of {len(RANDOM)} random cells"
    if min(len(ours), len(others)) < 2 or not seeds:
        return f"{NOTHING} ({counted})."
    fewer = [name for name in names if len(known[name]) < max(map(len, known.values()))]
    if fewer:
        shown, missing = (" and ".join(map(str, given)) for given in (seeds, fewer))
        counted += f", seed {shown} alone, as {missing} {'has' if len(fewer) == 1 else 'have'} no more"
    return f"{counted}: {told(compare(ours, others), seeds)}"


def _rows(names: Sequence[str], all_cells: Array, group: Sequence[Cell]) -> Array:
    return all_cells[[names.index(cell.name) for cell in group if cell.name in names]]


def _noise(results: Results) -> str:
    known = accuracies(results, CELLS)
    most = max(map(len, known.values()))
    names, seeds, all_cells = whole_table({c: found for c, found in known.items() if len(found) == most})
    noise = training_noise(all_cells)
    if noise is None:
        return f"Noise of a training: {NOTHING}."
    return (
        f"Noise of a training, beyond what its cell and its seed give: {noise:.2f} points (standard "
        f"deviation, {len(names)} cells, {len(seeds)} seeds)."
    )
