"""`xnas fit`: what it prints at its end, and what it refuses."""

import json
from dataclasses import replace

import pytest
from commands import call
from fitting import SMALL_PLAN, answers, row
from runs_written import search

from xnas.cli.fit import farewell
from xnas.errors import FinishedError
from xnas.records import Evaluation, FitCost, FitSummary
from xnas.runs.fit import fit as job
from xnas.runs.fit.comparing import compare, gain_of_search, lead_of_baseline
from xnas.runs.fit.plan_file import PLAN, plan_text, summary_text
from xnas.runs.fit.plan_file import SUMMARY as END
from xnas.runs.results import FitResult

ROWS = (row("found", 0.8), row("random", 0.79), row("resnet", 0.9))
ANSWERS = answers(found=80, random=79, resnet=90)
TEST = Evaluation(
    images=20,
    classes=("a", "b"),
    top1=0.75,
    top5=None,
    loss=1.0,
    counts=(10, 10),
    accuracies=(0.7, 0.8),
    confusion=((7, 3), (2, 8)),
    calibration_error=0.1,
    calibration=(),
)
SUMMARY = FitSummary(
    rows=ROWS,
    missing={"pretrained": "no weights at hand"},
    comparison=compare(ROWS, ANSWERS),
    gain=gain_of_search(ROWS, ANSWERS),
    behind=lead_of_baseline(ROWS, ANSWERS),
    images=100,
    test=TEST,
    files=("model.onnx", "model.pt2"),
    cost=FitCost(stages={"search": 2.0}),
)
RESULT = FitResult(out="runs/fit-1", plan=SMALL_PLAN, summary=SUMMARY, seconds=54.0)


def test_the_end_has_the_table_the_verdict_the_test_and_the_next_command():
    text = farewell(RESULT)
    assert "small ResNet" in text
    assert "a baseline wins: the small ResNet is 10.0 points better than the found cell" in text
    assert "by the weights of the last epoch, which are exported" in text
    assert "the seconds of the found cell have its search in them" in text
    assert "pretrained: no weights at hand" in text
    assert "its test accuracy: 75.00 % of 20 images" in text
    assert "0.9 of 1 minutes" in text
    assert "model.onnx, model.pt2, plan.json, fit.json" in text
    assert text.endswith("next: xnas predict runs/fit-1 IMAGE")


def test_the_end_says_if_the_time_did_not_hold_and_else_nothing():
    assert "of the time" not in farewell(RESULT)
    assert "only 33% of the time was used: the machine was faster" in farewell(
        replace(RESULT, seconds=20.0)
    )
    assert "it took 50% longer than planned" in farewell(replace(RESULT, seconds=90.0))


def test_the_end_says_if_there_was_no_test():
    untested = replace(RESULT, summary=replace(SUMMARY, test=None))
    assert "there are no test images" in farewell(untested)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--minutes", "0"], "--minutes must be positive and finite, got 0"),
        (["--minutes", "nan"], "--minutes must be positive and finite, got nan"),
        (["nowhere/at-all"], "nowhere"),
        (["--resume", "nowhere"], "there is no folder nowhere"),
        (["digits", "--resume", "x"], "--resume uses the images of the run; leave digits out"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_line(arguments, fault, capsys):
    status, _, error = call(capsys, "fit", *arguments)
    assert (status, error.count("\n")) == (2, 1)
    assert fault in error


def test_the_folder_of_another_run_is_refused(tmp_path, capsys):
    search(tmp_path / "run")
    status, _, error = call(capsys, "fit", "--resume", tmp_path / "run")
    assert status == 2
    assert "holds a search, not a fit; resume it with: xnas search --resume" in error


def test_scripts_get_one_document_whatever_a_fit_prints(capsys, monkeypatch):
    def fitted(config, data, *, display):  # noqa: ARG001
        display.say("measuring the speed of this machine ...")
        return RESULT

    monkeypatch.setattr(job, "fit", fitted)
    status, out, err = call(capsys, "fit", "digits", "--json")
    told = json.loads(out)
    assert (status, told["format"], told["version"]) == (0, "xnas-fit-result", 1)
    assert list(told)[2:] == ["out", "plan", "summary", "seconds", "report"]
    assert told["summary"]["rows"][2]["accuracy"] == 0.9
    assert "measuring the speed" in err


def test_scripts_get_the_document_of_a_finished_fit_again(capsys, monkeypatch, tmp_path):
    def finished(*_, **__):
        raise FinishedError("the fit is finished")

    monkeypatch.setattr(job, "resume_fit", finished)
    (tmp_path / PLAN).write_text(plan_text(SMALL_PLAN), encoding="utf8")
    (tmp_path / END).write_text(summary_text(SUMMARY), encoding="utf8")
    status, out, err = call(capsys, "fit", "--resume", tmp_path, "--json")
    told = json.loads(out)
    assert (status, told["out"]) == (0, str(tmp_path))
    assert told["summary"]["test"]["top1"] == 0.75
    assert "the fit is finished; next: xnas predict" in err
