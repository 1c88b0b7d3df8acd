"""Small searches for tests: 8 x 8 images of stripes, a supernet of 3 cells and 2 channels."""

import torch

from xnas import ImageData, SearchConfig
from xnas.engine import end_epoch
from xnas.runs.prepare import prepare

PLAIN = {"expert_dropout": 0.0, "best_temperature": False, "warmup": 0.0, "edges": "share"}
"""Skip dropout alone; guards of the DARTS space that a test wants it names."""
TINY = {
    "cells": 3,
    "channels": 2,
    "batch_size": 8,
    "epochs": 3,
    "device": "cpu",
    "report": False,
} | PLAIN


def stripes(count=80, seed=0, test=None):
    """Grey images with vertical or horizontal stripes, and noise."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % 2
    wave = torch.tensor([0.0, 1.0]).repeat(4) * 160
    clean = torch.where(labels[:, None, None] == 0, wave.expand(8, 8), wave.expand(8, 8).T)
    noisy = clean + 60 * torch.rand(count, 8, 8, generator=generator)
    return ImageData(
        name="stripes",
        images=noisy.to(torch.uint8)[:, None],
        labels=labels,
        classes=("vertical", "horizontal"),
        test_images=test,
        test_labels=None if test is None else torch.zeros(len(test), dtype=torch.int64),
        flip=False,
    )


def tiny(**arguments):
    return SearchConfig(**TINY | arguments)


def small(**arguments):
    """A cheaper one, of the fixture `small_space`: 5 edges per cell instead of 14."""
    return tiny(**{"space": "small"} | arguments)


def engine(**arguments):
    """A search that is ready for its first round."""
    search = prepare(tiny(**arguments), stripes()).search
    search.begin_epoch()
    return search


def small_engine(**arguments):
    """The same, of `small`."""
    return engine(**{"space": "small"} | arguments)


def wipe_out(search, kind, forecaster, experts):
    """Make the method believe that experts were wiped out in round 1."""
    state = search.method.state[search.mixtures[kind]]
    for expert in experts:
        state["wiped_at"][forecaster, expert] = 1
    with torch.no_grad():
        mixture = search.mixtures[kind][forecaster]
        mixture[experts] = 0
        mixture /= mixture.sum()


def settle(search):
    """Leave one expert to every forecaster."""
    for kind in search.mixtures:
        for forecaster in range(14):
            wipe_out(search, kind, forecaster, [0, 1, 2, 4, 5, 6])


def close(search):
    """End an epoch with made-up costs."""
    return end_epoch(search, seconds=2.0, memory_bytes=7, gap=None)
