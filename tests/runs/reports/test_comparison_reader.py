"""A comparison as its folder tells it."""

import json

import pages
import pytest
from comparing import folder

from xnas.runs.reports.comparison_reader import comparison_story
from xnas.runs.reports.run_files import ReadRun
from xnas.runs.reports.write import written_report


def story(path):
    return comparison_story(ReadRun.open(path))


def test_a_comparison_is_read_whole(tmp_path):
    path, comparison = folder(tmp_path / "c")
    pages.search_run(path / "runs/xnas-0")
    written_report(path / "runs/xnas-0")
    told = story(path)
    assert told.head.faults == ()
    assert told.comparison == comparison
    assert told.pages == {"xnas-0": ("runs/xnas-0/report.html", ""), "darts-0": ("", "")}
    assert (told.head.state, told.head.versions) == ("finished", (("xnas", "0.1.0"),))


def test_the_command_makes_it_again(tmp_path):
    data = [("digits", "digits"), ("my photos", "/data/my photos")]
    path, _ = folder(tmp_path / "c", data=data, train={"recipe": "quick", "epochs": 2}, seeds=[0, 3])
    assert story(path).head.command == (
        "xnas compare digits '/data/my photos' --methods xnas,darts --seeds 0,3 "
        "--train recipe=quick,epochs=2"
    )


@pytest.mark.parametrize(
    "settings",
    [{"entries": {"own": {"method": "xnas"}}}, {"data": [("stripes", None)]}],
)
def test_what_no_command_makes_has_none(tmp_path, settings):
    path, _ = folder(tmp_path / "c", **settings)
    assert story(path).head.command == ""


def test_a_stopped_one_says_how_to_resume(tmp_path):
    path, _ = folder(tmp_path / "c", finished=False)
    head = story(path).head
    assert (head.state, head.next_command) == ("stopped", f"xnas compare --resume {path}")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda saved: saved.pop("runs"),
        lambda saved: saved.update(runs=3),
        lambda saved: saved["runs"][0].update(accuracy="x"),
        lambda saved: saved["runs"][0].update(entry=3),
        lambda saved: saved["runs"][0].update(curve=[[1]]),
        lambda saved: saved["summaries"][0].pop("mean"),
        lambda saved: saved["differences"].append({}),
        lambda saved: saved.update(random_mean=[]),
    ],
)
def test_a_damaged_one_still_lists_its_runs(tmp_path, spoil):
    path, _ = folder(tmp_path / "c")
    pages.search_run(path / "runs/xnas-0")
    saved = json.loads((path / "comparison.json").read_text(encoding="utf8"))
    spoil(saved)
    pages.write(path / "comparison.json", saved)
    told = story(path)
    assert (told.comparison, told.head.state) == (None, "damaged")
    assert "comparison.json" in told.head.faults[0]
    assert [one.kind for one in told.listed] == ["search"]
    written = written_report(path)
    assert "xnas-0" in written.page.read_text(encoding="utf8")
    assert written.faults == told.head.faults


def test_one_of_an_earlier_version_without_a_gain_over_the_default_is_read(tmp_path):
    path, comparison = folder(tmp_path / "c")
    saved = json.loads((path / "comparison.json").read_text(encoding="utf8"))
    for one in saved["summaries"]:
        del one["over_default"]
    pages.write(path / "comparison.json", saved)
    assert story(path).comparison == comparison
