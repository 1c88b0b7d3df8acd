"""Cells evaluated by short trainings, each in a folder that resumes by itself."""

import json
import pickle
from contextlib import nullcontext
from dataclasses import replace
from threading import Thread

import pytest
import torch
from training import pictures, same_runs

from xnas import Genotype, SampleConfig, resume_sampling, sample
from xnas.errors import DamagedFileError
from xnas.runs.lock import locked
from xnas.runs.sampling import sample_job, training_evaluator
from xnas.runs.sampling.evaluators import EVALUATORS, evaluate_trial, trial_folder
from xnas.runs.sampling.ledger_values import require_possible
from xnas.runs.sampling.trial_ledger import Event
from xnas.runs.train import TrainJob
from xnas.samplers import Trial
from xnas.space import count_parameters, create_model

CELL = Genotype.random("darts", 3)
TINY = {"cells": 3, "channels": 2, "batch_size": 8, "device": "cpu"}


def build(images=None, **options):
    config = SampleConfig(**TINY | {"epochs": 2, "validation": 0.3} | options)
    return EVALUATORS["train"].build(config, images or pictures())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    trials = tmp_path_factory.mktemp("trials")
    evaluator = build()
    return trials, evaluate_trial(evaluator, Trial(number=0, genotype=CELL), trial_folder(trials, 0))


def test_a_cell_is_worth_the_validation_accuracy_of_its_last_epoch(whole):
    trials, result = whole
    lines = (trials / "00000" / "metrics.jsonl").read_text(encoding="utf8").splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2]
    assert (result.value, result.at) == (json.loads(lines[-1])["valid_accuracy"], 2)
    saved = json.loads((trials / "00000" / "config.json").read_text(encoding="utf8"))["config"]
    assert (saved["seed"], saved["validation"], saved["channels"]) == (0, 0.3, 2)
    model = create_model(trials / "00000", num_classes=2, in_chans=1, cells=3, channels=2)
    assert result.cost["parameters"] == count_parameters(model)


def test_options_that_choose_a_network_by_its_size_are_limits_of_cells_here():
    evaluator = build(validation=None, max_params=1000, channels=None, epochs=None)
    assert (evaluator.options.max_params, evaluator.options.validation) == (None, 0.1)
    assert build(max_params=1000, max_macs=1e6, channels=2).options.channels == 2
    assert evaluator.line == (
        "evaluated by training: recipe quick, the epochs of the recipe, validated on 10% of the "
        "training images"
    )
    assert build(recipe="nasbench301", validation=None).options.validation == 0.2  # the recipe's own
    assert evaluator.device == "cpu"


def test_a_finished_folder_is_read_and_a_begun_one_resumed_bit_for_bit(whole, tmp_path, monkeypatch):
    trials, result = whole
    evaluator = pickle.loads(pickle.dumps(build()))  # noqa: S301 - as a pool sends it
    trial = Trial(number=0, genotype=CELL)
    folder = trial_folder(tmp_path, 0)
    rung = evaluate_trial(evaluator, replace(trial, budget=1), folder)
    assert rung.at == 1
    monkeypatch.setattr(TrainJob, "begin_epoch", refuse_epoch(1))
    again = evaluate_trial(evaluator, trial, folder)
    assert (again.value, again.at) == (result.value, 2)
    same_runs(trials / "00000", folder)
    monkeypatch.setattr(TrainJob, "begin_epoch", refuse_epoch(2))
    assert evaluate_trial(evaluator, trial, folder).value == result.value
    (folder / "metrics.jsonl").write_text("", encoding="utf8")
    with pytest.raises(DamagedFileError, match=r"metrics\.jsonl has no epoch, .* train the cell again"):
        evaluator.evaluate(trial, folder)


def refuse_epoch(number):
    real = TrainJob.begin_epoch

    def begin_epoch(self):
        assert self.position().epoch >= number, "an epoch is trained again"
        real(self)

    return begin_epoch


def test_a_higher_rung_resumes_the_training_of_the_lower_one(whole, tmp_path, monkeypatch):
    trials, result = whole
    evaluator = build()
    evaluate_trial(evaluator, Trial(number=4, genotype=CELL, budget=1), trial_folder(tmp_path, 4))
    other = Trial(number=5, genotype=Genotype.random("darts", 1), budget=1, parent=4)
    evaluate_trial(evaluator, other, trial_folder(tmp_path, 5))  # a child, not a rung: it begins
    monkeypatch.setattr(TrainJob, "begin_epoch", refuse_epoch(1))
    rung = Trial(number=6, genotype=CELL, budget=2, parent=4)
    assert evaluate_trial(evaluator, rung, trial_folder(tmp_path, 6)).value == result.value
    same_runs(trials / "00000", trial_folder(tmp_path, 6))


def test_of_two_processes_on_one_folder_one_waits_and_there_is_one_result(whole, tmp_path, monkeypatch):
    _, result = whole
    monkeypatch.setattr(training_evaluator, "PATIENCE", 0.01)
    found = []
    trial, folder = Trial(number=0, genotype=CELL), trial_folder(tmp_path, 0)
    waiting = Thread(target=lambda: found.append(evaluate_trial(build(), trial, folder)))
    with locked(tmp_path / "00000.lock", nullcontext):  # as another process would
        waiting.start()
        waiting.join(timeout=0.3)
        assert not found
        assert not folder.exists()
    waiting.join()
    assert found[0].value == result.value
    resumed = Thread(target=lambda: found.append(evaluate_trial(build(), trial, folder)))
    with locked(folder, nullcontext):  # somebody resumes it by hand
        resumed.start()
        resumed.join(timeout=0.3)
        assert len(found) == 1
    resumed.join()
    assert found[1].value == result.value


def test_a_training_that_comes_apart_is_a_failed_trial_with_its_line(tmp_path):
    evaluator = build(learning_rate=1e20, gradient_clip=0.0)
    results = [
        evaluate_trial(evaluator, Trial(number=n, genotype=CELL), trial_folder(tmp_path / str(n), n))
        for n in range(2)
    ]
    assert {result.state for result in results} == {"failed"}
    assert results[0].reason == results[1].reason  # no path in it
    assert "use a smaller learning rate than 1e+20" in results[0].reason


def test_a_search_by_trainings_is_resumed_and_its_ledger_has_no_test_accuracy(tmp_path, monkeypatch):
    monkeypatch.setattr(sample_job, "_draw", lambda *_: None)
    options = {"sampler": "random", "evaluations": 3, "epochs": 1, "seed": 2}
    config = SampleConfig(**TINY | options, out=tmp_path / "run")
    # Labels of the test images are wrong, so that no accuracy on them can be one on validation images.
    images = pictures()
    images = replace(images, test_labels=1 - images.test_labels)
    sample(config, images)
    ledger = (tmp_path / "run" / "ledger.jsonl").read_text(encoding="utf8")
    trials = sorted(path for path in (tmp_path / "run" / "trials").iterdir() if path.is_dir())
    told = [json.loads(line) for line in ledger.splitlines() if '"tell"' in line]
    valid = [
        json.loads((trial / "metrics.jsonl").read_text(encoding="utf8"))["valid_accuracy"]
        for trial in trials
    ]
    assert [event["value"] for event in told] == valid
    assert "test" not in ledger
    # A driver that was killed: the last result was not told, and its training had not ended.
    lines = ledger.splitlines(keepends=True)
    (tmp_path / "run" / "ledger.jsonl").write_text("".join(lines[:-1]), encoding="utf8")
    (tmp_path / "run" / "genotype.json").unlink()
    torch.manual_seed(5)
    for name in ("model.json", "model.safetensors"):
        (trials[-1] / name).unlink()
    resume_sampling(tmp_path / "run", data=images)
    assert (tmp_path / "run" / "ledger.jsonl").read_text(encoding="utf8") == ledger


def test_a_finished_training_still_says_its_value(whole, tmp_path):
    trials, result = whole
    trial, evaluator = Trial(number=0, genotype=CELL), build()
    assert evaluator.kept_value(trial, trials / "00000") == (result.value, 2)
    first = evaluator.kept_value(replace(trial, budget=1), trials / "00000")
    assert first is not None
    assert first[1] == 1
    assert evaluator.kept_value(replace(trial, budget=3), trials / "00000") is None
    assert evaluator.kept_value(trial, tmp_path) is None


def test_values_that_its_training_contradicts_are_refused(whole):
    trials, result = whole
    trial = Trial(number=0, genotype=CELL)
    ledger = trials.with_name("ledger.jsonl")
    folder = trials.rename(trials.with_name("trials"))
    try:
        for told in (result, replace(result, value=result.value / 2), replace(result, at=1)):
            events = [Event(2, trial), Event(3, told)]
            refused = pytest.raises(
                DamagedFileError, match=r"line 3: .* and the training in .*00000 has"
            )
            with nullcontext() if told is result else refused:
                require_possible(events, build(), "train", ledger)
    finally:
        folder.rename(trials)
