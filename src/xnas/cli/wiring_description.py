"""What `xnas show` prints of a wiring: its graphs and the sizes of its networks."""

from __future__ import annotations

from pathlib import Path

from xnas.cli.cell_description import own_size_lines
from xnas.errors import ConfigError
from xnas.report.wirings import wiring_lines
from xnas.space import Architecture, Wiring
from xnas.space.zoo import genotype_file
from xnas.words import printable


def network_text(cell: str, found: Architecture, *, svg: Path | None, truth: Path | None) -> str:
    """Sizes for the terminal of a network without cells, and the graphs of a wiring."""
    if isinstance(found, Wiring):
        return wiring_text(cell, found, svg=svg, truth=truth)
    if svg is not None or truth is not None:
        raise ConfigError(f"--svg and --truth are about cells, and {cell} has none; leave them out")
    return f"{printable(found.origin)}\n\n{own_size_lines(found)}"


def wiring_text(cell: str, wiring: Wiring, *, svg: Path | None, truth: Path | None) -> str:
    """Graphs and sizes for the terminal; also draws the graphs into a file if one is given."""
    if truth is not None:
        raise ConfigError(f"--truth knows cells, and {cell} is a wiring; leave it out")
    where = cell if Wiring.is_name(cell) else genotype_file(cell)
    lines = [
        f"{printable(where)}, {wiring.origin}",
        "",
        wiring_lines(wiring),
        "",
        own_size_lines(wiring),
    ]
    if svg is not None:
        from xnas.report.cell_figure import save_svg  # noqa: PLC0415 - they import matplotlib
        from xnas.report.wiring_figure import draw_wiring  # noqa: PLC0415

        save_svg(draw_wiring(wiring), svg)
        lines.append(f"drawn in {printable(svg)}")
    return "\n".join(lines)
