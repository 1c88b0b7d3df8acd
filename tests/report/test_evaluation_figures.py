"""Figures of an evaluation show what the record says."""

from dataclasses import replace

import numpy as np
import pytest
from evaluations_made import evaluation

from xnas.report.evaluation_figures import draw_confusion, draw_reliability
from xnas.report.figures import save_figure


@pytest.mark.parametrize("classes", [2, 10, 100])
def test_the_confusion_figure_shows_shares_and_names_every_class(classes):
    record = evaluation(classes=classes)
    figure = draw_confusion(record)
    axes = figure.axes[0]
    (image,) = axes.images
    np.testing.assert_allclose(np.diag(image.get_array()), 0.8)
    np.testing.assert_allclose(image.get_array().sum(1), 1)
    assert [label.get_text() for label in axes.get_yticklabels()] == list(record.classes)
    numbers = [text.get_text() for text in axes.texts]
    assert numbers.count("8") == (classes if classes <= 20 else 0)
    # Names next to each other do not touch: a row is higher than its letters.
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    places = sorted((box.y0 + box.y1) / 2 for box in boxes)
    letters = axes.get_yticklabels()[0].get_fontsize() * figure.dpi / 72
    assert min(np.diff(places)) >= 0.95 * letters
    assert max(figure.get_size_inches()) <= 15


def test_names_are_no_formulas_and_long_ones_are_cut(tmp_path):
    record = replace(evaluation(), classes=("$x_$", "a" * 60, "c"))
    figure = draw_confusion(record)
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["$x_$", "a" * 21 + "…", "c"]
    save_figure(figure, tmp_path, "confusion")


def test_the_reliability_diagram_shows_filled_bins_alone():
    figure = draw_reliability(evaluation())
    above, below = figure.axes
    (points,) = [line for line in above.lines if line.get_label() == "at mean confidence"]
    assert points.get_xydata().tolist() == [[0.95, 0.8]]
    assert [bar.get_height() for bar in below.patches] == [1.0]
    assert "15.00 %" in above.get_title(loc="left")
