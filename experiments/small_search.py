"""Searches that differ in one setting: rules of the update, rates, wipeout, or an expert held back.

A search is what `xnas search` plays, with three additions. It may use few and small images, so that a
CPU plays it in a minute. It measures the discretization gap often, and the seconds of CPU that epochs
take. It can hold an operation back: in the first epochs, in which the network's weights learn and
mixtures rest, the operation has a small weight on every edge. Then the mixtures learn from there.

A checkpoint and a line in `records.jsonl` follow each epoch, so that a stopped search resumes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from jobs import Job, Record
from recorded_search import few_images, generated_images, played, round_of, shortened
from watch import ran_on
from xnas.data import Images, load_data
from xnas.engine import Checkpoints, Search, end_epoch, restore_search, search_state
from xnas.engine.gap import discretization_gap
from xnas.methods import Game, Method
from xnas.methods.gaea import ExponentiatedGradient
from xnas.methods.logits import Logits
from xnas.optim import ExpertsOptimizer
from xnas.process.devices import repeatable, synchronize
from xnas.records import Judgement, SearchEpoch
from xnas.runs.command_line import flags
from xnas.runs.prepare import prepare
from xnas.runs.search_config import SearchConfig
from xnas.runs.truth import Benchmark, load_truth
from xnas.space import SPACES, Genotype
from xnas.theory import optimal_learning_rate, softmax_gd_rewards

SCRIPT = "python experiments/small_searches.py"
RECORDS = "records.jsonl"
GAP_EVERY = 5  # epochs between two measurements of the discretization gap
HELD = "nor_conv_3x3"
HELD_WEIGHT = 0.05
HELD_EPOCHS = 1 / 3  # share of the epochs in which it is held back
ADAM_REACH = 3.9
"""What Adam can move a logit by in DARTS's own search: 3e-4 in each of 13,000 rounds."""

Rule = Literal["experts", "eg", "softmax", "adam"]


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a search is, and on what."""

    settings: Mapping[str, Any]
    few: tuple[int, int] | None = None
    """So many images of CIFAR-10, averaged to so many pixels; None: all."""
    generated: tuple[int, int] | None = None
    """Number and side of images that are drawn at random, instead of CIFAR-10."""
    planned: float
    """Seconds of one search: on a CPU core for few images, else on one H200."""


SIZES = {
    "small": Size(
        settings={"space": "nasbench201", "epochs": 20, "batch_size": 32, "cells": 1, "channels": 6},
        few=(800, 16),
        planned=30.0,
    ),
    "benchmark": Size(
        settings={"space": "nasbench201", "epochs": 50, "batch_size": 96, "cells": 5, "channels": 16},
        planned=140.0,
    ),
    "darts": Size(
        settings={"space": "darts", "epochs": 50, "batch_size": 96, "cells": 8, "channels": 16},
        planned=330.0,
    ),
    "tiny": Size(
        settings={"space": "nasbench201", "epochs": 3, "batch_size": 16, "cells": 1, "channels": 2},
        generated=(64, 8),
        planned=5.0,
    ),
}
"""`small` is for a CPU, `benchmark` and `darts` for a GPU, `tiny` rehearses."""


@dataclass(frozen=True, kw_only=True)
class SmallSearch(Job):
    """One search, on any of the sizes."""

    variant: str
    seed: int
    size: str
    rule: Rule = "experts"
    held: bool = False

    @property
    def command(self) -> str:
        """The script's own command, and the options of the search that it plays."""
        special = (
            f", rule {self.rule}{', held back' if self.held else ''}" if self.rule != "experts" else ""
        )
        return f"{SCRIPT} --only {self.name} ({flags(self.options)}{special})"

    @property
    def epochs(self) -> int:
        """Epochs to play."""
        return int(self.options["epochs"])

    def config(self, **where: Any) -> SearchConfig:  # noqa: ANN401 - options
        """Its settings, and where it runs."""
        return SearchConfig(**self.options, **where)

    def images(self, data_dir: Path | None) -> Images:
        """Its images."""
        size = SIZES[self.size]
        if size.generated is not None:
            return generated_images(*size.generated)
        whole = load_data("cifar10", data_dir=data_dir)
        return whole if size.few is None else few_images(whole, *size.few)


class SoftmaxDescent(ExponentiatedGradient):
    """Gradient descent on logits behind a softmax (eq. 6), on the mixtures u = softmax(α) themselves."""

    @torch.no_grad()
    def step(self) -> None:
        """Add η u (R - <u, R>) to ln u."""
        for mixture in self.mixtures.values():
            assert mixture.grad is not None  # noqa: S101 - every round pays
            effective = softmax_gd_rewards(mixture, -mixture.grad)
            mixture.copy_((mixture.log() + self.learning_rate * effective).softmax(-1))


def build_search(job: SmallSearch, *, data_dir: Path | None, device: str) -> Search:
    """The search, ready for its first round, with the job's own rule and start."""
    prepared = prepare(job.config(device=device, data_dir=data_dir), job.images(data_dir))
    plain = prepared.search
    if job.rule == "experts":
        return plain
    if job.held:
        _hold_back(plain, prepared.game.operations)
    return Search(
        plain.supernet,
        method_of(job.rule, plain.mixtures, prepared.game),
        train=plain.train,
        valid=plain.valid,
        settings=plain.settings,
    )


def method_of(rule: Rule, mixtures: Mapping[str, nn.Parameter], game: Game) -> Method:
    """A rule of the update that starts from the mixtures as they are.

    `eg` and `softmax` share the rate that is optimal for the rounds to play; Adam's lets a logit move as
    far as in DARTS's own search.
    """
    start = {kind: mixture.detach().clone() for kind, mixture in mixtures.items()}
    experts = next(iter(start.values())).shape[1]
    rate = optimal_learning_rate(experts, game.updates, game.reward_bound)
    if rule == "eg":
        groups = [{"params": [mixture], "initial": start[kind]} for kind, mixture in mixtures.items()]
        return ExpertsOptimizer(groups, horizon=game.updates, wipeout=False)
    if rule == "softmax":
        return SoftmaxDescent(rule, mixtures, game, learning_rate=rate, floor=0.0)
    logits = Logits(rule, mixtures, game, learning_rate=ADAM_REACH / game.updates)
    with torch.no_grad():
        for kind, values in start.items():
            logits.logits_of(kind).copy_(values.log())
    logits.write_beliefs()
    return logits


def _hold_back(search: Search, operations: Sequence[str]) -> None:
    """Give the held operation little weight on every edge, and the others equal shares of the rest."""
    column = list(operations).index(HELD)
    with torch.no_grad():
        for mixture in search.mixtures.values():
            mixture.fill_((1 - HELD_WEIGHT) / (mixture.shape[1] - 1))
            mixture[:, column] = HELD_WEIGHT


def play(
    job: SmallSearch,
    folder: Path,
    *,
    device: str,
    data_dir: Path | None,
    truth: Path | None,
    deadline: float,
) -> bool:
    """Play a search to its end, from its last checkpoint if any; False if time was up before."""
    folder.mkdir(parents=True, exist_ok=True)
    search = build_search(job, data_dir=data_dir, device=device)
    checkpoints = Checkpoints(folder / "checkpoints", keep=1)
    checkpoints.newest(search.device, print, partial(restore_search, search))
    _drop_later(folder / RECORDS, search.epoch)
    benchmark = load_truth(truth, job.options["space"])
    with repeatable(search.device):
        for line in _epochs(search, job, benchmark, deadline):
            with (folder / RECORDS).open("a", encoding="utf8") as file:
                file.write(json.dumps(line) + "\n")
            checkpoints.save(search_state(search))
    return search.epoch >= job.epochs


def _epochs(
    search: Search, job: SmallSearch, benchmark: Benchmark | None, deadline: float
) -> Iterator[Record]:
    """Play epochs until the end, or until time is up; gives the record of each."""
    play_one: Callable[[], None] | None = None
    captured = (False, 0)
    while search.epoch < job.epochs and time.perf_counter() < deadline:
        wall, cpu = time.perf_counter(), time.process_time()
        search.begin_epoch()
        now = (search.learning, len(search.deleted))
        if play_one is None or now != captured:
            play_one, captured = None, now  # lets go of one captured round before another is captured
            play_one = round_of(search)
        for _ in range(search.settings.rounds_per_epoch):
            play_one()
        synchronize(search.device)
        times = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
        gap = discretization_gap(search) if _looks_at_gap(search.epoch + 1, job.epochs) else None
        epoch = end_epoch(search, seconds=times["seconds"], gap=gap)
        yield shortened(_record(search, job, epoch, benchmark) | times)


def _looks_at_gap(epoch: int, epochs: int) -> bool:
    return epoch % GAP_EVERY == 0 or epoch >= epochs - 1


def _record(search: Search, job: SmallSearch, epoch: SearchEpoch, benchmark: Benchmark | None) -> Record:
    """What an epoch leaves; its gap is that before experts are deleted."""
    cell = search.standing().cell(SPACES[job.options["space"]])
    means = {kind: m.detach().double().mean(0).tolist() for kind, m in search.mixtures.items()}
    names = ("epoch", "train_loss", "valid_loss", "valid_accuracy", "entropy", "experts_alive")
    return {
        **{name: getattr(epoch, name) for name in (*names, "weights_alive")},
        "gap": None if epoch.gap is None else asdict(epoch.gap),
        "mean_mixture": means,
        **_worth(cell, benchmark),
        "cell": json.loads(cell.to_json()) if epoch.epoch == job.epochs else None,
    }


def _worth(cell: Genotype, benchmark: Benchmark | None) -> Record:
    """What a table knows of the cell, or what a judge estimates of it."""
    truth = None if benchmark is None else benchmark.truth(cell)
    if isinstance(truth, Judgement):
        return {"judged_accuracy": truth.accuracy}
    known = {"arch": None, "true_accuracy": None}
    return known if truth is None else {"arch": truth.arch, "true_accuracy": truth.test_200}


def result(job: SmallSearch, folder: Path, device: str) -> Record:
    """The line of a search that has been played to its end."""
    epochs = played(folder, header=False)
    return {
        "job": job.name,
        "command": job.command,
        "variant": job.variant,
        "size": job.size,
        "seed": job.seed,
        "space": job.options["space"],
        "rule": job.rule,
        "held": job.held,
        "epochs": epochs,
        **ran_on(device),
    }


def _drop_later(path: Path, epoch: int) -> None:
    """Forget lines of epochs that will be played again."""
    lines = [line for line in played(path.parent, header=False) if line["epoch"] <= epoch]
    scratch = path.with_suffix(".new")
    scratch.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf8")
    scratch.replace(path)
