"""Rows of a comparison as text."""

import pytest
from comparing import failed, found, run

from xnas.report.comparison_rows import (
    difference_rows,
    how_tested,
    minutes_text,
    percent,
    run_line,
    run_rows,
    signed,
    summary_rows,
    verdicts,
)


def test_gains_have_columns_where_they_are_known():
    runs = [run("xnas"), run("darts", 0, 80.0), run("gaea", 0, 85.0)]
    header, _ = summary_rows(found(*runs))
    assert header == ["entry", "runs", "mean ± std", "range", "over xnas", "device min", "GiB"]
    header, rows = summary_rows(
        found(
            *runs, reference="darts", random_means={("digits", "darts"): 82.0}, random_words="20 cells"
        )
    )
    assert header[4:7] == ["over random", "over darts", "over xnas"]
    assert [row[4:7] for row in rows] == [
        ["+8.00", "+10.00", ""],
        ["-2.00", "", "-10.00"],
        ["+3.00", "+5.00", "-5.00"],
    ]


def test_a_failed_run_has_its_reason_in_place_of_a_cell():
    header, rows = run_rows(found(run("xnas"), failed("darts")))
    assert header[-1] == "cell"
    assert rows[1][2:] == ["", "", "failed: the loss is nan"]
    assert run_line(failed("darts")) == "darts, seed 0 on digits, darts: failed: the loss is nan"


def test_without_a_test_there_are_no_p_values():
    comparison = found(run("xnas"), run("darts"))
    assert "p" not in difference_rows(comparison)[0]
    assert how_tested(comparison).startswith("Nothing was tested. Intervals are Welch's at 95 %")


def test_the_intervals_are_named_by_what_they_are():
    runs = [run(name, seed, 90.0 + seed) for name in ("xnas", "darts") for seed in range(6)]
    for test in ("exact", "welch"):
        assert "for 1 test. Intervals are Welch's at 95 %" in how_tested(found(*runs, test=test))
    paired = "Intervals are Student's for the differences within seeds at 95 %"
    assert paired in how_tested(found(*runs, test="paired"))


def test_several_entries_are_judged_in_one_sentence():
    entries = {"xnas": 90.0, "gdas": 90.0, "random cells": 90.0, "darts": 50.0, "gaea": 99.0}
    runs = [run(name, seed, at + seed / 10) for name, at in entries.items() for seed in range(4)]
    (sentence,) = verdicts(found(*runs, run("enas"), test="welch"))
    assert sentence == (
        "On digits, darts: darts (-40.00 points) and gaea (+9.00 points) differ from xnas by more than "
        "noise; chance may explain how gdas and random cells differ from xnas; too few runs finished to "
        "test how enas differs from xnas."
    )


def test_a_terminal_has_the_beginning_of_a_long_reason_and_a_file_all_of_it():
    reason = "as it happened " * 30
    assert run_line(failed("darts", reason=reason)).endswith("it happened as it...")
    _, rows = run_rows(found(run("xnas"), failed("darts", reason=reason)))
    assert rows[1][-1] == f"failed: {reason}"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (percent(None), ""),
        (signed(0.125), "+0.12"),
        (minutes_text(0.1234), "0.12"),
        (minutes_text(12.34), "12.3"),
        (minutes_text(0.004), "< 0.01"),
    ],
)
def test_numbers_have_the_digits_that_matter(given, shown):
    assert given == shown
