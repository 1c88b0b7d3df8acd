"""How results show themselves in a notebook: facts, cell and curves, with the parts of reports.

There is no script in it, so it also shows in notebooks that are not trusted, and in exported ones.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from xnas.report.comparison_rows import verdicts
from xnas.report.fitting import WEIGHTS, fit_rows
from xnas.report.page.blocks import Block, DataTable, Fact, Facts, Picture, Pictures, Text
from xnas.report.page.cell_graphs import finished_graphs
from xnas.report.page.charts import Chart
from xnas.report.page.comparison_charts import comparison_charts
from xnas.report.page.comparison_page import comparison_facts, entries_table
from xnas.report.page.frame import render_fragment
from xnas.report.page.sample_page import sample_charts
from xnas.report.page.search_charts import progress_charts
from xnas.report.page.stories import RunHead, SampleStory, SearchStory
from xnas.report.page.train_page import train_charts
from xnas.report.sampling import best_cells, evaluations_line
from xnas.runs.reports.drawn_cells import drawn_cell
from xnas.words import counted

if TYPE_CHECKING:
    from xnas.records import RunComparison
    from xnas.runs.results import FitResult, SampleResult, SearchResult, TrainResult

DOTS = 110
"""Per inch, of curves."""
SHOWN = {"accuracy", "entropy", "alive", "loss", "progress", "pareto", "results", "evaluations"}
"""Charts that a notebook has room for."""
MOST_ROWS = 5


def search_html(result: SearchResult) -> str:
    """A search: its cell and its curves."""
    story = SearchStory(head=RunHead(path=result.out), epochs=result.epochs)
    facts = [Fact("Rounds", f"{result.rounds:,}", f"run folder {result.out}")]
    if result.epochs:
        accuracy = f"{100 * result.epochs[-1].valid_accuracy:.1f} %"
        facts.insert(0, Fact("Validation accuracy", accuracy, "of the mixture"))
    if result.undecided:
        facts.append(
            Fact("In doubt", counted(len(result.undecided), "edge"), "the lead is within noise")
        )
    cell = finished_graphs(drawn_cell(result.genotype))
    return render_fragment(Facts(tuple(facts)), cell, *_drawn(progress_charts(story)))


def train_html(result: TrainResult) -> str:
    """A training: its accuracies and its curves."""
    size = Fact("Parameters", f"{result.parameters:,}", f"{result.macs / 1e6:,.1f} M multiply-adds")
    facts = [size, Fact("Epochs", f"{len(result.epochs)}", f"run folder {result.out}")]
    if result.test is not None:
        share = f"{100 * result.test.top1:.2f} %"
        facts.insert(0, Fact("Test accuracy", share, f"on {result.test.images:,} images"))
    return render_fragment(Facts(tuple(facts)), *_drawn(train_charts(result.epochs)))


def sample_html(result: SampleResult) -> str:
    """A search by sampling: the best cell, the curves and the best few."""
    story = SampleStory(head=RunHead(path=result.out), evaluations=result.evaluations)
    value = Fact("Validation accuracy", f"{100 * result.value:.2f} %", "of the best cell")
    told = Fact("Evaluations", f"{len(result.evaluations):,}", evaluations_line(result.evaluations))
    rows = tuple(
        (str(one.number), f"{100 * (one.value or 0.0):.2f} %", f"{one.parameters:,}")
        for one in best_cells(result.evaluations, MOST_ROWS)
    )
    table = DataTable(
        caption="The best cells", header=("trial", "validation", "parameters"), rows=rows, left=()
    )
    cell = finished_graphs(drawn_cell(result.genotype))
    return render_fragment(Facts((value, told)), cell, *_drawn(sample_charts(story)), table)


def comparison_html(found: RunComparison, out: str) -> str:
    """A comparison: its entries, the results of all seeds, what is more than noise."""
    facts = (*comparison_facts(found), Fact("Folder", out))
    sentences = [Text(sentence) for sentence in verdicts(found)]
    table = entries_table(found)
    return render_fragment(Facts(facts), table, *sentences, *_drawn(comparison_charts(found)))


def fit_html(result: FitResult) -> str:
    """A fit: the best network, its test, and how the others compare."""
    best, test = result.winner, result.test_accuracy
    facts = [
        Fact("Best network", best.what, f"{best.parameters:,} parameters"),
        Fact("Validation accuracy", f"{100 * best.accuracy:.2f} %", f"run folder {result.out}"),
    ]
    if test is not None:
        facts.append(Fact("Test accuracy", f"{100 * test:.2f} %", "of the best, tested once"))
    header, *rows = fit_rows(result.rows)
    table = DataTable(
        caption=f"All networks, the best first; accuracy {WEIGHTS}",
        header=header,
        rows=tuple(rows),
        left=(0, 1),
    )
    return render_fragment(Facts(tuple(facts)), table)


def _drawn(charts: tuple[Chart, ...]) -> list[Block]:
    """The charts that matter as pictures."""
    from xnas.report.page.chart_figures import draw_chart  # noqa: PLC0415 - imports matplotlib

    pictures = []
    for chart in charts:
        if chart.name in SHOWN:
            file = io.BytesIO()
            draw_chart(chart).savefig(file, format="png", dpi=DOTS)
            pictures.append(Picture(file.getvalue(), chart.title, f"{chart.title}. {chart.caption}"))
    return [Pictures(caption="Curves", pictures=tuple(pictures))] if pictures else []
