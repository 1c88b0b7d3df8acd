"""The figures of a run as files for papers: SVG, PNG and PDF of everything that its page draws."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from reprlib import repr as brief

from xnas.errors import ConfigError
from xnas.process.folder import run_path, storage_errors
from xnas.report.page.blocks import Page
from xnas.report.page.charts import Chart
from xnas.runs.reports.drawn_cells import GENOTYPE
from xnas.runs.reports.run_files import ReadRun
from xnas.runs.reports.write import page_of_run
from xnas.space import Genotype


def write_figures(run: Path | str, folder: Path | str) -> tuple[Path, ...]:
    """Write the charts of a run, and its cell, into a folder that may exist; return all paths.

    All have one style, with colours that people with colour-blindness tell apart. The same run gives
    the same bytes again.

    >>> write_figures("nowhere", "figures")
    Traceback (most recent call last):
    xnas.errors.ConfigError: the folder nowhere is not there; give the folder of a run
    """
    found, out = ReadRun.open(run_path(run)), _figure_folder(folder)
    charts = charts_of(page_of_run(found))
    from xnas.report.page.chart_figures import save_chart  # noqa: PLC0415 - imports matplotlib

    with storage_errors(out, "choose another folder for the figures"):
        out.mkdir(parents=True, exist_ok=True)
        written = [path for chart in charts for path in save_chart(chart, out)]
        return (*written, *found.attempt(GENOTYPE, lambda: _cell(found, out), ()))


def _figure_folder(given: object) -> Path:
    """The folder for figures; raises for one that cannot be, before anything is drawn."""
    if not isinstance(given, str | PathLike) or not str(given):
        raise ConfigError(f"figures go into a folder, got {brief(given)}; give one, such as figures")
    out = Path(given)
    file = next((path for path in (out, *out.parents) if path.is_file()), None)
    if file is not None:
        raise ConfigError(f"figures go into a folder, and {file} is a file; choose another folder")
    return out


def charts_of(page: Page) -> list[Chart]:
    """All charts of a page, in their order."""
    blocks = [*page.summary, *(block for section in page.sections for block in section.blocks)]
    return [block for block in blocks if isinstance(block, Chart)]


def _cell(run: ReadRun, out: Path) -> tuple[Path, ...]:
    """The cell of the run, like the paper's Figure 9."""
    if not run.files.has(GENOTYPE):
        return ()
    from xnas.report.cell_figure import draw_genotype  # noqa: PLC0415 - imports matplotlib
    from xnas.report.figures import save_figure  # noqa: PLC0415
    from xnas.report.page.chart_figures import save_pdf  # noqa: PLC0415

    figure = draw_genotype(Genotype.load(run.path / GENOTYPE))
    svg, png = save_figure(figure, out, "cell")
    return svg, png, save_pdf(figure, out / "cell.pdf")
