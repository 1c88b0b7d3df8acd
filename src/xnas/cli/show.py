"""`xnas show`: a cell in the terminal and as SVG, the sizes of its networks; the published cells."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Annotated

import torch
from cyclopts import Parameter

from xnas.cli.printing import say
from xnas.cli.show_truth import truth_lines, unfinished_lines, unfinished_run
from xnas.errors import ConfigError
from xnas.paper.cell_depths import mean_random_depth
from xnas.paper.network_sizes import CIFAR, IMAGENET, PIXELS, macs, parameters
from xnas.report.cells import TERMINAL_WIDTH, genotype_lines
from xnas.report.tables import aligned_table
from xnas.runs.cells import genotype_of
from xnas.runs.recipes import recipe_for
from xnas.runs.train_config import TrainConfig
from xnas.space import (
    NETWORKS,
    PRESETS,
    SPACES,
    Genotype,
    NetworkSpec,
    build_network,
    cell_depth,
    count_macs,
    count_parameters,
    list_cells,
    zoo_cell,
)
from xnas.space.zoo import PaperRow, ZooCell, genotype_file, is_arch
from xnas.words import printable


def show(
    cell: str | None = None,
    /,
    *,
    zoo: Annotated[bool, Parameter(negative="")] = False,
    svg: Path | None = None,
    truth: Path | None = None,
) -> None:
    """Draw a cell in the terminal, with its depth and the sizes of its networks; or list known cells.

    Parameters
    ----------
    cell
        A published cell or network by name (xnas, darts_v2, xnas_large), a genotype as JSON, a string of
        NAS-Bench-201, or the run folder of a search.
    zoo
        List all published cells instead.
    svg
        Also draw the cell into this file.
    truth
        CSV of a benchmark, as for xnas search: also print the accuracy of the cell and, given the run
        folder of a search, of the cell of every epoch.
    """
    _require_one_use(cell, zoo=zoo, svg=svg, truth=truth)
    if cell is None:
        say(zoo_lines())
        return
    unfinished = None if truth is None or svg is not None else unfinished_run(cell)
    if truth is not None and unfinished is not None:
        say(unfinished_lines(unfinished, truth))
        return
    published = "xnas" if cell in PRESETS else cell if cell in list_cells() else None
    genotype = genotype_of(published or cell)
    where = cell if published or is_arch(cell) else genotype_file(cell)
    judged = None if truth is None else truth_lines(cell, genotype, truth)
    say(f"{printable(where)}, search space {genotype.space}\n\n{show_genotype(genotype)}\n")
    if SPACES[genotype.space].defaults.networks is NETWORKS:
        say(size_lines(published or genotype, CIFAR.but(channels=PRESETS.get(cell))))
        if cell not in PRESETS:
            say(trained_size_line(published or genotype))
    else:
        say(own_size_lines(genotype))
    if published:
        say(f"\n{source_lines(zoo_cell(published))}")
    if judged is not None:
        say(f"\n{judged}")
    if svg is not None:
        from xnas.report.cell_figure import (  # noqa: PLC0415 - it imports matplotlib
            draw_genotype,
            save_svg,
        )

        save_svg(draw_genotype(genotype), svg)
        say(f"drawn in {printable(svg)}")


def _require_one_use(cell: str | None, *, zoo: bool, svg: Path | None, truth: Path | None) -> None:
    """Raise unless the arguments ask for a cell or for the zoo, and for what that can give."""
    if (cell is None) != zoo:
        given = "both" if zoo else "neither"
        raise ConfigError(f"give a cell, or --zoo to list the published ones; got {given}")
    if svg is not None and (zoo or svg.suffix.lower() != ".svg"):
        wanted = "a cell to draw" if zoo else "a name that ends in .svg"
        raise ConfigError(f"--svg draws an SVG, got {svg}; give {wanted}")
    if truth is not None and zoo:
        raise ConfigError(f"--truth is about one cell, got {truth} with --zoo; give a cell")


def show_genotype(genotype: Genotype) -> str:
    """Both cells and the depth, for the terminal; or the one cell and its string."""
    if genotype.one_line is not None:
        return f"{genotype_lines(genotype)}\n\n{genotype.one_line}"
    nodes = len(genotype.normal.nodes)
    return (
        f"{genotype_lines(genotype)}\n\n"
        f"depth of the normal cell: {cell_depth(genotype):.4g}, the mean source of its edges "
        f"(XNAS {zoo_cell('xnas').depth:g}, DARTS {zoo_cell('darts_v2').depth:g}, "
        f"random {mean_random_depth(nodes):g})"
    )


def size_lines(cell: str | Genotype, cifar: NetworkSpec) -> str:
    """Sizes of the cell's networks of the paper, for CIFAR and ImageNet, for the terminal."""
    rows = [
        (*_described(spec), f"{parameters(cell, spec):,}", f"{macs(cell, spec):,}")
        for spec in (cifar, IMAGENET)
    ]
    header = (
        *("network of the paper", "channels", "cells", "stem", "squeeze-excitation"),
        *("pixels", "parameters", "MACs"),
    )
    return aligned_table(header, rows)


def trained_size_line(cell: str | Genotype) -> str:
    """The network that `xnas train` builds of the cell by default, and its size, for the terminal."""
    name = TrainConfig(cell="xnas").recipe
    recipe = recipe_for(name, "cifar10")
    spec = CIFAR.but(channels=recipe.channels, cells=recipe.cells)
    counts = f"{parameters(cell, spec):,} parameters and {macs(cell, spec):,} MACs"
    text = (
        f"xnas train builds a smaller one by default (recipe {name}): {recipe.channels} channels, "
        f"{recipe.cells} cells, {counts} for 10 classes and 32 x 32 pixels"
    )
    return fill(text, TERMINAL_WIDTH)


def own_size_lines(genotype: Genotype) -> str:
    """Sizes of the networks of a space that brings its own, for the terminal."""
    defaults, rows = SPACES[genotype.space].defaults, []
    for name, spec in defaults.networks.items():
        with torch.device("meta"):
            model = build_network(genotype, spec)
        side = PIXELS.get(name, PIXELS["cifar"])
        counts = f"{count_parameters(model):,}", f"{count_macs(model, (spec.in_chans, side, side)):,}"
        shown = genotype.space if len(defaults.networks) == 1 else name
        rows.append((shown, str(spec.channels), str(spec.cells), f"{side} x {side}", *counts))
    header = ("network", "channels", defaults.cells_unit, "pixels", "parameters", "MACs")
    return aligned_table(header, rows)


def source_lines(cell: ZooCell) -> str:
    """Where a published cell comes from and what the paper prints for it, for the terminal."""
    lines = [f"{cell.title}, from {cell.source}", cell.note, *map(_row_text, cell.paper)]
    if cell.paper_depth:
        row, depth = cell.paper_depth
        lines.append(f"Table 4, {row}: depth {depth:g}")
    return "\n".join(fill(line, TERMINAL_WIDTH, subsequent_indent="  ") for line in lines if line)


def zoo_lines() -> str:
    """All published cells, for the terminal."""
    header = ("cell", "title", "nodes", "depth", "parameters (M)", "MACs (M)", "error (%)", "source")
    cells = [zoo_cell(name) for name in list_cells()]
    table = aligned_table(header, [_zoo_entries(cell) for cell in cells], left=(0, 1, 6, 7))
    return (
        f"{table}\n\nparameters and MACs: CIFAR network, {CIFAR.channels} channels; error: on CIFAR-10, "
        "as the paper prints it"
    )


def _zoo_entries(cell: ZooCell) -> tuple[str, ...]:
    errors = [f"{row.errors['cifar10']:.2f}" for row in cell.paper if "cifar10" in row.errors]
    return (
        cell.name,
        cell.title,
        f"{len(cell.genotype.normal.nodes)}",
        f"{cell.depth:.4g}",
        f"{parameters(cell.name, CIFAR) / 1e6:.2f}",
        f"{macs(cell.name, CIFAR) / 1e6:.0f}",
        " / ".join(errors),
        cell.source.removeprefix("github.com/").split(",")[0].split(";")[0],
    )


def _described(spec: NetworkSpec) -> tuple[str, ...]:
    side = PIXELS[spec.network]
    excitation = "yes" if spec.squeeze_excitation else "no"
    sizes = (f"{spec.channels}", f"{spec.cells}", f"{spec.stem_channels}")
    return spec.network, *sizes, excitation, f"{side} x {side}"


def _row_text(row: PaperRow) -> str:
    errors = ", ".join(f"{dataset} {error:g} %" for dataset, error in row.errors.items())
    note = f" ({row.note})" if row.note else ""
    return (
        f"Table {row.table}, {row.row}: {errors}; {row.parameters:g} M parameters, "
        f"{row.search_cost:g} GPU days{note}"
    )
