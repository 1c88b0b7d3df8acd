"""A fit as its folder tells it."""

import json
import shutil
from pathlib import Path

import pytest

from xnas.errors import ConfigError
from xnas.runs.reports.fit_reader import fit_story
from xnas.runs.reports.run_files import ReadRun
from xnas.runs.reports.write import write_report, written_report

SAMPLE = Path(__file__).parents[2] / "samples" / "fit-v1"


@pytest.fixture
def folder(tmp_path):
    """A finished fit."""
    run = shutil.copytree(SAMPLE, tmp_path / "run")
    config = {"kind": "fit", "format": "xnas-run", "version": 1, "data": "digits"}
    config |= {"config": {"minutes": 2, "seed": 0}, "made_with": {"xnas": "0.1.0"}}
    (run / "config.json").write_text(json.dumps(config), encoding="utf8")
    stages = {
        "beginning": 10.0,
        "search": 20.0,
        "found": 30.0,
        "random": 30.0,
        "resnet": 10.0,
        "end": 9.0,
    }
    times = {"format": "xnas-times", "version": 1, "cost": stages}
    (run / "times.json").write_text(json.dumps(times), encoding="utf8")
    (run / "search").mkdir()
    (run / "search" / "report.html").touch()
    return run


def story(run):
    return fit_story(ReadRun.open(run))


def test_a_finished_fit_has_its_plan_its_networks_and_its_times(folder):
    found = story(folder)
    assert found.head.faults == ()
    assert (found.head.state, found.head.command) == ("finished", "xnas fit digits --minutes 2")
    assert found.minutes == 2.0
    assert found.plan.search.space == "nasbench201"
    assert found.summary.winner.name == "resnet"
    assert found.stages["search"] == 20.0
    assert found.pages == {"search": "search/report.html"}
    assert found.punctuality == ()


def test_a_fit_that_took_too_long_says_so(folder):
    times = json.loads((folder / "times.json").read_text(encoding="utf8"))
    times["cost"]["search"] = 200.0
    (folder / "times.json").write_text(json.dumps(times), encoding="utf8")
    (line,) = story(folder).punctuality
    assert "the search took 3 min instead of" in line


def test_a_stopped_fit_is_shown_as_far_as_it_came(folder):
    (folder / "fit.json").unlink()
    (folder / "times.json").unlink()
    found = story(folder)
    assert found.head.state == "stopped"
    assert (found.summary, found.stages, found.punctuality) == (None, {}, ())
    assert found.plan is not None


def test_damaged_files_are_noted_and_the_rest_is_shown(folder):
    (folder / "plan.json").write_text("{", encoding="utf8")
    (folder / "times.json").write_text('{"cost": 3}', encoding="utf8")
    found = story(folder)
    assert len(found.head.faults) == 2
    assert found.plan is None
    assert found.summary is not None


def test_the_page_of_a_fit_is_written(folder):
    page = write_report(folder)
    assert "Accuracy against size" in page.read_text(encoding="utf8")


@pytest.mark.parametrize("content", ["{", None])
@pytest.mark.parametrize("exported", [True, False])
def test_a_fit_without_its_config_still_has_its_page(folder, content, exported):
    (folder / "config.json").unlink()
    if content is not None:
        (folder / "config.json").write_text(content, encoding="utf8")
    if exported:  # such a folder looks like an export
        (folder / "model.json").write_text("{}", encoding="utf8")
    written = written_report(folder)
    assert (written.kind, written.state) == ("fit", "damaged")
    (fault,) = written.faults
    assert "config.json" in fault
    html = written.page.read_text(encoding="utf8")
    assert "Accuracy against size" in html
    assert "small ResNet" in html


def test_a_fit_whose_end_is_damaged_is_not_called_finished(folder):
    (folder / "fit.json").write_text("{}", encoding="utf8")
    found = story(folder)
    assert (found.head.state, found.head.next_command) == ("damaged", "")
    (fault,) = found.head.faults
    assert "fit.json is damaged: it is no xnas-fit" in fault


def test_a_plan_of_somebody_else_makes_no_fit_of_a_folder(tmp_path):
    (tmp_path / "plan.json").write_text('{"format": "mine"}', encoding="utf8")
    with pytest.raises(ConfigError, match="is no run folder"):
        write_report(tmp_path)
