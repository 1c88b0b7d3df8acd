"""Results show themselves in a notebook: cell, curves, table, and no script."""

import pages

from xnas.records import Sampled
from xnas.runs.results import SampleResult, SearchResult, TrainResult


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
