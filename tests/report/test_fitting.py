"""The tables of a fit."""

from dataclasses import replace

from fitting import SMALL_PLAN, answers, row

from xnas.records import Decision, FitCost, FitSummary
from xnas.report.fitting import fit_table, plan_table, verdict
from xnas.runs.fit.comparing import compare, gain_of_search, lead_of_baseline


def test_the_plan_has_one_line_per_decision():
    plan = replace(SMALL_PLAN, decisions=(Decision(subject="search", choice="none", reason="few"),))
    assert plan_table(plan).splitlines() == ["        plan  because", "search  none  few"]


def test_the_best_row_stands_first_with_its_error_and_missing_ones_last():
    rows = [row("found", 0.9), row("random", 0.91, parameters=1_234_567)]
    header, first, second, last = fit_table(rows, {"pretrained": "no weights"}).splitlines()
    assert header.split() == ["network", "validation", "parameters", "MACs", "latency", "seconds"]
    assert first.split("  ")[0] == "random cell"
    assert "91.0 % (89.0-93.0)" in first
    assert "1,234,567" in first
    assert "2.0 M" in first
    assert "2.00 ms" in first
    assert second.startswith("found cell")
    assert last == "pretrained: no weights"


def said(*rows, **right):
    told = answers(**right)
    summary = FitSummary(
        rows=rows,
        missing={},
        comparison=compare(rows, told),
        gain=gain_of_search(rows, told),
        behind=lead_of_baseline(rows, told),
        images=100,
        test=None,
        files=(),
        cost=FitCost(stages={}),
    )
    return "\n".join(verdict(summary))


def test_a_clear_winner_is_named_with_its_lead():
    rows = row("found", 0.93), row("random", 0.86), row("resnet", 0.8)
    text = said(*rows, found=93, random=86, resnet=80)
    assert "best by validation: the found cell, 7.0 points before the random cell (7 images" in text
    assert "p = 0.016, McNemar's exact test" in text
    assert "the found cell against the random one: +7.0 points" in text
    assert "noise" not in text
    assert "baseline" not in text


def test_a_baseline_that_wins_and_a_lead_within_noise_are_said_plainly():
    rows = row("found", 0.90), row("random", 0.89), row("resnet", 0.91)
    text = said(*rows, found=90, random=89, resnet=91)
    assert "that is within noise: both may be equally good" in text
    lead = "a baseline comes first: the small ResNet is 1.0 points better than the found cell"
    assert f"{lead}, which is within noise" in text
    assert "+1.0 points (1 image only it answers rightly, 0 only the other; p = 1" in text
    assert "which is within noise" in text
    text = said(row("published", 0.90), row("pretrained", 0.99), published=90, pretrained=99)
    assert "a baseline wins: the pretrained model is 9.0 points better than the published cell" in text
    assert "against the random one" not in text


def test_a_baseline_that_leads_has_a_test_of_its_own_against_the_found_cell():
    rows = row("found", 0.90), row("random", 0.91, parameters=2000), row("resnet", 0.91)
    text = said(*rows, found=90, random=91, resnet=91)
    assert "the small ResNet, as accurate as the random cell (0 images" in text
    lead = "a baseline comes first: the small ResNet is 1.0 points better than the found cell"
    test = "1 image only it answers rightly, 0 only the other; p = 1, McNemar's exact test"
    assert f"{lead} ({test}), which is within noise" in text
    text = said(row("found", 0.9, parameters=2000), row("random", 0.9), found=90, random=90)
    assert "a baseline comes first: the random cell is as accurate as the found cell, which" in text


def test_equal_accuracies_are_called_so():
    text = said(row("found", 0.9), row("random", 0.9, parameters=2000), found=90, random=90)
    assert "best by validation: the found cell, as accurate as the random cell (0 images" in text
