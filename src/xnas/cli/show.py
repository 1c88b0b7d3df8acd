"""`xnas show`: a cell in the terminal and as SVG, the sizes of its networks; the published cells."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from xnas.cli.flags import JSON
from xnas.cli.printing import say, say_document
from xnas.errors import ConfigError
from xnas.words import printable


def show(
    cell: str | None = None,
    /,
    *,
    zoo: Annotated[bool, Parameter(negative="")] = False,
    svg: Path | None = None,
    truth: Path | None = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Draw a cell in the terminal, with its depth and the sizes of its networks; or list known cells.

    Parameters
    ----------
    cell
        A published cell or network by name (xnas, darts_v2, xnas_large), a genotype file (JSON), a
        string of NAS-Bench-201, or the run folder of a search. Also a wiring by name (ws-4-0.75-0:
        generator, parameters, seed) or file, or a residual network (resnet-20).
    zoo
        List all published cells instead.
    svg
        Also write the drawing to this SVG file.
    truth
        CSV of a benchmark, as for xnas search: also print the accuracy of the cell and, given the run
        folder of a search, of the cell of every epoch.
    """
    # The help of the command does without torch, which these import.
    from xnas.cli.cell_description import (  # noqa: PLC0415
        own_size_lines,
        show_genotype,
        size_lines,
        source_lines,
        trained_size_line,
        zoo_lines,
    )
    from xnas.cli.show_truth import (  # noqa: PLC0415
        require_ended,
        truth_lines,
        unfinished_lines,
        unfinished_run,
    )
    from xnas.cli.wiring_description import network_text  # noqa: PLC0415
    from xnas.paper.network_sizes import CIFAR  # noqa: PLC0415
    from xnas.runs.cells import architecture_of  # noqa: PLC0415
    from xnas.space import (  # noqa: PLC0415
        NETWORKS,
        PRESETS,
        Genotype,
        list_cells,
        zoo_cell,
    )
    from xnas.space.zoo import genotype_file, is_arch  # noqa: PLC0415

    _require_one_use(cell, zoo=zoo, svg=svg, truth=truth, as_json=as_json)
    if cell is None or as_json:
        if as_json:
            say_document("show", _record(cell, truth))
        else:
            say(zoo_lines())
        return
    unfinished = None if truth is None or svg is not None else unfinished_run(cell)
    if truth is not None and unfinished is not None:
        say(unfinished_lines(unfinished, truth))
        return
    require_ended(cell)
    published = "xnas" if cell in PRESETS else cell if cell in list_cells() else None
    genotype = architecture_of(published or cell)
    if not isinstance(genotype, Genotype):
        say(network_text(cell, genotype, svg=svg, truth=truth))
        return
    where = cell if published or is_arch(cell) else genotype_file(cell)
    judged = None if truth is None else truth_lines(cell, genotype, truth)
    say(f"{printable(where)}, search space {genotype.space}\n\n{show_genotype(genotype)}\n")
    if genotype.defaults.networks is NETWORKS:
        say(size_lines(published or genotype, CIFAR.but(channels=PRESETS.get(cell))))
        if cell not in PRESETS:
            say(trained_size_line(published or genotype))
    else:
        say(own_size_lines(genotype, genotype.space))
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


def _record(cell: str | None, truth: Path | None) -> dict[str, Any]:
    """The zoo, or what is known of a cell, as plain values."""
    from xnas.cli.cell_record import cell_record, truth_record, zoo_record  # noqa: PLC0415
    from xnas.cli.show_truth import require_ended  # noqa: PLC0415
    from xnas.paper.network_sizes import CIFAR  # noqa: PLC0415
    from xnas.runs.cells import architecture_of  # noqa: PLC0415
    from xnas.space import PRESETS, Genotype, list_cells  # noqa: PLC0415

    if cell is None:
        return zoo_record()
    require_ended(cell)
    published = "xnas" if cell in PRESETS else cell if cell in list_cells() else None
    found = architecture_of(published or cell)
    record = cell_record(cell, found, published=published, cifar=CIFAR.but(channels=PRESETS.get(cell)))
    if truth is None:
        return record
    if not isinstance(found, Genotype):
        raise ConfigError(f"--truth knows cells, and {cell} is a {found.key}; leave it out")
    return record | truth_record(cell, found, truth)


def _require_one_use(
    cell: str | None, *, zoo: bool, svg: Path | None, truth: Path | None, as_json: bool
) -> None:
    """Raise unless the arguments ask for a cell or for the zoo, and for what that can give."""
    if (cell is None) != zoo:
        given = "both" if zoo else "neither"
        raise ConfigError(f"give a cell, or --zoo to list the published ones; got {given}")
    if svg is not None and (zoo or svg.suffix.lower() != ".svg"):
        wanted = "a cell to draw" if zoo else "a name that ends in .svg"
        raise ConfigError(f"--svg draws an SVG, got {svg}; give {wanted}")
    if svg is not None and as_json:
        raise ConfigError(f"--json prints and draws nothing, got --svg {svg} with it; leave one out")
    if truth is not None and zoo:
        raise ConfigError(f"--truth is about one cell, got {truth} with --zoo; give a cell")
