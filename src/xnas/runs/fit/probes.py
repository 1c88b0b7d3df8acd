"""Probes: a search and a training that are really played for some steps, and timed one by one.

What they learn is thrown away. Probes that are kept at the same time can be timed in turn, so that a
machine which is busy for a moment slows all of them, not one.
"""

from __future__ import annotations

import statistics
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, TypeVar

import torch

from xnas.data import Images
from xnas.engine import captured_round, end_epoch, play_round, search_state
from xnas.engine.checkpoint import Checkpoints
from xnas.engine.evaluate import evaluate, together
from xnas.engine.train import captured_step, own_randomness, train_step
from xnas.engine.train_state import train_state
from xnas.process.devices import synchronize
from xnas.records.fitting import PlannedSearch, SearchSpeed, TrainSpeed
from xnas.runs.backends import is_captured
from xnas.runs.fit.config import FitConfig
from xnas.runs.fit.parts import FitData, search_settings, train_settings
from xnas.runs.fit.sizing import LEAST_EPOCHS
from xnas.runs.prepare import prepare
from xnas.runs.prepare_training import prepare_training
from xnas.space import Architecture

SEARCH_BATCH = {"cpu": 32, "cuda": 96}
"""Images per batch of a search: on a CPU small ones, which give more rounds in the same time."""
SMALLEST_BATCH, ROUNDS_PER_EPOCH = 8, 20
FIRST_STEPS, FIRST_SECONDS = 4, 2.0
"""Steps that a probe is timed for at once; two, if they take longer than this."""
EVALUATED = 2  # batches
EPOCHS = 1000
"""Of a probe's search, which is never played to its end."""

Speed_co = TypeVar("Speed_co", SearchSpeed, TrainSpeed, covariant=True)


class Probe(ABC, Generic[Speed_co]):
    """Something whose steps are timed."""

    device: torch.device
    step: Callable[[], None]
    """Plays one."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def time_step(self) -> float:
        """Play one step, and note its seconds."""
        with own_randomness(self.device, 0):
            began = time.perf_counter()
            self.step()
            synchronize(self.device)
            self.times.append(time.perf_counter() - began)
        return self.times[-1]

    def time_first(self) -> None:
        """Play a few steps; fewer of them where each takes seconds."""
        began = time.perf_counter()
        for count in range(FIRST_STEPS):
            if count > 1 and time.perf_counter() - began > FIRST_SECONDS:
                return
            self.time_step()

    @abstractmethod
    def speed(self, typical: Callable[[Sequence[float]], float]) -> Speed_co:
        """What was measured; `typical` makes one number of the seconds of all steps."""


def quick_quarter(times: Sequence[float]) -> float:
    """The lower quartile: other work on the machine makes single steps slower, never faster."""
    return sorted(times)[(len(times) - 1) // 4]


def trimmed_mean(times: Sequence[float]) -> float:
    """The mean without the slowest tenth: what a step takes while other work goes on as it does now."""
    ordered = sorted(times)
    return statistics.fmean(ordered[: max(1, len(ordered) - len(ordered) // 10)])


class SearchProbe(Probe[SearchSpeed]):
    """Rounds of a search of one size, and the end of an epoch."""

    def __init__(self, config: FitConfig, data: FitData, space: str, size: tuple[int, int]) -> None:
        super().__init__()
        began = time.perf_counter()
        every = data.searched(len(data.images.labels))
        gpu = config.device != "cpu" and torch.cuda.is_available()
        self.space, (self.cells, self.channels) = space, size
        self.batch = search_batch(len(every.labels) // 2, gpu=gpu)
        planned = PlannedSearch(
            space=space,
            images=0,
            batch_size=self.batch,
            cells=self.cells,
            channels=self.channels,
            epochs=EPOCHS,
            seconds=0.0,
        )
        settings = replace(search_settings(config, planned, None), warmup=0.0)  # rounds that learn
        prepared = prepare(settings, every)
        search = self.search = prepared.search
        self.device = search.device
        with own_randomness(self.device, 0):
            search.begin_epoch()
            captured = is_captured(search, prepared.config.backend)
            round_ = captured_round(search) if captured else partial(play_round, search)

        def play() -> None:
            if search.round_in_epoch == search.settings.rounds_per_epoch:
                search.epoch, search.round_in_epoch = search.epoch + 1, 0
                search.begin_epoch()
            round_()

        self.step = play
        self.time_step()
        self.times.clear()  # the first is slow
        self.start = time.perf_counter() - began

    def speed(self, typical: Callable[[Sequence[float]], float]) -> SearchSpeed:
        """What was measured; the end of an epoch is played when this is first asked for."""
        return SearchSpeed(
            space=self.space,
            cells=self.cells,
            channels=self.channels,
            batch_size=self.batch,
            start=self.start,
            round=typical(self.times),
            epoch_end=self._epoch_end,
        )

    @cached_property
    def _epoch_end(self) -> float:
        began = time.perf_counter()
        with own_randomness(self.device, 0):
            end_epoch(self.search)
            _save(search_state(self.search))
            synchronize(self.device)
            seconds = time.perf_counter() - began
            self.search.begin_epoch()
        return seconds


class TrainProbe(Probe[TrainSpeed]):
    """Steps of a training, and the end of an epoch."""

    def __init__(
        self,
        config: FitConfig,
        images: Images,
        share: float,
        cell: str,
        architecture: Architecture,
        *,
        cells: int | None = None,
        channels: int | None = None,
        side: int | None = None,
        tuned: int = 0,
    ) -> None:
        """`cell` is what the speed is called; sizes are those of the network unless they are given."""
        super().__init__()
        began = time.perf_counter()
        self.cell, self.side, self.images = cell, side, images
        settings = train_settings(
            config,
            "xnas",
            share=share,
            epochs=LEAST_EPOCHS,
            cells=cells,
            channels=channels,
            tuned=tuned,
        )
        prepared = self.prepared = prepare_training(settings, images, architecture)
        training = prepared.training
        self.device = training.device
        with own_randomness(self.device, 0):
            training.begin_epoch()
            captured = is_captured(training, prepared.config.backend)
            step_ = captured_step(training) if captured else partial(train_step, training)

        def step() -> None:
            if training.step_in_epoch == training.settings.steps_per_epoch:
                training.epoch, training.step_in_epoch = training.epoch + 1, 0
                training.begin_epoch()
            step_()

        self.step = step
        self.time_step()
        self.times.clear()
        self.start = time.perf_counter() - began

    def speed(self, typical: Callable[[Sequence[float]], float]) -> TrainSpeed:
        """What was measured; the end of an epoch is played when this is first asked for."""
        spec = self.prepared.plan.network
        return TrainSpeed(
            cell=self.cell,
            cells=spec.cells,
            channels=spec.channels,
            side=self.side,
            steps=self.prepared.training.settings.steps_per_epoch,
            start=self.start,
            step=typical(self.times),
            epoch_end=self._epoch_end,
        )

    @cached_property
    def _epoch_end(self) -> float:
        """A checkpoint, and the validation images, from some batches of them."""
        training = self.prepared.training
        began = time.perf_counter()
        _save(train_state(training, None))
        saving = time.perf_counter() - began
        steps, batch = training.settings.steps_per_epoch, self.prepared.plan.recipe.batch_size
        return saving + self.answering(len(self.images.labels) - steps * batch)

    def answering(self, images: int) -> float:
        """Seconds in which the network answers so many images, at least a batch."""
        return max(1, round(images / self.prepared.plan.recipe.batch_size)) * self._batch_seconds

    @cached_property
    def _batch_seconds(self) -> float:
        """Of an evaluated batch."""
        prepared, training = self.prepared, self.prepared.training
        began, autocast = time.perf_counter(), training.settings.autocast
        assert prepared.valid is not None  # noqa: S101 - a share is held out
        batches = list(islice(together(prepared.valid.whole(), self.device), EVALUATED))
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=autocast):
            answered = evaluate(training.model, batches, prepared.classes).images
        synchronize(self.device)
        return (time.perf_counter() - began) * prepared.plan.recipe.batch_size / answered


def search_batch(half: int, *, gpu: bool) -> int:
    """Images per batch of a search whose halves have so many."""
    most = SEARCH_BATCH["cuda" if gpu else "cpu"]
    return max(SMALLEST_BATCH, min(most, half // ROUNDS_PER_EPOCH // 8 * 8))


def _save(state: dict[str, object]) -> None:
    """Write a checkpoint as runs do."""
    with TemporaryDirectory(prefix="xnas-") as folder:
        Checkpoints(Path(folder)).save(state)
