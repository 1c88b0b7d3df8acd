"""Records of a fit: planned stages, and what is read from files."""

from dataclasses import asdict, replace

import pytest
from fitting import SMALL_PLAN, row

from xnas.records import Comparison, FitCost, FitPlan, FitSummary, PlannedTraining

COMPARISON = Comparison(
    first="found", second="random", lead=0.1, only_first=2, only_second=1, p=1.0, clear=False
)
SUMMARY = FitSummary(
    rows=(row("found", 0.9), row("random", 0.8)),
    missing={},
    comparison=COMPARISON,
    gain=None,
    images=10,
    test=None,
    files=("a",),
    cost=FitCost(stages={"search": 2.0}),
)


def test_the_stages_are_those_that_take_time():
    assert list(SMALL_PLAN.stages()) == ["search", "found", "random", "resnet", "end"]
    without = replace(SMALL_PLAN, search=None, resnet=None)
    assert list(without.stages()) == ["found", "random", "end"]
    tuned = PlannedTraining(cell="resnet18", cells=1, channels=1, side=64, epochs=4, seconds=7.0)
    more = replace(SMALL_PLAN, pretrained=tuned)
    assert more.stages()["pretrained"] == 7.0
    assert more.seconds == pytest.approx(SMALL_PLAN.seconds + 7.0)


def test_settled_epochs_are_found_by_stage():
    assert SMALL_PLAN.settled_epochs("cells") == 4
    assert SMALL_PLAN.settled_epochs("pretrained") is None


def test_plan_and_summary_are_read_from_plain_values():
    assert FitPlan.from_json(asdict(SMALL_PLAN)) == SMALL_PLAN
    without = replace(SMALL_PLAN, resnet=None)
    assert FitPlan.from_json(asdict(without)) == without
    assert FitSummary.from_json(asdict(SUMMARY)) == SUMMARY
    gained = replace(SUMMARY, gain=COMPARISON)
    assert FitSummary.from_json(asdict(gained)) == gained
    assert gained.winner.name == "found"


@pytest.mark.parametrize(
    ("part", "fault"),
    [("rows", "rows"), ("comparison", "comparison"), ("images", "images"), ("cost", "cost")],
)
def test_a_summary_with_a_wrong_part_is_refused(part, fault):
    with pytest.raises(TypeError, match=fault):
        FitSummary.from_json(asdict(SUMMARY) | {part: [1] if part == "rows" else "x"})
    lacking = asdict(SUMMARY)
    del lacking[part]
    with pytest.raises(TypeError, match=f"the key '{part}' is missing"):
        FitSummary.from_json(lacking)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"rows": (row("found", 0.9), row("mine", 0.8))}, "'mine' is no network in 'rows'"),
        ({"rows": (row("found", 0.9),)}, "there is no row 'random', which is compared"),
        ({"missing": {"mine": "why"}}, "'mine' is no network"),
        ({"rows": (row("random", 0.9), row("resnet", 0.8))}, "there is no row 'found'"),
    ],
)
def test_networks_of_other_names_are_refused(changes, fault):
    with pytest.raises(TypeError, match=fault):
        FitSummary.from_json(asdict(replace(SUMMARY, **changes)))


def test_a_plan_with_an_unknown_training_is_refused():
    plan = replace(SMALL_PLAN, settled=(replace(SMALL_PLAN.settled[0], stage="mine"),))
    with pytest.raises(TypeError, match="'mine' is no network in 'settled'"):
        FitPlan.from_json(asdict(plan))
