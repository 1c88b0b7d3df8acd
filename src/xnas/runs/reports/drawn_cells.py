"""Genotypes as the plain data that pages draw."""

from __future__ import annotations

from pathlib import Path

from xnas.report.page.stories import DrawnCell
from xnas.space import SPACES, Genotype

GENOTYPE = "genotype.json"


def drawn_cell(genotype: Genotype) -> DrawnCell:
    """The cells of a genotype as edges between numbered states."""
    found = {"normal": genotype.normal, "reduction": genotype.reduction}
    cells = {kind: cell for kind, cell in found.items() if cell is not None}
    inputs = SPACES[genotype.space].inputs
    return DrawnCell(
        inputs=inputs,
        kinds={
            kind: tuple(
                (edge.source, node, edge.operation)
                for node, edges in enumerate(cell.nodes, start=inputs)
                for edge in edges
            )
            for kind, cell in cells.items()
        },
        concat={kind: tuple(cell.concat) for kind, cell in cells.items()},
    )


def saved_cell(folder: Path) -> DrawnCell | None:
    """The cell in the genotype.json of a run folder; None if there is none."""
    path = folder / GENOTYPE
    return drawn_cell(Genotype.load(path)) if path.is_file() else None
