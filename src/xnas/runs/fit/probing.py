"""The speed of this machine: a few rounds and steps, really played, before a fit is planned.

Sizes are measured in rising order while a larger one could still be of use, and no longer than a small
share of the time allows. What is measured is thrown away.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import torch

from xnas.data import Images
from xnas.engine import captured_round, end_epoch, play_round, search_state
from xnas.engine.checkpoint import Checkpoints
from xnas.engine.evaluate import evaluate
from xnas.engine.train import captured_step, own_randomness, train_step
from xnas.engine.train_state import train_state
from xnas.nn.operations import FINAL, build_operation
from xnas.process.devices import synchronize
from xnas.records.fitting import PlannedSearch, SearchSpeed, Speeds, TrainSpeed
from xnas.runs.backends import is_captured
from xnas.runs.fit.config import FitConfig
from xnas.runs.fit.parts import FitData, search_settings, train_settings
from xnas.runs.fit.planning import (
    LEAST_EPOCHS,
    PROBING,
    Facts,
    edges_share,
    larger_fits,
    larger_search_fits,
    searchable,
    share_of,
)
from xnas.runs.prepare import prepare
from xnas.runs.prepare_training import prepare_training
from xnas.space import SPACES, CellKind, find_architecture, find_genotype
from xnas.space.layout import cell_kinds

SEARCH_SIZES = ((3, 4), (5, 4), (5, 8), (5, 16))
"""Cells and channels of supernets."""
CELL_SIZES = ((3, 8), (5, 8), (5, 16), (5, 24), (5, 40))
"""Cells and channels of the networks of cells; the last is the recipe's own size."""
RESNETS = ("resnet-8", "resnet-14", "resnet-20")
REFERENCE = "xnas"
"""The cell whose networks are measured, and trained where no search pays."""
SEARCH_BATCH = {"cpu": 32, "cuda": 96}
"""Images per batch of a search: on a CPU small ones, which give more rounds in the same time."""
SMALLEST_BATCH, ROUNDS_PER_EPOCH = 8, 20
STEPS = 4
"""Steps and rounds that are timed, after one to warm up; their median counts."""
EVALUATED = 2  # batches
MOST_OF_A_STEP = 0.85
END_STEPS, END_SECONDS = 150, 2.0
"""The end takes about as long as so many steps of the smallest network, and so many seconds more."""

Speed = TypeVar("Speed", SearchSpeed, TrainSpeed)


def measure_speeds(config: FitConfig, data: FitData, facts: Facts, *, seconds: float) -> Speeds:
    """What rounds and steps cost here; `seconds` are those of the whole fit."""
    began = time.perf_counter()

    def may_go_on() -> bool:
        return time.perf_counter() - began < PROBING * seconds

    images = data.trained
    cells = [_cells_speed(config, images, data.share, CELL_SIZES[0])]
    edges = edge_shares(config, images, data.share, cells[0])
    resnets = [_resnet_speed(config, images, data.share, RESNETS[0])]
    found = Speeds(search=(), cells=tuple(cells), edges=edges, resnet=tuple(resnets), end=0.0)
    search: list[SearchSpeed] = []
    if searchable(facts):
        measure = partial(search_speed, config, data)
        share = share_of("cells", found, seconds)
        search = _ladder(
            SEARCH_SIZES, measure, lambda speed: larger_search_fits(speed, facts, share), may_go_on
        )
    cells += _ladder(
        CELL_SIZES[1:],
        partial(_cells_speed, config, images, data.share),
        lambda speed: larger_fits(speed, share_of("cells", found, seconds) / 2),
        may_go_on,
        before=cells[-1],
    )
    resnets += _ladder(
        RESNETS[1:],
        partial(_resnet_speed, config, images, data.share),
        lambda speed: larger_fits(speed, share_of("resnet", found, seconds)),
        may_go_on,
        before=resnets[-1],
    )
    return Speeds(
        search=tuple(search),
        cells=tuple(cells),
        edges=edges,
        resnet=tuple(resnets),
        end=END_STEPS * cells[0].step + END_SECONDS,
    )


Size = TypeVar("Size")


def _ladder(
    sizes: Sequence[Size],
    measure: Callable[[Size], Speed],
    larger: Callable[[Speed], bool],
    may_go_on: Callable[[], bool],
    *,
    before: Speed | None = None,
) -> list[Speed]:
    """Speeds of rising sizes, as long as a larger one may fit and the time for measuring lasts."""
    found: list[Speed] = []
    for size in sizes:
        last = found[-1] if found else before
        if last is not None and not (larger(last) and may_go_on()):
            break
        found.append(measure(size))
    return found


def search_speed(config: FitConfig, data: FitData, size: tuple[int, int]) -> SearchSpeed:
    """Rounds of a search of that size, and the end of an epoch."""
    cells, channels = size
    every = data.searched(len(data.images.labels))
    batch = search_batch(
        len(every.labels) // 2, gpu=config.device != "cpu" and torch.cuda.is_available()
    )
    began = time.perf_counter()
    planned = PlannedSearch(
        images=0, batch_size=batch, cells=cells, channels=channels, epochs=2 + STEPS, seconds=0.0
    )
    settings = replace(search_settings(config, planned, None), warmup=0.0)  # rounds that learn
    prepared = prepare(settings, every)
    search = prepared.search
    with own_randomness(search.device, 0):
        search.begin_epoch()
        captured = is_captured(search, prepared.config.backend)
        round_ = captured_round(search) if captured else partial(play_round, search)

        def play() -> None:
            if search.round_in_epoch == search.settings.rounds_per_epoch:
                search.epoch, search.round_in_epoch = search.epoch + 1, 0
                search.begin_epoch()
            round_()

        play()
        synchronize(search.device)
        start = time.perf_counter() - began
        each = _median(play, search.device)
        ending = time.perf_counter()
        end_epoch(search)
        _save(search_state(search))
        synchronize(search.device)
    return SearchSpeed(
        cells=cells,
        channels=channels,
        batch_size=batch,
        start=start,
        round=each,
        epoch_end=time.perf_counter() - ending,
    )


def search_batch(half: int, *, gpu: bool) -> int:
    """Images per batch of a search whose halves have so many."""
    most = SEARCH_BATCH["cuda" if gpu else "cpu"]
    return max(SMALLEST_BATCH, min(most, half // ROUNDS_PER_EPOCH // 8 * 8))


def train_speed(
    config: FitConfig,
    images: Images,
    share: float,
    cell: str,
    *,
    cells: int | None = None,
    channels: int | None = None,
) -> TrainSpeed:
    """Steps of a training, and the end of an epoch."""
    began = time.perf_counter()
    settings = train_settings(
        config, cell, share=share, epochs=LEAST_EPOCHS, cells=cells, channels=channels
    )
    prepared = prepare_training(settings, images, find_architecture(cell))
    training = prepared.training
    with own_randomness(training.device, 0):
        training.begin_epoch()
        captured = is_captured(training, prepared.config.backend)
        step_ = captured_step(training) if captured else partial(train_step, training)

        def step() -> None:
            if training.step_in_epoch == training.settings.steps_per_epoch:
                training.epoch, training.step_in_epoch = training.epoch + 1, 0
                training.begin_epoch()
            step_()

        step()
        synchronize(training.device)
        start = time.perf_counter() - began
        each = _median(step, training.device)
        ending = time.perf_counter()
        _save(train_state(training, None))
        saving = time.perf_counter() - ending
    valid, batch = prepared.valid, prepared.plan.recipe.batch_size
    assert valid is not None  # noqa: S101 - a share is held out
    held = len(images.labels) - training.settings.steps_per_epoch * batch
    whole = max(1, round(held / batch))
    looking = time.perf_counter()
    with torch.autocast(training.device.type, dtype=torch.bfloat16, enabled=training.settings.autocast):
        evaluate(training.model, islice(valid.whole(), EVALUATED), prepared.classes)
    passed = time.perf_counter() - looking
    return TrainSpeed(
        cell=cell,
        cells=prepared.plan.network.cells,
        channels=prepared.plan.network.channels,
        steps=training.settings.steps_per_epoch,
        start=start,
        step=each,
        epoch_end=saving + passed * whole / min(EVALUATED, whole),
    )


def edge_shares(config: FitConfig, images: Images, share: float, speed: TrainSpeed) -> dict[str, float]:
    """What an edge of each operation adds to a step of the network that was measured, as a share.

    Every operation is timed alone, forwards and backwards, at the sizes that it has in the network. All
    edges of the reference cell together count for at most `MOST_OF_A_STEP`.
    """
    reference = find_genotype(REFERENCE)
    settings = train_settings(
        config, REFERENCE, share=share, epochs=1, cells=speed.cells, channels=speed.channels
    )
    prepared = prepare_training(settings, images, reference)
    device, batch = prepared.training.device, prepared.plan.recipe.batch_size
    found: dict[str, float] = {}
    for operation in SPACES["darts"].operations:
        channels, (height, width) = speed.channels, prepared.seen
        for kind in cell_kinds(speed.cells):
            if kind is CellKind.REDUCTION:
                channels, height, width = 2 * channels, max(1, height // 2), max(1, width // 2)
            name = f"{kind}/{operation}"
            x = torch.randn(batch, channels, height, width, device=device)
            found[name] = found.get(name, 0.0) + _operation_seconds(operation, x) / speed.step
    scale = min(1.0, MOST_OF_A_STEP / edges_share(found, reference))
    return {name: scale * share for name, share in found.items()}


def _operation_seconds(operation: str, x: torch.Tensor) -> float:
    module = build_operation(operation, x.shape[1], 1, FINAL).to(x.device)
    given = x.requires_grad_()

    def once() -> None:
        out = module(given)
        if out.requires_grad:
            out.sum().backward()

    once()
    return _median(once, x.device)


def _cells_speed(config: FitConfig, images: Images, share: float, size: tuple[int, int]) -> TrainSpeed:
    return train_speed(config, images, share, REFERENCE, cells=size[0], channels=size[1])


def _resnet_speed(config: FitConfig, images: Images, share: float, name: str) -> TrainSpeed:
    return train_speed(config, images, share, name)


def _median(once: Callable[[], object], device: torch.device) -> float:
    times = []
    for _ in range(STEPS):
        began = time.perf_counter()
        once()
        synchronize(device)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _save(state: dict[str, object]) -> None:
    """Write a checkpoint as runs do."""
    with TemporaryDirectory(prefix="xnas-") as folder:
        Checkpoints(Path(folder)).save(state)
