"""Results show themselves in a notebook: cell, curves, table, and no script."""

import comparing
import fitting
import pages

from xnas.records import FitCost, FitSummary, Sampled
from xnas.runs.comparison.compare import CompareResult
from xnas.runs.fit.comparing import compare, gain_of_search
from xnas.runs.results import FitResult, SampleResult, SearchResult, TrainResult


def test_a_search_shows_its_cell_and_curves():
    result = SearchResult(
        out="runs/a",
        genotype=pages.CELL,
        epochs=tuple(pages.epochs()),
        rounds=60,
        settled_at=0,
        ledgers={},
    )
    html = result._repr_html_()
    assert html.count("<svg") == 2
    assert html.count("data:image/png") == 4
    assert "70.0 %" in html
    assert "<script" not in html


def test_a_training_shows_its_accuracies():
    result = TrainResult(
        out="runs/<b>",
        epochs=tuple(pages.trained()),
        test=pages.evaluation(),
        parameters=9000,
        macs=10**6,
    )
    html = result._repr_html_()
    assert "95.00 %" in html
    assert "runs/&lt;b&gt;" in html
    assert html.count("data:image/png") == 2


def test_a_sampling_shows_its_best_cells():
    one = Sampled(
        number=7, value=0.5, best=0.5, epochs=1, seconds=None, parameters=1_000_000, macs=2_000_000
    )
    result = SampleResult(
        out="runs/c", genotype=pages.CELL, value=0.5, evaluations=(one,), cells=(pages.CELL,)
    )
    html = result._repr_html_()
    assert "50.00 %" in html
    assert "<td>7</td>" in html
    assert html.count("<svg") == 2


def test_a_result_without_an_epoch_still_shows_itself():
    result = SearchResult(
        out="a", genotype=pages.CELL, epochs=(), rounds=0, settled_at=0, ledgers={}, undecided=(1,)
    )
    assert "1 edge" in result._repr_html_()


def test_a_comparison_shows_its_entries_and_every_seed():
    values = {"xnas": (90, 91, 92, 93), "<b>": (80, 81, 82, 83)}
    runs = [
        comparing.run(name, seed, float(value))
        for name, own in values.items()
        for seed, value in enumerate(own)
    ]
    html = CompareResult("runs/c", comparing.found(*runs, test="welch"))._repr_html_()
    assert "91.50 ± 1.29" in html
    assert "&lt;b&gt; (-10.00 points) differs from xnas" in html
    assert html.count("data:image/png") == 2
    assert "<b>" not in html
    assert "<script" not in html


def fitted(test):
    rows = (fitting.row("found", 0.8), fitting.row("resnet", 0.9))
    answers = fitting.answers(found=80, resnet=90)
    summary = FitSummary(
        rows=rows,
        missing={},
        comparison=compare(rows, answers),
        gain=gain_of_search(rows, answers),
        images=100,
        test=test,
        files=(),
        cost=FitCost(stages={}),
    )
    return FitResult(out="runs/fit-1", plan=fitting.SMALL_PLAN, summary=summary, seconds=54.0)


def test_a_fit_shows_the_best_network_and_the_others():
    html = fitted(pages.evaluation())._repr_html_()
    assert html.index("small ResNet") < html.index("found cell")
    assert "90.00 %" in html
    assert "95.00 %" in html
    assert "accuracy by the weights of the last epoch, which are exported" in html
    assert "Test accuracy" not in fitted(None)._repr_html_()
