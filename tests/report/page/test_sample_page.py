"""The page of a search by sampling."""

from dataclasses import replace

from xnas.records import Sampled
from xnas.report.page.blocks import DataTable, Facts
from xnas.report.page.sample_page import MOST_ROWS, sample_charts, sample_page
from xnas.report.page.stories import RunHead, SampleStory


def evaluated(*values, size=True):
    best, found = None, []
    for number, value in enumerate(values):
        best = value if best is None else max(best, value or 0.0)
        found.append(
            Sampled(
                number=number,
                value=value,
                best=best,
                epochs=12,
                seconds=3.0 * number,
                parameters=1_000_000 * (number + 1) if size else 0,
                macs=2_000_000 if size else 0,
            )
        )
    return tuple(found)


def story(records, **changes):
    given = {"head": RunHead(path="run", data="cifar10"), "sampler": "evolution", "evaluator": "table"}
    given |= {"evaluations": records, "cells": tuple(f"cell {r.number}" for r in records)}
    return SampleStory(**given | {"planned": 5} | changes)


def facts(page):
    (block,) = [block for block in page.summary if isinstance(block, Facts)]
    return {fact.name: fact for fact in block.facts}


def tables(page):
    return [b for s in page.sections for b in s.blocks if isinstance(b, DataTable)]


def test_the_first_screen_names_the_best_cell():
    found = facts(sample_page(story(evaluated(0.5, None, 0.75), truth="rank 7")))
    assert found["Best validation accuracy"].value == "75.00 %"
    assert found["Evaluations"].value == "3 of 5"
    assert found["Evaluations"].note == "3 evaluations, 3 different cells, 1 failed"
    assert found["Parameters"].value == "3,000,000"
    assert found["By the benchmark"].value == "rank 7"
    assert found["Time"].value == "6 s"


def test_the_table_has_the_best_first_and_the_front_in_bold():
    (table,) = tables(sample_page(story(evaluated(0.5, 0.25, 0.75))))
    assert [row[0] for row in table.rows] == ["2", "0", "1"]
    assert table.strong == (0, 1)
    assert table.rows[0][-1] == "cell 2"


def test_of_many_cells_the_best_are_listed():
    many = sample_page(story(evaluated(*(0.001 * k for k in range(MOST_ROWS + 50)), size=False)))
    (table,) = tables(many)
    assert "more were evaluated" in table.caption
    assert table.folded


def test_charts_show_progress_and_size():
    progress, sizes = sample_charts(story(evaluated(0.5, None, 0.75)))
    assert progress.panels[0].series[1].values == (50.0, 75.0)
    assert progress.panels[0].series[1].places == (1, 3)
    assert sizes.panels[0].series[1].labels == ("trial 0", "trial 2")
    assert sizes.panels[0].series[1].marked  # a front may have one point alone


def test_tables_fronts_and_headings_are_those_of_the_highest_rung():
    budgets = (12, 12, 200, 200)
    records = tuple(
        replace(record, budget=budget)
        for record, budget in zip(evaluated(0.9, 0.8, 0.7, 0.6), budgets, strict=True)
    )
    page = sample_page(story(records))
    best = facts(page)["Best validation accuracy"]
    assert (best.value, best.note) == ("70.00 %", "trial 2, after 200 epochs")
    (table,) = tables(page)
    assert [row[0] for row in table.rows] == ["2", "3"]
    assert table.caption.startswith("The cells of 2 evaluations at the highest rung, 200 epochs, the ")
    progress, sizes = sample_charts(story(records))
    assert "the line is the best at the highest rung until then" in progress.caption
    assert len(progress.panels[0].series[0].values) == 4
    assert [series.values for series in sizes.panels[0].series] == [(70.0, 60.0), (70.0,)]
    assert sizes.caption.startswith("2 evaluations at the highest rung, 200 epochs. ")


def test_cells_that_learned_nothing_do_not_press_the_others_together():
    progress, _ = sample_charts(story(evaluated(0.1, *(0.9 + 0.001 * k for k in range(20)))))
    assert progress.least > 80


def test_without_sizes_or_values_charts_are_left_out():
    assert len(sample_charts(story(evaluated(0.5, size=False)))) == 1
    empty = sample_page(story(evaluated(None)))
    assert tables(empty) == []
    assert sample_charts(story(())) == ()
