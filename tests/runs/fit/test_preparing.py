"""The plan of a fit from its images: what is asked for, in which order, and what is left out."""

from dataclasses import replace

import pytest
from fitting import SMALL_PLAN, SPEEDS, Watching, pictures, searching_speed

from xnas import ConfigError, FitConfig
from xnas.records import Decision
from xnas.runs.fit import preparing
from xnas.runs.fit.limiting import FitLimits
from xnas.runs.fit.parts import FitData, facts_of
from xnas.runs.fit.preparing import allowed_sides, missing_rows, prepared_plan


class Model:
    """A pretrained model whose images may have two sizes."""

    name = "resnet18"

    def sides(self, size):
        assert size == (8, 8)
        return (64, 224)

    def architecture(self, side):
        return side


def made(monkeypatch, *, speeds=SPEEDS, model=None, minutes=3.0, count=2000, beyond=(), **settings):
    """A plan with made-up speeds; `beyond` are sides with which the model does not obey."""
    config = FitConfig(device="cpu", minutes=minutes, **settings)
    data, asked = FitData(pictures(count), config, 0.2), []

    class Measured:
        def __init__(self, _config, _data, _facts, **others):
            asked.append(others)

        def speeds(self):
            return speeds

        def without_search(self, given):
            asked.append("without search")
            return replace(given, search=())

    monkeypatch.setattr(preparing, "Measuring", Measured)
    monkeypatch.setattr(preparing, "find_pretrained", lambda *_: (model, "" if model else "no weights"))
    fault = lambda _, side: f"{side} is too much" if side in beyond else None  # noqa: E731
    monkeypatch.setattr(FitLimits, "fault", fault)
    monkeypatch.setattr(preparing.time, "perf_counter", lambda: 12.0)
    display = Watching()
    plan, found = prepared_plan(config, data, facts_of(data.images), display, 10.0)
    return plan, found, asked, display


def test_the_plan_has_the_time_that_was_spent_and_the_reason_of_what_is_missing(monkeypatch):
    plan, model, asked, display = made(monkeypatch)
    assert (plan.spent, model) == (2.0, None)
    assert asked == [{"seconds": 180.0, "pretrained": None, "sides": []}]
    assert display.lines == ["measuring the speed of this machine ..."]
    assert missing_rows(plan) == {"pretrained": "no weights"}


def test_a_plan_without_time_for_a_search_is_made_anew_with_the_published_cell(monkeypatch):
    slow = replace(SPEEDS, search=(searching_speed(round=5.0),))
    plan, _, asked, _ = made(monkeypatch, speeds=slow)
    assert asked[1:] == ["without search"]
    assert (plan.search, plan.cells.published) == (None, "xnas")


def test_a_pretrained_model_gets_the_sides_that_obey(monkeypatch):
    _, model, asked, _ = made(monkeypatch, model=Model(), beyond=(224,))
    assert (asked[0]["pretrained"], asked[0]["sides"]) == (model, [64])


def test_a_pretrained_model_beyond_the_limits_is_left_out_with_the_reason(monkeypatch):
    plan, model, asked, _ = made(monkeypatch, model=Model(), beyond=(64, 224))
    assert (model, asked[0]["pretrained"]) == (None, None)
    assert missing_rows(plan)["pretrained"] == "resnet18 is not within the limits: 64 is too much"


def test_without_a_model_there_are_no_sides():
    assert allowed_sides(None, None) == ([], "")


def test_limits_are_written_into_the_plan(monkeypatch):
    plan, *_ = made(monkeypatch, max_params=1000.0)
    assert any(one.choice == "--max-params 1000" for one in plan.decisions)


def test_a_wrong_model_is_refused_before_anything_is_measured():
    config = FitConfig(device="cpu", pretrained="no_such_model")
    data, display = FitData(pictures(), config, 0.2), Watching()
    with pytest.raises(ConfigError, match="--pretrained"):
        prepared_plan(config, data, facts_of(data.images), display, 0.0)
    assert display.lines == []


def test_rows_that_are_planned_are_not_missing():
    reasons = (Decision(subject="small ResNet", choice="none", reason="none obeys the limits"),)
    assert missing_rows(SMALL_PLAN) == {"pretrained": ""}
    without = replace(SMALL_PLAN, resnet=None, decisions=reasons)
    assert missing_rows(without)["resnet"] == "none obeys the limits"
