"""What each of two processes does for `engine/test_distributed.py`, and how they are started.

Run as a script, `distributed_jobs.py JOB FOLDER`, it is one of the processes; what it found is left in
FOLDER/RANK.pt.
"""

import multiprocessing
import os
import signal
import socket
import sys
import time
from multiprocessing import forkserver
from pathlib import Path

import pytest
import torch
from searching import stripes
from searching import tiny as tiny_search
from torch import nn
from training import pictures
from training import tiny as tiny_training

from xnas import cli
from xnas.engine import end_epoch, play_round
from xnas.engine.distributed import ALONE, join_ranks
from xnas.engine.train import own_randomness, train_step
from xnas.errors import XnasError
from xnas.process.interrupt import Interrupted
from xnas.runs import search as searches
from xnas.runs import train as trainings
from xnas.runs.displays import Silence
from xnas.runs.prepare import prepare
from xnas.runs.prepare_training import prepare_training
from xnas.space import find_genotype

SMALL = {"space": "nasbench201"}
SEARCHES = {
    "darts space": {"relaxation": 0.01},
    "nasbench201": SMALL | {"relaxation": 0.01},
    "method darts": SMALL | {"method": "darts"},
    "accounting sample": SMALL | {"accounting": "sample"},
}
WHOLE = SMALL | {"relaxation": 0.01, "epochs": 2, "gap_every": 9}
IMAGES, PICTURES = stripes(count=48), pictures(count=20)
TRAINING = {"drop_path_rate": 0.3, "average": 0.9, "auxiliary_weight": 0.4, "cutout": 4}


def frozen(module):
    """Batch norms that stay in evaluation mode: no statistics of batches."""
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm2d):
            norm.eval()
            norm.train = lambda mode=True, norm=norm: norm  # noqa: ARG005
    return module


def play(ranks, **settings):
    """Two epochs of a search without batch statistics, and where it stands then."""
    search = prepare(tiny_search(**settings, gap_every=9), IMAGES, ranks).search
    frozen(search.supernet)
    records = []
    for _ in range(2):
        search.begin_epoch()
        for _ in range(search.settings.rounds_per_epoch):
            play_round(search)
        records.append(end_epoch(search, seconds=1.0, memory_bytes=1, gap=None))
    return {
        "mixtures": {kind: m.detach().clone() for kind, m in search.mixtures.items()},
        "sums": {kind: search.method.comparable_sums(m) for kind, m in search.mixtures.items()},
        "weights": {n: t.clone() for n, t in search.supernet.state_dict().items() if "track" not in n},
        "deleted": search.deleted,
        "losses": [(r.train_loss, r.train_accuracy, r.valid_loss, r.valid_accuracy) for r in records],
        "rewards": [r.rewards for r in records],
    }


def train(ranks, **settings):
    """Two epochs of a training without batch statistics, and where it stands then."""
    config = tiny_training(**TRAINING | settings)
    training = prepare_training(config, PICTURES, find_genotype("xnas"), ranks).training
    frozen(training.model)
    losses = []
    with own_randomness(torch.device("cpu"), 5):
        for _ in range(2):
            training.begin_epoch()
            frozen(training.model)
            for _ in range(training.settings.steps_per_epoch):
                train_step(training)
            losses.append(training.end_epoch())
    state = training.state_dict()
    return {"model": state["model"], "average": state["average"], "losses": losses}


class Stopping(Silence):
    """Asks to stop after some rounds, as Ctrl-C would; only the first process hears of them."""

    def __init__(self, after):
        self.after = after

    def after_round(self, search):
        if search.rounds == self.after:
            os.kill(os.getpid(), signal.SIGINT)

    def after_step(self, training):
        if training.steps == self.after:
            os.kill(os.getpid(), signal.SIGINT)


def error_of(action):
    try:
        action()
    except XnasError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def equal(ranks, _folder):
    """Engines that the test compares with one process."""
    return {name: play(ranks, **settings) for name, settings in SEARCHES.items()} | {
        "training": train(ranks),
        "training without drop path in parts": train(ranks, accumulate=2, drop_path_rate=0.0),
    }


def whole(ranks, folder):
    """Whole runs with batch statistics, stopped and resumed; then what is refused."""
    found = {}
    searches.search(tiny_search(**WHOLE, out=folder / "whole"), IMAGES)
    found["stopped"] = interrupted(
        lambda: searches.search(tiny_search(**WHOLE, out=folder / "run"), IMAGES, display=Stopping(4))
    )
    searches.resume_search(folder / "run", data=IMAGES)
    searches.search(tiny_search(**WHOLE, out=folder / "fused", backend="fused"), IMAGES)
    settings = TRAINING | {"validation": 0.2, "epochs": 2}
    trainings.train(tiny_training(**settings, out=folder / "training"), PICTURES)
    interrupted(
        lambda: trainings.train(
            tiny_training(**settings, out=folder / "stopped training"), PICTURES, display=Stopping(3)
        )
    )
    result = trainings.resume_training(folder / "stopped training", data=PICTURES)
    found["epochs"] = len(result.epochs)
    found["not empty"] = error_of(
        lambda: searches.search(tiny_search(**WHOLE, out=folder / "run"), IMAGES)
    )
    found["batch"] = error_of(lambda: prepare(tiny_search(batch_size=7), IMAGES, ranks))
    config = tiny_training(accumulate=4)
    found["parts"] = error_of(lambda: prepare_training(config, PICTURES, find_genotype("xnas"), ranks))
    search = prepare(tiny_search(), IMAGES, ranks).search
    if ranks.rank == 1:
        with torch.no_grad():
            next(iter(search.mixtures.values()))[0, 0] += 1e-6
    state = {"supernet": search.supernet.state_dict(), "deleted": []}
    found["differs"] = error_of(
        lambda: ranks.require_same(state, "after round 3", lambda: "nothing was kept")
    )
    return found


def interrupted(action):
    try:
        action()
    except Interrupted as stop:
        return str(stop)
    return "not stopped"


def killed(ranks, folder):
    """The second process ends itself in the third round, without a word."""
    in_third_round(ranks, lambda: os.kill(os.getpid(), signal.SIGKILL))
    command_line(folder)


def hanging(ranks, folder):
    """The second process stands still in the third round."""
    in_third_round(ranks, lambda: time.sleep(600))
    command_line(folder)


def resumed(_ranks, folder):
    """Resume what either of these began."""
    cli.main(["search", "--resume", str(folder / "run")])


def command_line(folder):
    sizes = {"space": "nasbench201", "cells": 1, "channels": 2, "batch-size": 256, "epochs": 2}
    settings = sizes | {"device": "cpu", "checkpoint-minutes": 0, "out": folder / "run"}
    cli.main(["search", *(f"--{name}={value}" for name, value in settings.items())])


def in_third_round(ranks, act):
    if ranks.rank == 0:
        return
    play_round = searches.play_round

    def play_or_act(search):
        if search.rounds == 2:
            act()
        play_round(search)

    searches.play_round = play_or_act


JOBS = {job.__name__: job for job in (equal, whole, killed, hanging, resumed)}


def start(job, folder, *, timeout=60.0):
    """Two processes of a job, as torchrun would start them, forked from one that has imported all."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "XNAS_RANKS_TIMEOUT": str(timeout),
    }
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["distributed_jobs"])
    with pytest.MonkeyPatch.context() as patch:  # the server would look for it elsewhere (Python 3.11)
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        forkserver.ensure_running()
    processes = [
        context.Process(
            target=one_of_two,
            args=(job, folder, shared | {"RANK": rank, "LOCAL_RANK": rank}),
            daemon=True,
        )
        for rank in "01"
    ]
    for process in processes:
        process.start()
    return processes


def one_of_two(job, folder, environment):
    os.environ |= environment
    torch.set_num_threads(1)
    for number, name in ((1, "out"), (2, "err")):
        path = folder / f"{environment['RANK']}.{name}"
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout, sys.stderr = (open(number, "w", buffering=1, closefd=False) for number in (1, 2))  # noqa: SIM115
    take_part(job, folder)


def finish(processes, folder, *, seconds=120):
    """Exit statuses, and what each said and complained of."""
    for process in processes:
        process.join(seconds)
        process.kill()
        process.join()
    told = [[(folder / f"{rank}.{name}").read_text() for name in ("out", "err")] for rank in (0, 1)]
    return [process.exitcode for process in processes], told


def take_part(job, folder):
    ranks = join_ranks()
    assert ranks != ALONE
    found = JOBS[job](ranks, folder)
    if found is not None:
        torch.save(found, folder / f"{ranks.rank}.pt")


if __name__ == "__main__":
    take_part(sys.argv[1], Path(sys.argv[2]))
