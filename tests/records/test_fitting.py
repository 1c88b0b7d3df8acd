"""Records of a fit: planned stages, and what is read from files."""

from dataclasses import asdict, replace

import pytest
from fits import SMALL_PLAN, row

from xnas.records import Comparison, FitPlan, FitSummary, PlannedTraining

COMPARISON = Comparison(winner="found", second="random", lead=0.1, noise=0.01, clear=True)
SUMMARY = FitSummary(
    rows=(row("found", 0.9),), missing={}, comparison=COMPARISON, images=10, test=None, files=("a",)
)


def test_the_stages_are_those_that_take_time():
    assert list(SMALL_PLAN.stages()) == ["search", "found", "random", "resnet", "end"]
    without = replace(SMALL_PLAN, search=None)
    assert list(without.stages()) == ["found", "random", "resnet", "end"]
    tuned = PlannedTraining(cell="timm:x", cells=1, channels=1, epochs=4, seconds=7.0)
    more = replace(SMALL_PLAN, pretrained=tuned)
    assert more.stages()["pretrained"] == 7.0
    assert more.seconds == pytest.approx(SMALL_PLAN.seconds + 7.0)


def test_plan_and_summary_are_read_from_plain_values():
    assert FitPlan.from_json(asdict(SMALL_PLAN)) == SMALL_PLAN
    assert FitSummary.from_json(asdict(SUMMARY)) == SUMMARY


@pytest.mark.parametrize(
    ("part", "fault"),
    [("rows", "rows"), ("comparison", "comparison"), ("images", "images")],
)
def test_a_summary_with_a_wrong_part_is_refused(part, fault):
    with pytest.raises(TypeError, match=fault):
        FitSummary.from_json(asdict(SUMMARY) | {part: [1] if part == "rows" else "x"})
    lacking = asdict(SUMMARY)
    del lacking[part]
    with pytest.raises(TypeError, match=f"the key '{part}' is missing"):
        FitSummary.from_json(lacking)
