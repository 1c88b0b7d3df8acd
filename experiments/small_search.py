"""Searches that differ in one setting: rules of the update, rates, wipeout, or an expert held back.

A search is what `xnas search` plays, with three additions. It may use few and small images, so that a
CPU plays it in a minute. It measures the discretization gap often, and the seconds of CPU that epochs
take. It can hold an operation back: in the first epochs, in which the network's weights learn and
mixtures rest, the operation has a small weight on every edge. Then the mixtures learn from there.
`small_player.py` plays them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from jobs import Job
from recorded_search import few_images, generated_images
from xnas.data import Images, load_data
from xnas.engine import Search
from xnas.methods import Game, Method
from xnas.methods.gaea import ExponentiatedGradient
from xnas.methods.logits import Logits
from xnas.optim import ExpertsOptimizer
from xnas.runs.command_line import flags
from xnas.runs.prepare import Prepared, prepare
from xnas.runs.search_config import SearchConfig
from xnas.theory import optimal_learning_rate, softmax_gd_rewards

SCRIPT = "python experiments/small_searches.py"
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


BENCHMARK = {"space": "nasbench201", "best_temperature": False}
"""With few images the default pays at the best temperature; these searches vary other settings."""
SIZES = {
    "small": Size(
        settings={**BENCHMARK, "epochs": 20, "batch_size": 32, "cells": 1, "channels": 6},
        few=(800, 16),
        planned=30.0,
    ),
    "small-darts": Size(
        settings={"space": "darts", "epochs": 20, "batch_size": 32, "cells": 3, "channels": 4},
        few=(800, 16),
        planned=150.0,
    ),
    "few": Size(
        settings={
            "space": "nasbench201",
            "epochs": 100,
            "batch_size": 96,
            "cells": 1,
            "channels": 12,
        },
        few=(2400, 16),
        planned=400.0,
    ),
    "benchmark": Size(
        settings={**BENCHMARK, "epochs": 50, "batch_size": 96, "cells": 5, "channels": 16},
        planned=140.0,
    ),
    "darts": Size(
        settings={"space": "darts", "epochs": 50, "batch_size": 96, "cells": 8, "channels": 16},
        planned=330.0,
    ),
    "fewer": Size(
        settings={**BENCHMARK, "epochs": 50, "batch_size": 96, "cells": 5, "channels": 16},
        few=(5000, 32),
        planned=20.0,
    ),
    "tiny": Size(
        settings={**BENCHMARK, "epochs": 3, "batch_size": 16, "cells": 1, "channels": 2},
        generated=(64, 8),
        planned=5.0,
    ),
}
"""`small`, `small-darts` and `few` are for a CPU, `benchmark`, `fewer` and `darts` for a GPU.

`tiny` rehearses. `few` is the search with few images in which guards were compared.
`fewer` has a tenth of the images of `benchmark`, for an accounting that no fused round has.
"""


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


def build_search(job: SmallSearch, *, data_dir: Path | None, device: str) -> Prepared:
    """The search, ready for its first round, with the job's own rule and start."""
    prepared = prepare(job.config(device=device, data_dir=data_dir), job.images(data_dir))
    plain = prepared.search
    if job.rule == "experts":
        return prepared
    if job.held:
        _hold_back(plain, prepared.game.operations)
    search = Search(
        plain.supernet,
        method_of(job.rule, plain.mixtures, prepared.game),
        train=plain.train,
        valid=plain.valid,
        settings=plain.settings,
    )
    return replace(prepared, search=search)


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
