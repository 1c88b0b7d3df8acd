"""The tables of a fit."""

from dataclasses import replace

from fitting import SMALL_PLAN, row

from xnas.records import Decision
from xnas.report.fitting import fit_table, plan_table


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
