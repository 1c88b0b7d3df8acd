"""Checkpoints that a forger gave the right digest: refused before the first round, in one line."""

import json
import os
import re
import shutil
import signal

import pytest
import torch
import training
from searching import stripes, tiny

from xnas.engine import Checkpoints
from xnas.errors import ConfigError, VersionError
from xnas.process.interrupt import Interrupted
from xnas.runs.displays import Silence
from xnas.runs.search import resume_search, search
from xnas.runs.train import resume_training, train

EVERYTHING = {"validation": 0.2, "average": 0.9, "epochs": 2}


class Stopping(Silence):
    """Asks to stop after so many rounds or steps."""

    def __init__(self, after):
        self.after = after

    def after_round(self, engine):
        if engine.rounds == self.after:
            os.kill(os.getpid(), signal.SIGINT)

    def after_step(self, engine):
        if engine.steps == self.after:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(scope="module")
def searches(tmp_path_factory):
    """One of each method, in the middle of an epoch."""
    root = tmp_path_factory.mktemp("searches")
    for method in ("xnas", "darts"):
        config = tiny(out=root / method, epochs=1, method=method, space="nasbench201", cells=1)
        with pytest.raises(Interrupted):
            search(config, stripes(), display=Stopping(2))
    return root


@pytest.fixture(scope="module")
def stopped_training(tmp_path_factory):
    out = tmp_path_factory.mktemp("training") / "run"
    with pytest.raises(Interrupted):
        train(training.tiny(out=out, **EVERYTHING), training.pictures(), display=Stopping(6))
    return out


def forged(run, copy, change):
    """A copy of a run whose checkpoints are replaced by a changed one, with its digest."""
    shutil.copytree(run, copy)
    state = training.checkpoint(copy)
    change(state)
    shutil.rmtree(copy / "checkpoints")
    Checkpoints(copy / "checkpoints").save(state)
    return copy


def put(*path, value):
    def change(state):
        *way, last = path
        for key in way:
            state = state[key]
        state[last] = value

    return change


def first_momentum(state):
    momenta = state["weight_optimizer" if "supernet" in state else "optimizer"]["state"]
    return next(kept for kept in momenta.values() if kept["momentum_buffer"].dim() == 4)


def lengthen_momentum(state):
    """Another shape with the same strides."""
    kept = first_momentum(state)
    kept["momentum_buffer"] = torch.cat([kept["momentum_buffer"]] * 2)


def lengthen_average(state):
    state["method"]["adam"]["state"][0]["exp_avg"] = torch.zeros(99)


def lengthen_step(state):
    state["method"]["adam"]["state"][0]["step"] = torch.zeros(5)


SEARCHES = {
    "sums of an epoch are no mapping": ("xnas", put("tally", value=torch.zeros(3, 3))),
    "sums of an epoch are one number": ("xnas", put("tally", "train", value=torch.tensor(1.0))),
    "sums of an epoch are complex": ("xnas", put("tally", "train", value=torch.zeros(3) * 1j)),
    "momenta of another shape": ("xnas", lengthen_momentum),
    "a position before the start": ("xnas", put("train", "position", value=-1)),
    "a position after the end": ("xnas", put("valid", "position", value=10**6)),
    "an epoch without end": ("xnas", put("train", "rounds", value=10**12)),
    "averages of another shape": ("darts", lengthen_average),
    "a count of steps of another shape": ("darts", lengthen_step),
    "an optimizer without groups": ("xnas", put("weight_optimizer", "param_groups", value=[])),
    "logits of another shape": ("darts", put("method", "logits", 0, value=torch.zeros(1))),
}


@pytest.mark.parametrize("case", SEARCHES)
@pytest.mark.filterwarnings("error")
def test_a_forged_checkpoint_of_a_search_is_refused_before_the_first_round(searches, tmp_path, case):
    method, change = SEARCHES[case]
    run = forged(searches / method, tmp_path / "run", change)
    with pytest.raises(ConfigError, match="the checkpoint does not fit this search") as caught:
        resume_search(run, data=stripes())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("entropy", "x"),
        ("entropy", {"normal": None}),
        ("skip_share", []),
        ("valid_accuracy", None),
        ("train_loss", "1"),
        ("deleted", [3]),
        ("cost", {}),
        ("truth", "x"),
        ("cell", "x"),
    ],
)
def test_metrics_that_a_forger_remembers_are_refused_in_one_line(searches, tmp_path, name, value):
    whole = shutil.copytree(searches / "xnas", tmp_path / "whole")
    resume_search(whole, data=stripes())

    def change(state):
        state["metrics"] = json.dumps(json.loads(state["metrics"]) | {name: value}) + "\n"

    (whole / "genotype.json").unlink()
    with pytest.raises(ConfigError, match=r"metrics.jsonl is damaged .* restore it"):
        resume_search(forged(whole, tmp_path / "run", change), data=stripes())


def test_metrics_without_an_end_do_not_fill_memory(searches, tmp_path):
    run = shutil.copytree(searches / "xnas", tmp_path / "run")
    with (run / "metrics.jsonl").open("ab") as file:
        file.truncate(2**40)
    result = resume_search(run, data=stripes())
    assert (run / "metrics.jsonl").stat().st_size < 10**5
    assert len(result.epochs) == 1


def lose_best(state):
    state["best"]["model"].popitem()


TRAININGS = {
    "momenta of another shape": lengthen_momentum,
    "the tally is one number": put("tally", value=torch.tensor(1.0)),
    "averages are no mapping": put("average", value=torch.zeros(2, 2)),
    "best weights of another network": lose_best,
    "an epoch without end": put("batches", "rounds", value=10**12),
    "a position before the start": put("batches", "position", value=-1),
}


@pytest.mark.parametrize("case", TRAININGS)
@pytest.mark.filterwarnings("error")
def test_a_forged_checkpoint_of_a_training_is_refused_before_the_first_step(
    stopped_training, tmp_path, case
):
    run = forged(stopped_training, tmp_path / "run", TRAININGS[case])
    with pytest.raises(ConfigError, match=r"does not fit this training|what was saved is damaged"):
        resume_training(run, data=training.pictures())


@pytest.mark.parametrize(
    "name",
    ["lr", *(pytest.param(n, marks=pytest.mark.slow) for n in ("momentum", "weight_decay", "nesterov"))],
)
def test_settings_of_an_optimizer_are_those_of_the_run(searches, stopped_training, tmp_path, name):
    def change(state):
        key = "weight_optimizer" if "supernet" in state else "optimizer"
        state[key]["param_groups"][0][name] = "x"

    whole = resume_search(shutil.copytree(searches / "xnas", tmp_path / "whole"), data=stripes())
    found = resume_search(forged(searches / "xnas", tmp_path / "run", change), data=stripes())
    assert found.ledgers == whole.ledgers
    resume_training(forged(stopped_training, tmp_path / "train", change), data=training.pictures())


@pytest.mark.parametrize("version", [0, 1, 4, None, torch.zeros(2)])
def test_a_checkpoint_of_another_version_is_refused_by_name(
    searches, stopped_training, tmp_path, version
):
    change = put("version", value=version)
    with pytest.raises(VersionError, match=re.escape(f"version {version}")):
        resume_search(forged(searches / "xnas", tmp_path / "search", change), data=stripes())
    with pytest.raises(VersionError, match=re.escape(f"version {version}")):
        resume_training(forged(stopped_training, tmp_path / "train", change), data=training.pictures())
