"""Tables of a comparison."""

import csv
import io

import pytest
from comparing import failed, found, run

from xnas.report.comparison import (
    comparison_csv,
    comparison_latex,
    comparison_markdown,
    difference_table,
    failures,
    latex_text,
    runs_csv,
    summary_table,
)
from xnas.report.comparison_rows import verdicts


@pytest.fixture
def comparison():
    values = {"xnas": (90, 91, 92, 93), "darts": (80, 81, 82, 83), "gaea": (90, 91, 92, 93.5)}
    runs = [run(name, seed, float(v)) for name, own in values.items() for seed, v in enumerate(own)]
    means = {("digits", "darts"): 88.0}
    return found(*runs, failed("gaea", 4), test="welch", random_means=means, random_words="20 cells")


def test_the_terminal_has_means_spreads_and_gains(comparison):
    lines = summary_table(comparison).splitlines()
    assert lines[0].split("  ")[0] == "entry"
    assert lines[2].split() == [
        *("darts", "4", "81.50", "±", "1.29", "80.00", "to", "83.00", "-6.50", "-10.00", "1.5", "1.00")
    ]
    assert "4 (1 failed)" in lines[3]
    assert failures(comparison) == ["gaea, seed 4 on digits, darts: failed: the loss is nan"]


def test_differences_have_intervals_and_corrected_p(comparison):
    header, darts, gaea = difference_table(comparison).splitlines()
    assert header.split() == [
        *("entry", "points", "95", "%", "interval", "g", "p", "p", "(Holm)", "more", "than", "noise")
    ]
    assert darts.endswith("yes")
    assert gaea.endswith("no")
    (sentence,) = verdicts(comparison)
    assert sentence == (
        "On digits, darts: darts (-10.00 points) differs from xnas by more than noise; chance may "
        "explain how gaea differs from xnas."
    )


def test_the_page_says_how_it_was_tested_and_lists_every_run(comparison):
    page = comparison_markdown(comparison, charts=[("accuracy", "True accuracy")])
    assert page.startswith("# Comparison of xnas, darts, gaea\n\nTrue accuracy in percent, mean ±")
    assert "12 of 13 runs finished, 1 failed." in page
    assert "Random cells (20 cells) have 88.00 % on average." in page
    assert "Test: Welch's t-test (two-sided); p is adjusted by Holm's correction for 2 tests." in page
    assert "![True accuracy](figures/accuracy.svg)" in page
    assert page.count("\n| gaea-") == 5


def test_names_cannot_add_markup():
    page = comparison_markdown(found(run("a|b<script>"), run("xnas")))
    assert "<script>" not in page
    assert "a\\|b&lt;script&gt;" in page


def test_csv_has_plain_numbers(comparison):
    rows = list(csv.DictReader(io.StringIO(comparison_csv(comparison))))
    assert [row["entry"] for row in rows] == ["xnas", "darts", "gaea"]
    assert (float(rows[1]["mean"]), float(rows[1]["over_reference"])) == (81.5, -10)
    assert rows[0]["p"] == ""
    assert float(rows[1]["p_holm"]) == pytest.approx(2 * float(rows[1]["p"]))
    runs = list(csv.DictReader(io.StringIO(runs_csv(comparison))))
    assert (runs[-1]["state"], runs[-1]["reason"], runs[-1]["accuracy"]) == (
        *("failed", "the loss is nan"),
        "",
    )


def test_latex_has_no_commands_of_names():
    text = comparison_latex(found(run("x_1 & 50%"), run("xnas")))
    assert r"x\_1 \& 50\% & 1 & 90.00" in text
    assert text.count(r"\\") == 3
    assert latex_text("<b>a|b") == r"\textless{}b\textgreater{}a\textbar{}b"
    assert latex_text("a\\b^~±") == r"a\textbackslash{}b\textasciicircum{}\textasciitilde{}$\pm$"


def test_several_data_sets_have_columns():
    comparison = found(
        run("xnas"), run("darts"), run("xnas", data="photos"), run("darts", data="photos")
    )
    assert summary_table(comparison).splitlines()[0].split()[:3] == ["entry", "data", "space"]
    assert "photos" in difference_table(comparison)
