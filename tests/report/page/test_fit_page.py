"""The page of a fit."""

from dataclasses import replace

import pytest
from fitting import SMALL_PLAN, answers, row

from xnas.records import Decision, FitCost, FitSummary
from xnas.report.page.blocks import Command, DataTable, Facts, Link, Notice, Text
from xnas.report.page.fit_page import fit_page, size_chart
from xnas.report.page.frame import render
from xnas.report.page.stories import FitStory, RunHead
from xnas.runs.fit.comparing import compare, gain_of_search, lead_of_baseline

ROWS = (row("found", 0.8, parameters=5000), row("random", 0.79), row("resnet", 0.9))
ANSWERS = answers(found=80, random=79, resnet=90)
SUMMARY = FitSummary(
    rows=ROWS,
    missing={"pretrained": "no weights at hand"},
    comparison=compare(ROWS, ANSWERS),
    gain=gain_of_search(ROWS, ANSWERS),
    behind=lead_of_baseline(ROWS, ANSWERS),
    images=100,
    test=None,
    files=(),
    cost=FitCost(stages={}),
)
PLAN = replace(SMALL_PLAN, decisions=(Decision(subject="search", choice="20 epochs", reason="time"),))
STORY = FitStory(
    head=RunHead(path="run", data="photos", next_command="xnas predict run IMAGE"),
    minutes=5.0,
    plan=PLAN,
    summary=SUMMARY,
    stages={"beginning": 3.0, "search": 60.0, "found": 90.0, "end": 2.0},
    pages={"search": "search/report.html", "found": "found/report.html"},
    punctuality=("only 52% of the time was used: the machine was faster",),
)


def tables(page):
    blocks = (*page.summary, *(block for section in page.sections for block in section.blocks))
    return [block for block in blocks if isinstance(block, DataTable)]


def test_the_first_screen_has_the_winner_the_table_and_what_it_says():
    page = fit_page(STORY)
    (facts,) = [block for block in page.summary if isinstance(block, Facts)]
    values = {fact.name: fact.value for fact in facts.facts}
    assert values["Best"] == "small ResNet"
    assert values["Validation accuracy"] == "90.0 % (88.0-92.0)"
    assert values["Time"] == "2 min 35 s"
    assert next(fact.note for fact in facts.facts if fact.name == "Time") == "of 5 min"
    assert "Test accuracy" not in values
    networks = tables(page)[0]
    assert "accuracy by the weights of the last epoch, which are exported" in networks.caption
    assert "the seconds of the found cell have its search in them" in networks.caption
    assert networks.rows[0][0] == "small ResNet"
    assert networks.rows[1][0] == Link("found cell", "found/report.html")
    assert networks.strong == (0,)
    text = [block.text for block in page.summary if isinstance(block, Text)]
    assert text[0].startswith("Best by validation: the small ResNet, 10.0 points before the found cell")
    assert "A baseline wins: the small ResNet is 10.0 points better than the found cell." in text
    assert "Pretrained: no weights at hand." in text
    assert text[-1].startswith("Only 52% of the time was used")
    assert page.summary[-1] == Command("Next", "xnas predict run IMAGE")


def test_every_network_is_drawn_with_its_interval_at_its_size():
    chart = size_chart(SUMMARY)
    interval, found = chart.panels[0].series[:2]
    assert interval.name == found.name == "found cell"
    assert (interval.places, interval.shape) == ((5000.0,) * 2, "steps")
    assert interval.values == pytest.approx((78, 82))
    assert (found.places, found.shape) == ((5000.0,), "dots")
    assert found.values == pytest.approx((80,))


def test_the_plan_its_epochs_and_the_times_stand_below():
    _, plan, settled, times = tables(fit_page(STORY))
    assert plan.rows == (("search", "20 epochs", "time"),)
    assert settled.rows == (("each of both cells", "4", "2 s"), ("small ResNet", "2", "1 s"))
    assert times.rows[0] == ("reading and measuring", "0 s", "3 s")
    assert times.rows[1] == (Link("search", "search/report.html"), "2 s", "60 s")


def test_a_published_cell_has_the_planned_time_of_the_found_one():
    stages = {"published": 4.0}
    times = tables(fit_page(replace(STORY, stages=stages)))[-1]
    assert times.rows == (("published cell", "1 s", "4 s"),)


def test_a_fit_under_way_shows_what_is_known():
    head = RunHead(path="run", data="photos", state="running", faults=("plan.json is damaged",))
    page = fit_page(FitStory(head=head))
    notices = [block.text for block in page.summary if isinstance(block, Notice)]
    assert notices[0] == "plan.json is damaged"
    assert len(notices) == 2
    assert tables(page) == []
    running = fit_page(replace(STORY, head=head, summary=None, punctuality=()))
    assert [table.header[0] for table in tables(running)] == ["", "training", "stage"]


def test_the_page_can_be_written_with_its_links():
    text = render(fit_page(STORY))
    assert '<a href="found/report.html">found cell</a>' in text
    assert "Accuracy against size" in text
