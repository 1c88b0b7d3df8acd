"""plan.json and fit.json: read again, refused when they are damaged or of another version."""

import json
from pathlib import Path

import pytest
from fitting import SMALL_PLAN, answers, row

from xnas.errors import DamagedFileError, VersionError
from xnas.records import FitCost, FitSummary
from xnas.runs.fit.comparing import compare
from xnas.runs.fit.plan_file import plan_text, read_plan, read_summary, summary_text

SAMPLES = Path(__file__).parents[2] / "samples"
ROWS = (row("found", 0.9), row("random", 0.8))
ANSWERS = answers(found=90, random=80)
SUMMARY = FitSummary(
    rows=ROWS,
    missing={"pretrained": "no weights"},
    comparison=compare(ROWS, ANSWERS),
    gain=compare(ROWS, ANSWERS),
    images=100,
    test=None,
    files=("model.pt2",),
    cost=FitCost(stages={"search": 3.5}),
)


def test_both_files_are_read_again(tmp_path):
    (tmp_path / "plan.json").write_text(plan_text(SMALL_PLAN), encoding="utf8")
    assert read_plan(tmp_path) == SMALL_PLAN
    (tmp_path / "fit.json").write_text(summary_text(SUMMARY), encoding="utf8")
    assert read_summary(tmp_path) == SUMMARY


def test_the_times_of_a_row_stand_under_cost():
    saved = json.loads(summary_text(SUMMARY))["rows"][0]
    assert saved["cost"].keys() == {"latency", "seconds"}
    assert not {"latency", "seconds"} & (saved.keys() - {"cost"})


DAMAGES = [
    ("", r"cannot read .*plan.json"),
    ("[]", "does not hold an object"),
    ('{"format": "xnas-fit"}', r"plan.json is damaged: it is no xnas-plan"),
    ('{"format": "xnas-plan", "version": 1}', "the key 'minutes' is missing"),
]


@pytest.mark.parametrize(("text", "fault"), DAMAGES)
def test_a_damaged_plan_is_refused_with_its_fault(text, fault, tmp_path):
    (tmp_path / "plan.json").write_text(text, encoding="utf8")
    with pytest.raises(DamagedFileError, match=f"{fault}.*restore it from a copy"):
        read_plan(tmp_path)


def test_a_comparison_of_a_network_that_is_no_row_is_damage(tmp_path):
    saved = json.loads(summary_text(SUMMARY))
    saved["comparison"]["first"] = "resnet"
    (tmp_path / "fit.json").write_text(json.dumps(saved), encoding="utf8")
    with pytest.raises(DamagedFileError, match=r"there is no row 'resnet', which is compared"):
        read_summary(tmp_path)


@pytest.mark.parametrize("part", ["cells", "resnet", "search", "minutes", "decisions", "end", "settled"])
def test_every_part_of_a_plan_is_checked(part, tmp_path):
    saved = json.loads(plan_text(SMALL_PLAN)) | {part: "x"}
    (tmp_path / "plan.json").write_text(json.dumps(saved), encoding="utf8")
    with pytest.raises(DamagedFileError, match=r"plan.json is damaged"):
        read_plan(tmp_path)


def test_a_plan_of_another_version_is_refused(tmp_path):
    text = plan_text(SMALL_PLAN).replace('"version": 1', '"version": 2')
    (tmp_path / "plan.json").write_text(text, encoding="utf8")
    with pytest.raises(VersionError, match="has version 2, and this xnas reads version 1"):
        read_plan(tmp_path)


def test_the_frozen_files_of_version_1_are_read():
    plan = read_plan(SAMPLES / "fit-v1")
    assert (plan.search.space, plan.cells.published, plan.resnet.cell) == (
        "nasbench201",
        None,
        "resnet-8",
    )
    assert [one.subject for one in plan.decisions][:2] == ["validation", "search"]
    assert [one.stage for one in plan.settled] == ["cells", "resnet"]
    summary = read_summary(SAMPLES / "fit-v1")
    assert summary.winner.name == "resnet"
    assert [row.name for row in summary.rows] == ["found", "random", "resnet"]
    assert (summary.gain.first, summary.gain.second) == ("found", "random")
    assert summary.test.images == 359
