"""Follows a run, ends it the way its user would, and says what it ran on."""

from __future__ import annotations

import platform
import signal
import time

import torch

import xnas
from xnas.engine import Search
from xnas.engine.train import Training
from xnas.process.devices import pick_device
from xnas.records import SearchEpoch, TrainEpoch
from xnas.report.truths import truth_text
from xnas.runs.displays import Silence


class Watch(Silence):
    """Prints an epoch a line; presses Ctrl-C at a deadline, or when enough epochs are closed.

    Both end a run with a checkpoint, as Ctrl-C in a terminal does: schedules and horizon stay those of
    the whole run, and `resume_search` or `resume_training` would resume it.
    """

    def __init__(self, name: str, *, deadline: float, stop_after: int | None = None) -> None:
        """`deadline` is a time of `time.perf_counter`."""
        self.name, self.deadline, self.stop_after = name, deadline, stop_after
        self.pressed = False
        self.began = time.perf_counter()
        self.ready: float | None = None
        """Seconds until the run began to speak: images are loaded then, and the network is built."""

    def say(self, line: str) -> None:
        """A line of the run."""
        if self.ready is None:
            self.ready = time.perf_counter() - self.began
        print(f"[{self.name}] {line}", flush=True)

    def warn(self, line: str) -> None:
        """A warning of the run."""
        self.say(f"warning: {line}")

    def after_round(self, search: Search) -> None:  # noqa: ARG002 - a display's signature
        """Look at the clock."""
        self._look()

    def after_step(self, training: Training) -> None:  # noqa: ARG002 - a display's signature
        """Look at the clock."""
        self._look()

    def after_epoch(self, record: SearchEpoch | TrainEpoch, epochs: int) -> None:
        """Say how it goes; stop after the epoch that was asked for."""
        told = f"epoch {record.epoch} of {epochs}: loss {record.train_loss:.3f}, accuracy "
        told += f"{100 * record.train_accuracy:.2f} %, {record.cost.seconds:.1f} s"
        if isinstance(record, TrainEpoch) and record.valid_accuracy is not None:
            told += f", validation accuracy {100 * record.valid_accuracy:.2f} %"
        if isinstance(record, SearchEpoch) and record.truth is not None:
            told += f", {truth_text(record.truth)}"
        self.say(told)
        if self.stop_after is not None and record.epoch >= self.stop_after:
            self._press()

    def _look(self) -> None:
        if time.perf_counter() > self.deadline:
            self._press()

    def _press(self) -> None:
        if not self.pressed:  # a second Ctrl-C would end the run without a checkpoint
            self.pressed = True
            signal.raise_signal(signal.SIGINT)


def ran_on(device: str) -> dict[str, str]:
    """Device and versions, for a result."""
    chosen = pick_device(device)
    return {
        "device": torch.cuda.get_device_name(chosen) if chosen.type == "cuda" else "CPU",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "xnas": xnas.__version__,
    }
