"""Who follows a run: its display (a terminal, a notebook, nothing) and callbacks of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from reprlib import repr as brief
from typing import Any, Protocol, TypeVar

from xnas.engine import Search
from xnas.engine.train import Training
from xnas.errors import ConfigError
from xnas.records import SearchEpoch, TrainEpoch
from xnas.runs.sampling.loop import Evaluated, SampleLoop

Record_contra = TypeVar("Record_contra", contravariant=True)
Shown = TypeVar("Shown")


class Display(Protocol[Record_contra]):
    """What every run reports."""

    def say(self, line: str) -> None:
        """Information."""

    def warn(self, line: str) -> None:
        """A warning."""

    def after_epoch(self, record: Record_contra, epochs: int) -> None:
        """One of `epochs` epochs has ended."""


class SearchDisplay(Display[SearchEpoch], Protocol):
    """Follows a search."""

    def after_round(self, search: Search) -> None:
        """One round was played."""


class TrainDisplay(Display[TrainEpoch], Protocol):
    """Follows a training."""

    def after_step(self, training: Training) -> None:
        """One step was made."""


class SampleDisplay(Protocol):
    """Follows a search by sampling."""

    def say(self, line: str) -> None:
        """Information."""

    def warn(self, line: str) -> None:
        """A warning."""

    def after_trial(self, one: Evaluated, loop: SampleLoop) -> None:
        """The result of a trial is known."""


class FitDisplay(SearchDisplay, Protocol):
    """Follows a fit: its search and its trainings."""

    def after_step(self, training: Training) -> None:
        """One step was made."""

    def begin_stage(self, stage: str, seconds: float, left: float) -> None:
        """A stage of so many planned seconds begins; `left` are those of all that is still to come."""


class Callback:
    """Code of yours that follows a run: override what you want to know; the rest does nothing.

    Give objects of it as `callbacks` to `xnas.search`, `xnas.train`, `xnas.sample` or `xnas.fit`: they
    are called after the progress was shown, in their order, between two rounds, in the first process
    alone. They should not change what they are given. An exception ends the run; it can be resumed from
    its last checkpoint.

    >>> class Losses(Callback):
    ...     def after_epoch(self, record, epochs):
    ...         print(record.epoch, epochs)
    """

    def say(self, line: str) -> None:
        """Follow what the run reports, line by line."""

    def warn(self, line: str) -> None:
        """Follow its warnings."""

    def after_round(self, search: Search) -> None:
        """One round of a search was played; `search.rounds` counts them."""

    def after_step(self, training: Training) -> None:
        """One step of a training was made; `training.steps` counts them."""

    def after_epoch(self, record: Any, epochs: int) -> None:  # noqa: ANN401 - of either kind
        """One of `epochs` epochs has ended: a `SearchEpoch` or a `TrainEpoch` of `xnas.records`."""

    def after_trial(self, one: Evaluated, loop: SampleLoop) -> None:
        """The result of one cell is known, in a search by sampling."""

    def begin_stage(self, stage: str, seconds: float, left: float) -> None:
        """A stage of a fit begins, of so many planned seconds, with `left` for all that is to come."""


class Silence(Callback):
    """A display of any kind that shows nothing."""


class Together(Callback):
    """Several displays as one."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = parts

    def say(self, line: str) -> None:
        """Pass it on."""
        for part in self.parts:
            part.say(line)

    def warn(self, line: str) -> None:
        """Pass it on."""
        for part in self.parts:
            part.warn(line)

    def after_round(self, search: Search) -> None:
        """Pass it on."""
        for part in self.parts:
            part.after_round(search)

    def after_step(self, training: Training) -> None:
        """Pass it on."""
        for part in self.parts:
            part.after_step(training)

    def after_epoch(self, record: SearchEpoch | TrainEpoch, epochs: int) -> None:
        """Pass it on."""
        for part in self.parts:
            part.after_epoch(record, epochs)

    def after_trial(self, one: Evaluated, loop: SampleLoop) -> None:
        """Pass it on."""
        for part in self.parts:
            part.after_trial(one, loop)

    def begin_stage(self, stage: str, seconds: float, left: float) -> None:
        """Pass it on."""
        for part in self.parts:
            part.begin_stage(stage, seconds, left)


@contextmanager
def showing(
    display: Shown | None,
    usual: Callable[[], AbstractContextManager[Shown]],
    *,
    quiet: bool = False,
    callbacks: Sequence[Callback] = (),
    first: bool = True,
) -> Iterator[Shown]:
    """What a run reports to in the block: `display`, or without one `usual()` unless `quiet`.

    Then the callbacks. Of several processes, those that are not the `first` report to nothing.
    """
    require_callbacks(callbacks)
    with ExitStack() as stack:
        parts: list[Any] = []
        if first and display is not None:
            parts.append(display)
        elif first and not quiet:
            parts.append(stack.enter_context(usual()))
        parts += callbacks if first else []
        shown: Any = parts[0] if len(parts) == 1 else Together(parts)
        yield shown


def require_callbacks(callbacks: object) -> None:
    """Raise unless these are several objects of `Callback`."""
    given = callbacks if isinstance(callbacks, list | tuple) else [callbacks]
    wrong = next((one for one in given if not isinstance(one, Callback)), None)
    if wrong is not None or given is not callbacks:
        found = brief(callbacks if wrong is None else wrong)
        raise ConfigError(
            f"callbacks must be a list of objects whose class inherits xnas.Callback, got {found}"
        )
