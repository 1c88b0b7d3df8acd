"""The files of a comparison for readers: Markdown, CSV, LaTeX and figures."""

from __future__ import annotations

from pathlib import Path

from xnas.files import whole_file
from xnas.process.folder import storage_errors
from xnas.records import RunComparison
from xnas.report.comparison import comparison_csv, comparison_latex, comparison_page, runs_csv
from xnas.runs.run_folder import MOVED

FIGURE = "accuracy"
PAGE = "comparison.md"
"""Written last: where it is, all runs have ended."""


def write_outputs(folder: Path, found: RunComparison) -> None:
    """Write all of them anew."""
    from xnas.report.comparison_figures import draw_comparison  # noqa: PLC0415 - imports matplotlib
    from xnas.report.figures import save_figure  # noqa: PLC0415

    drawn = any(run.accuracy is not None for run in found.runs)
    figures = (FIGURE,) if drawn else ()
    texts = {
        "comparison.csv": comparison_csv(found),
        "comparison.tex": comparison_latex(found),
        "runs.csv": runs_csv(found),
        PAGE: comparison_page(found, figures=figures),
    }
    with storage_errors(folder, MOVED):
        if drawn:
            save_figure(draw_comparison(found), folder / "figures", FIGURE)
        for name, text in texts.items():
            with whole_file(folder / name) as file:
                file.write(text.encode())
