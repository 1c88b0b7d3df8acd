"""From runs to summaries and differences."""

import pytest
from comparing import failed, run

from xnas.runs.comparison.summaries import compared

BLOCK = ("digits", "darts")


def found(runs, *, test="exact", measure="true", **more):
    usual = {
        "entries": list(dict.fromkeys(one.entry for one in runs)),
        "reference": "xnas",
        "random_means": {BLOCK: 88.0},
        "random_words": "500 cells",
    }
    return compared(runs, test=test, measure=measure, **usual | more)


def entry(name, accuracies, first=0):
    return [run(name, seed, value) for seed, value in enumerate(accuracies, first)]


def test_a_summary_has_mean_spread_and_gains():
    comparison = found([*entry("xnas", [90.0, 92.0]), run("darts", 0, 91.5), failed("darts", 1)])
    xnas, darts = comparison.summaries
    assert (xnas.mean, xnas.least, xnas.most, xnas.over_random) == (91, 90, 92, 3)
    assert xnas.deviation == pytest.approx(2**0.5)
    assert (darts.runs, darts.failed, darts.deviation, darts.over_reference) == (1, 1, None, 0.5)
    assert (xnas.minutes, xnas.memory_bytes) == (1.5, 2**30)


def test_separated_entries_differ_and_p_is_corrected():
    runs = entry("xnas", [90, 91, 92, 93, 94]) + entry("darts", [80, 81, 82, 83, 84])
    comparison = found(runs + entry("gaea", [90, 91, 92, 93, 94.5]))
    darts, gaea = comparison.differences
    assert darts.p == pytest.approx(2 / 252)  # 10 choose 5
    assert darts.adjusted == pytest.approx(2 * 2 / 252)
    assert (darts.difference, darts.noise) == (-10, False)
    assert gaea.noise is True
    assert darts.low < -10 < darts.high < 0
    assert comparison.test.startswith("exact permutation test")


def test_pairs_are_made_by_seed():
    runs = entry("xnas", [90, 91, 92]) + entry("darts", [80, 81, 82], first=1)
    (darts,) = found(runs, test="paired").differences
    assert darts.runs == (2, 2)
    assert darts.difference == pytest.approx(-11)  # seeds 1 and 2 alone


def test_what_did_not_finish_is_not_compared():
    comparison = found([*entry("xnas", [90, 91]), failed("darts", 0), run("gaea", 0)])
    (gaea,) = comparison.differences
    assert (gaea.entry, gaea.p, gaea.noise) == ("gaea", None, None)
    assert (comparison.done, comparison.failed) == (3, 1)


def test_supernets_are_not_tested():
    comparison = found(entry("xnas", [90, 91]) + entry("darts", [80, 81]), measure="supernet")
    assert comparison.test is None
    assert comparison.notes[-1].startswith("supernet accuracies do not compare across methods")


def test_blocks_are_apart():
    other = [run("xnas", 0, 50.0, space="nasbench201"), run("darts", 0, 60.0, space="nasbench201")]
    comparison = found([run("xnas"), run("darts", 0, 80.0), *other])
    assert [(d.space, d.difference) for d in comparison.differences] == [
        ("darts", -10),
        ("nasbench201", 10),
    ]
    assert [s.over_random for s in comparison.summaries] == [2, -8, None, None]
