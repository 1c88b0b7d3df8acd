"""The frozen runs: small searches and trainings of every kind, each also stopped and resumed.

Only the command line and public names of `xnas` are used, so that the runs outlive changes inside.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from nasbench201 import rows, write_table
from PIL import Image

import xnas

TINY = {"cells": 3, "channels": 2, "batch_size": 8, "epochs": 2, "device": "cpu"}


class StopAfter:
    """A display that interrupts a run, as Ctrl-C does, after so many rounds or steps."""

    def __init__(self, steps: int):
        self.left = steps

    def _step(self, *_):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)

    after_round = after_step = _step

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: None


def stripes(channels: int = 1, side: int = 8, count: int = 32) -> xnas.ImageData:
    """Images of vertical or horizontal stripes with noise, and 12 test images."""
    return xnas.ImageData(
        name="stripes",
        images=_stripes(count, channels, side, seed=0),
        labels=torch.arange(count) % 2,
        classes=("vertical", "horizontal"),
        test_images=_stripes(12, channels, side, seed=1),
        test_labels=torch.arange(12) % 2,
        flip=channels > 1,
    )


def _stripes(count, channels, side, seed):
    generator = np.random.default_rng(seed)
    wave = np.broadcast_to(160 * (np.arange(side) % 2), (channels, side, side))
    clean = np.stack([wave if number % 2 == 0 else wave.swapaxes(1, 2) for number in range(count)])
    return torch.from_numpy((clean + generator.integers(60, size=clean.shape)).astype(np.uint8))


def image_folder(root: Path) -> str:
    """A folder of class folders of PNG files, 20 by 10 pixels, in the parts train and test."""
    folder = root / "photos"
    if not folder.exists():
        for seed, (part, count) in enumerate((("train", 24), ("test", 8))):
            for number, image in enumerate(_stripes(count, 3, 20, seed)):
                path = folder / part / ("tulip", "rose")[number % 2] / f"{number:02}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(image[:, :10].permute(1, 2, 0).numpy()).save(path)
    return str(folder)


@dataclass(frozen=True)
class Run:
    """A search or a training with its images; `stop` is the round or step after which it is stopped."""

    name: str
    kind: str
    settings: dict[str, Any] = field(default_factory=dict)
    data: Callable[[Path], Any] = lambda _: stripes()
    stop: int = 3

    def whole(self, root: Path) -> Path:
        """Run it from start to end and return the run folder."""
        out = root / self.name
        self._begin(root, out)
        return out

    def resumed(self, root: Path) -> Path:
        """Stop it inside an epoch, resume it and return the run folder."""
        out = root / f"{self.name}-resumed"
        try:
            self._begin(root, out, display=StopAfter(self.stop))
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError(f"{self.name} ended before step {self.stop}")
        data = self.data(root)
        again = {"search": xnas.resume_search, "train": xnas.resume_training}[self.kind]
        again(out, **{} if isinstance(data, str) else {"data": data})
        return out

    def _begin(self, root: Path, out: Path, **arguments):
        job, config = {
            "search": (xnas.search, xnas.SearchConfig),
            "train": (xnas.train, xnas.TrainConfig),
        }[self.kind]
        settings = {
            name: value(root) if callable(value) else value for name, value in self.settings.items()
        }
        job(config(**TINY | settings, out=out), self.data(root), **arguments)


def _table(root: Path) -> Path:
    path = root / "table.csv"
    if not path.exists():
        write_table(path, rows())
    return path


def _nasbench_cell(root: Path) -> str:
    """A cell of NAS-Bench-201 as a genotype file."""
    path = root / "cell.json"
    xnas.Genotype.random("nasbench201", seed=4).save(path)
    return str(path)


RUNS = {
    run.name: run
    for run in (
        Run("search-default", "search", {"relaxation": 0.02}),
        Run("search-darts", "search", {"method": "darts"}),
        Run("search-sample", "search", {"accounting": "sample", "experts_lr": "paper"}),
        Run("search-no-dropout", "search", {"skip_dropout": "0", "wipeout": False, "gap_every": 1}),
        Run("search-fading", "search", {"skip_dropout": "0.6:0", "experts_lr": 0.5, "balance": True}),
        Run("search-faithful", "search", {"faithful": True, "seed": 3}, lambda _: stripes(3)),
        Run("search-nasbench201", "search", {"space": "nasbench201", "cells": 1, "truth": _table}),
        Run(
            "search-folder", "search", {"stream": False, "image_size": 8, "batch_size": 4}, image_folder
        ),
        Run(
            "search-streamed", "search", {"stream": True, "image_size": 8, "batch_size": 4}, image_folder
        ),
        Run("search-fused", "search", {"backend": "fused", "relaxation": 0.02}),
        Run("search-fused-darts", "search", {"backend": "fused", "method": "darts"}),
        Run(
            "search-fused-nasbench201",
            "search",
            {"backend": "fused", "space": "nasbench201", "cells": 1, "relaxation": 0.02},
        ),
        Run(
            "search-guards",
            "search",
            {"expert_dropout": 0.5, "best_temperature": True, "warmup": 0.5, "edges": "absence"},
        ),
        Run("train-quick", "train", {"cell": "xnas"}, stop=6),
        Run("train-digits", "train", {"cell": "xnas", "batch_size": 96}, lambda _: "digits", stop=20),
        Run("train-validation", "train", {"cell": "xnas", "validation": 0.2, "average": 0.8}, stop=5),
        Run(
            "train-darts-600",
            "train",
            {
                "cell": "darts_v2",
                "recipe": "darts-600",
                "auxiliary_weight": 0.4,
                "drop_path_rate": 0.3,
                "cutout": 16,
                "auto_augment": "cifar10",
                "accumulate": 2,
            },
            lambda _: stripes(3),
            stop=6,
        ),
        Run(
            "train-xnas-1500",
            "train",
            {"cell": "xnas_small", "recipe": "xnas-1500", "average": 0.8, "validation": 0.2, "seed": 5},
            stop=5,
        ),
        Run(
            "train-nasbench301",
            "train",
            {"cell": "darts_v2", "recipe": "nasbench301", "accumulate": 2},
            lambda _: stripes(3),
            stop=5,
        ),
        Run(
            "train-imagenet",
            "train",
            {"cell": "xnas", "recipe": "imagenet-250", "channels": 4, "batch_size": 12},
            lambda _: stripes(3, 40, 24),
            stop=3,
        ),
        Run("train-nasbench201", "train", {"cell": _nasbench_cell, "cells": 1}, stop=6),
        Run("train-folder", "train", {"cell": "xnas", "image_size": 8, "stream": False}, image_folder),
        Run("train-streamed", "train", {"cell": "xnas", "image_size": 8, "stream": True}, image_folder),
        Run(
            "train-budget",
            "train",
            {"cell": "xnas", "channels": None, "max_params": 30000.0, "precision": "bf16"},
            stop=6,
        ),
    )
}
