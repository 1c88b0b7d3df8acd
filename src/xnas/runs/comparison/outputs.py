"""The files of a comparison for readers: Markdown, CSV, LaTeX and figures."""

from __future__ import annotations

from pathlib import Path

from xnas.files import whole_file
from xnas.process.folder import storage_errors
from xnas.records import RunComparison
from xnas.report.comparison import comparison_csv, comparison_latex, comparison_markdown, runs_csv
from xnas.report.page.comparison_charts import comparison_charts
from xnas.runs.run_folder import MOVED

PAGE = "comparison.md"
"""Written last: where it is, all runs have ended."""


def write_outputs(folder: Path, found: RunComparison) -> None:
    """Write all of them anew."""
    from xnas.report.page.chart_figures import save_chart  # noqa: PLC0415 - imports matplotlib

    charts = comparison_charts(found)
    texts = {
        "comparison.csv": comparison_csv(found),
        "comparison.tex": comparison_latex(found),
        "runs.csv": runs_csv(found),
        PAGE: comparison_markdown(found, charts=[(chart.name, chart.title) for chart in charts]),
    }
    with storage_errors(folder, MOVED):
        for chart in charts:
            save_chart(chart, folder / "figures")
        for name, text in texts.items():
            with whole_file(folder / name) as file:
                file.write(text.encode())
