"""`xnas show`: a cell drawn in the terminal, and as SVG."""

from __future__ import annotations

from pathlib import Path

from xnas.errors import ConfigError, GenotypeError
from xnas.report.cell_figure import draw_genotype, save_svg
from xnas.report.cells import genotype_lines
from xnas.space import Genotype, cell_depth

GENOTYPE_FILE = "genotype.json"


def show(cell: Path, /, *, svg: Path | None = None) -> None:
    """Draw the cells of a genotype in the terminal, with their depth.

    Parameters
    ----------
    cell
        A genotype as JSON, or the run folder of a search.
    svg
        Draw the cells into this file too.
    """
    if svg is not None and svg.suffix.lower() != ".svg":
        raise ConfigError(f"--svg draws an SVG, got {svg}; give a name that ends in .svg")
    file = genotype_file(cell)
    genotype = Genotype.load(file)
    print(f"{file}, search space {genotype.space}\n\n{show_genotype(genotype)}")
    if svg is not None:
        save_svg(draw_genotype(genotype), svg)
        print(f"drawn in {svg}")


def show_genotype(genotype: Genotype) -> str:
    """Both cells and the depth, for the terminal."""
    return (
        f"{genotype_lines(genotype)}\n\n"
        f"depth of the normal cell: {cell_depth(genotype):.4g}, the mean state that its edges come from "
        "(XNAS 1.375, DARTS 0.625)"
    )


def genotype_file(cell: Path) -> Path:
    """The genotype that is meant: the file itself, or the one in a search's run folder."""
    if not cell.is_dir():
        return cell
    file = cell / GENOTYPE_FILE
    if not file.exists():
        raise GenotypeError(
            f"no {GENOTYPE_FILE} in {cell}; give a genotype, or the folder of a search that has ended"
        )
    return file
