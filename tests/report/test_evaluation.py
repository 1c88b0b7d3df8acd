"""Tables and figures of an evaluation show what the record says."""

from dataclasses import replace

import numpy as np
import pytest

from xnas.errors import ConfigError
from xnas.records import CalibrationBin, Evaluation
from xnas.report.evaluation import (
    class_table,
    draw_confusion,
    draw_reliability,
    evaluation_page,
    summary,
)
from xnas.report.figures import save_figure


def evaluation(classes=3, right=8, wrong=2):
    """Every class has `right` right answers and `wrong` for the next class."""
    names = tuple(f"class {k}" for k in range(classes))
    confusion = np.eye(classes, dtype=int) * right + np.roll(np.eye(classes, dtype=int), 1, 1) * wrong
    each = right + wrong
    share = right / each
    empty = [CalibrationBin(lower=k / 15, upper=(k + 1) / 15, images=0, confidence=0.0, accuracy=0.0)
             for k in range(14)]  # fmt: skip
    last = CalibrationBin(
        lower=14 / 15, upper=1.0, images=classes * each, confidence=0.95, accuracy=share
    )
    return Evaluation(
        images=classes * each,
        classes=names,
        top1=share,
        top5=0.9 if classes > 5 else None,
        loss=0.5,
        counts=(each,) * classes,
        accuracies=(share,) * classes,
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        calibration_error=abs(0.95 - share),
        calibration=(*empty, last),
    )


def test_the_summary_has_every_number():
    told = "test error 20.00 %, top-1 80.00 %, loss 0.5000, calibration error 15.00 %, 30 images"
    assert summary(evaluation()) == told
    assert "top-1 80.00 %, top-5 90.00 %" in summary(evaluation(classes=6))


def test_the_table_has_a_line_for_each_class():
    lines = class_table(evaluation()).splitlines()
    assert lines[0].split() == ["class", "images", "accuracy", "most", "often", "taken", "for"]
    assert lines[1] == "class 0      10   80.00 %  class 1 (2)"
    assert lines[3] == "class 2      10   80.00 %  class 0 (2)"


def test_of_many_classes_the_worst_are_listed():
    shares = [0.9] * 100
    shares[7], shares[42], shares[3] = 0.1, 0.05, None
    lines = class_table(replace(evaluation(classes=100), accuracies=tuple(shares))).splitlines()
    assert lines[0] == "the 12 worst of 100 classes:"
    assert [line.split("  ")[0] for line in lines[2:4]] == ["class 42", "class 7"]
    assert len(lines) == 14


def test_a_class_without_images_and_one_without_mistakes_are_shown_as_such():
    none = replace(evaluation(wrong=0), accuracies=(None, 1.0, 1.0), counts=(0, 8, 8))
    lines = class_table(none).splitlines()
    assert lines[1].split() == ["class", "0", "0", "-"]
    assert lines[2].split() == ["class", "1", "8", "100.00", "%"]


def test_the_page_defines_the_calibration_error_and_lists_every_class():
    page = evaluation_page(
        replace(evaluation(), classes=("a|b", "c", "d")), data="pets", figures=("confusion",)
    )
    assert page.startswith("# Evaluation on pets\n\ntest error 20.00 %")
    assert "over 15 bins of confidence of equal width" in page
    assert "| a\\|b | 10 | 80.00 % | c (2) |" in page
    assert "![confusion](figures/confusion.png)" in page


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


def test_of_over_a_hundred_classes_the_page_lists_the_worst_and_no_confusions_are_drawn():
    shares = [0.9] * 101
    shares[7], shares[3] = 0.1, None
    record = replace(evaluation(classes=101), accuracies=tuple(shares))
    page = evaluation_page(record)
    assert "The 50 worst of 101 classes; all are in the JSON file. Confusions of over 100" in page
    rows = [line for line in page.splitlines() if line.startswith("| class ")][1:]
    assert len(rows) == 50
    assert rows[0].startswith("| class 7 | 10 | 10.00 % |")
    with pytest.raises(ConfigError, match="confusions of 101 classes cannot be drawn; at most 100 can"):
        draw_confusion(record)


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
