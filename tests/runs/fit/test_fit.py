"""A whole fit on generated images: its files, its order, stops and resumes, what it refuses."""

import json
import shutil
from dataclasses import replace

import pytest
import torch
from fitting import SMALL_PLAN, Watching, pictures
from safetensors.torch import load_file
from training import metrics, read

import xnas
from xnas import ConfigError, FitConfig, ImageData
from xnas.errors import DamagedFileError, DatasetError, FinishedError, VersionError
from xnas.process.interrupt import Interrupted
from xnas.runs.fit import concluding
from xnas.runs.fit import fit as module
from xnas.runs.fit.fit import fit, resume_fit
from xnas.runs.fit.plan_file import plan_text

ROWS = ("found", "random", "resnet")


def planned(_, folder):
    folder.write_text("plan.json", plan_text(SMALL_PLAN))
    return SMALL_PLAN


def quick():
    """A plan that was made before, and no export, which takes seconds."""
    patch = pytest.MonkeyPatch()
    patch.setattr(module.FitJob, "plan", planned)
    patch.setattr(concluding, "_exported", lambda *_: ())
    return patch


@pytest.fixture
def _quickly():
    patch = quick()
    yield
    patch.undo()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out, display = tmp_path_factory.mktemp("fit") / "run", Watching()
    patch = quick()
    result = fit(FitConfig(out=out, device="cpu"), pictures(), display=display)
    patch.undo()
    return out, result, display


def same_fits(one, other):
    """Everything but what depends on the machine, bit for bit."""
    assert read(one / "search" / "genotype.json") == read(other / "search" / "genotype.json")
    assert metrics(one / "search") == metrics(other / "search")
    for name in ROWS:
        assert metrics(one / name) == metrics(other / name)
    for name in (*ROWS, ""):
        a, b = (load_file(run / name / "model.safetensors") for run in (one, other))
        assert all(torch.equal(a[key], b[key]) for key in a.keys() | b.keys())
    assert read(one / "test.json") == read(other / "test.json")
    assert rows_of(one) == rows_of(other)


def rows_of(out):
    return [{k: v for k, v in row.items() if k != "cost"} for row in read(out / "fit.json")["rows"]]


def test_a_fit_leaves_a_tested_model_and_every_run(whole):
    out, result, display = whole
    assert [row.name for row in result.summary.rows] == list(ROWS)
    assert [stage for stage, _, _ in display.stages] == ["search", *ROWS, "end"]
    best = max(result.summary.rows, key=lambda row: (row.accuracy, -row.parameters))
    assert result.winner == best
    a, b = (load_file(run / "model.safetensors") for run in (out, out / best.out))
    assert all(torch.equal(a[key], b[key]) for key in a)
    assert result.test_accuracy == read(out / "test.json")["top1"]
    assert repr(result).startswith(f"FitResult(out={str(out)!r}, winner={best.name!r}, test_accuracy=")
    assert xnas.load(out, device="cpu").predict(pictures().images[:1])[0].label in {
        "vertical",
        "horizontal",
    }


def test_both_cells_are_trained_alike_and_equally_large(whole):
    out, result, _ = whole
    found, random, _ = result.summary.rows
    configs = [read(out / name / "config.json")["config"] for name in ("found", "random")]
    different = {key for key in configs[0] if configs[0][key] != configs[1][key]}
    assert different <= {"cell", "out", "channels"}
    assert abs(found.parameters - random.parameters) <= 0.1 * found.parameters
    assert read(out / "found" / "genotype.json") == read(out / "search" / "genotype.json")


def test_no_run_has_seen_validation_or_test_images(whole):
    out, _, _ = whole
    for name in ROWS:
        assert not (out / name / "test.json").exists()
        assert "test_fingerprint" not in read(out / name / "config.json")
    held = 16
    assert read(out / "fit.json")["images"] == held
    assert read(out / "test.json")["images"] == 20


@pytest.mark.usefixtures("_quickly")
@pytest.mark.parametrize("stop", [9])
def test_a_stopped_fit_resumes_to_the_same_end(stop, whole, tmp_path):
    stopped_and_resumed(stop, whole, tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("_quickly")
@pytest.mark.parametrize("stop", [1, 3, 5, 7, 17, 19, 29, 34])
def test_a_fit_that_is_stopped_anywhere_resumes_to_the_same_end(stop, whole, tmp_path):
    stopped_and_resumed(stop, whole, tmp_path)


def stopped_and_resumed(stop, whole, tmp_path):
    out = tmp_path / "run"
    with pytest.raises(Interrupted, match=r"stopped; resume with: xnas.resume_fit\('.*run', data=...\)"):
        fit(FitConfig(out=out, device="cpu"), pictures(), display=Watching(stop))
    assert not (out / "fit.json").exists()
    display = Watching()
    resume_fit(out, data=pictures(), display=display)
    assert "following the plan of" in display.lines[0]
    same_fits(out, whole[0])


def test_a_finished_fit_is_not_run_again(whole):
    with pytest.raises(FinishedError, match=r"the fit in .* is finished; its best network is in model"):
        resume_fit(whole[0], data=pictures(), quiet=True)


@pytest.fixture(scope="module")
def stopped_once(tmp_path_factory):
    patch, out = quick(), tmp_path_factory.mktemp("stopped") / "run"
    with pytest.raises(Interrupted):
        fit(FitConfig(out=out, device="cpu"), pictures(), display=Watching(1))
    patch.undo()
    return out


@pytest.fixture
def stopped(stopped_once, tmp_path):
    return shutil.copytree(stopped_once, tmp_path / "run")


@pytest.mark.usefixtures("_quickly")
def test_a_fit_that_was_stopped_before_its_plan_makes_one(stopped):
    (stopped / "plan.json").unlink()
    display = Watching(stop_after=1)
    with pytest.raises(Interrupted):
        resume_fit(stopped, data=pictures(), display=display)
    assert "was stopped before there was a plan; it is made now" in display.warnings[0]
    assert read(stopped / "plan.json")["minutes"] == 1.0


def test_other_images_are_refused(stopped):
    with pytest.raises(ConfigError, match=r"the images are not those that the fit in .* began with"):
        resume_fit(stopped, data=pictures(count=60), quiet=True)
    with pytest.raises(ConfigError, match=r"resume it with xnas.resume_fit\('.*', data=...\)"):
        resume_fit(stopped, quiet=True)
    other = replace(pictures(), test_images=pictures().test_images.flip(0))
    with pytest.raises(ConfigError, match="the test images are not those"):
        resume_fit(stopped, data=other, quiet=True)


def test_a_damaged_plan_or_one_of_another_version_is_refused(stopped):
    plan = stopped / "plan.json"
    text = plan.read_text(encoding="utf8")
    plan.write_text(text[:100], encoding="utf8")
    with pytest.raises(DamagedFileError, match=r"plan.json.*restore it from a copy"):
        resume_fit(stopped, data=pictures(), quiet=True)
    plan.write_text(json.dumps(json.loads(text) | {"version": 7}), encoding="utf8")
    with pytest.raises(VersionError, match="has version 7"):
        resume_fit(stopped, data=pictures(), quiet=True)


def test_settings_that_are_kept_are_refused_on_resume(stopped):
    with pytest.raises(ConfigError, match="a resumed run keeps its --minutes"):
        resume_fit(stopped, data=pictures(), quiet=True, minutes=5)


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf")])
def test_minutes_that_are_none_are_refused(minutes):
    with pytest.raises(ConfigError, match="--minutes must be positive and finite, got"):
        fit("digits", minutes=minutes)


def test_a_time_into_which_nothing_fits_is_refused_and_leaves_no_folder(tmp_path):
    out = tmp_path / "run"
    with pytest.raises(ConfigError, match=r"--minutes 0.001 is too short.*give --minutes"):
        fit(pictures(), minutes=0.001, out=out, device="cpu", quiet=True)
    assert not out.exists()


def test_a_class_of_too_few_images_is_refused_by_name():
    images, labels = pictures(20).images, torch.tensor([0] * 17 + [1] * 3)
    data = ImageData(name="few", images=images, labels=labels, classes=("many", "rare"))
    with pytest.raises(DatasetError, match="class 'rare' has 3 training images; a fit needs at least 5"):
        fit(data, quiet=True)


class Stops(Watching):
    """Ctrl-C while the machine is measured."""

    def say(self, line):
        if line.startswith("measuring"):
            raise KeyboardInterrupt
        super().say(line)


def test_ctrl_c_while_measuring_leaves_no_folder(tmp_path):
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        fit(pictures(), minutes=1, out=out, device="cpu", display=Stops())
    assert not out.exists()


def test_any_failure_before_the_start_leaves_no_folder(tmp_path, monkeypatch):
    def fail(_self, folder):
        (folder.path / "plan.json").touch()
        (folder.path / "pretrained.safetensors").touch()
        raise RuntimeError("out of memory")

    monkeypatch.setattr(module.FitJob, "plan", fail)
    with pytest.raises(RuntimeError):
        fit(pictures(), minutes=1, out=tmp_path / "run", device="cpu", quiet=True)
    assert not (tmp_path / "run").exists()


def test_seconds_are_those_of_all_stages_and_calls(whole):
    out, result, _ = whole
    stages = read(out / "times.json")["cost"]
    assert stages.keys() == {"beginning", "search", *ROWS, "end"}
    assert result.seconds == pytest.approx(sum(stages.values()), abs=0.5)
    found = result.summary.rows[0].cost.seconds
    assert found == pytest.approx(stages["search"] + stages["found"], abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("minutes", [1.0, 3.0])
def test_a_fit_that_searches_holds_its_budget_and_exports(minutes, tmp_path):
    """On a machine without other work, by the clock: at most 10 % late, and 70 % of the time used."""
    result = fit("digits", minutes=minutes, out=tmp_path / "run", device="cpu", quiet=True)
    assert result.plan.search is not None
    assert result.summary.rows[0].name == "found"
    assert 0.7 * 60 * minutes <= result.seconds <= 1.1 * 60 * minutes
    assert result.summary.files == ("model.onnx", "model.pt2")
    assert result.test_accuracy > 0.9
