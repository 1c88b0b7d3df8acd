"""plan.json and fit.json: read again, refused when they are damaged or of another version."""

import json
from pathlib import Path

import pytest
from fits import SMALL_PLAN, row

from xnas.errors import DamagedFileError, VersionError
from xnas.records import FitSummary
from xnas.runs.fit.comparing import compare
from xnas.runs.fit.plan_file import plan_text, read_plan, read_summary, summary_text

SAMPLES = Path(__file__).parents[2] / "samples"
ROWS = (row("found", 0.9), row("random", 0.8))
SUMMARY = FitSummary(
    rows=ROWS,
    missing={"pretrained": "no weights"},
    comparison=compare(ROWS),
    images=16,
    test=None,
    files=("model.pt2",),
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


@pytest.mark.parametrize("part", ["cells", "resnet", "search", "minutes", "decisions", "end"])
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
    assert (plan.search, plan.cells.published, plan.resnet.cell) == (None, "xnas", "resnet-8")
    assert [one.subject for one in plan.decisions][:2] == ["validation", "search"]
    summary = read_summary(SAMPLES / "fit-v1")
    assert summary.comparison.winner == "resnet"
    assert [row.name for row in summary.rows] == ["published", "random", "resnet"]
    assert summary.test.images == 359
