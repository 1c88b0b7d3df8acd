"""What `xnas show` prints of a cell: graph, depth and sizes of its networks; the published cells."""

from __future__ import annotations

from textwrap import fill

import torch

from xnas.paper.cell_depths import mean_random_depth
from xnas.paper.network_sizes import CIFAR, IMAGENET, PIXELS, macs, parameters
from xnas.report.cells import TERMINAL_WIDTH, genotype_lines
from xnas.report.tables import aligned_table
from xnas.runs.recipes import recipe_for
from xnas.runs.train_config import TrainConfig
from xnas.space import (
    Architecture,
    Genotype,
    NetworkSpec,
    build_network,
    cell_depth,
    count_macs,
    count_parameters,
    list_cells,
    zoo_cell,
)
from xnas.space.zoo import PaperRow, ZooCell


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


def own_size_lines(architecture: Architecture, space: str | None = None) -> str:
    """Sizes of the networks of an architecture that brings its own, for the terminal.

    The only network of a space goes by the name of the space.
    """
    defaults, rows = architecture.defaults, []
    for name, spec in defaults.networks.items():
        with torch.device("meta"):
            model = build_network(architecture, spec)
        side = PIXELS.get(name, PIXELS["cifar"])
        counts = f"{count_parameters(model):,}", f"{count_macs(model, (spec.in_chans, side, side)):,}"
        shown = space if space and len(defaults.networks) == 1 else name
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
