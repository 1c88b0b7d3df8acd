"""Tables and pages of an evaluation show what the record says."""

from dataclasses import replace

import pytest
from evaluations_made import evaluation

from xnas.errors import ConfigError
from xnas.report.evaluation import class_table, evaluation_page, summary
from xnas.report.evaluation_figures import draw_confusion


def test_the_summary_has_every_number():
    told = "test error 20.00 %, loss 0.5000, calibration error 15.00 %, 30 images"
    assert summary(evaluation()) == told
    assert "test error 20.00 %, top-5 error 10.00 %, loss" in summary(evaluation(classes=6))


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
