"""The run folder as processes other than the first see it: read, never written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xnas.engine.distributed import Ranks
from xnas.runs.metrics_file import MetricsFile
from xnas.runs.run_folder import RunFolder


class Onlooker(RunFolder):
    """A folder that another process holds and writes."""

    @contextmanager
    def locked(self, *, new: bool = False) -> Iterator[None]:  # noqa: ARG002 - the first process does
        """Nothing: the first process holds the folder."""
        yield

    def write_text(self, name: str, text: str) -> None:
        """Nothing."""

    @property
    def metrics(self) -> MetricsFile:
        """Those that the first process writes."""
        return _MetricsSeen(super().metrics.path, self.told)


class _MetricsSeen(MetricsFile):
    def append(self, line: str) -> None:
        """Nothing."""

    def restore(self, state: dict[str, Any] | None, warn: Callable[[str], None]) -> None:
        """Nothing."""


def new_folder(
    ranks: Ranks,
    choose: Callable[[], Path],
    data: str | None,
    first: Mapping[str, str] | None = None,
) -> RunFolder:
    """A new folder, which the first process chooses and makes, for it to write and all to know."""
    path = ranks.first_does(lambda: RunFolder.create(choose(), data, first).path)
    return (RunFolder if ranks.first else Onlooker)(path, data, first)


def folder_again(ranks: Ranks, path: Path) -> RunFolder:
    """The folder of a run that is resumed, by as many processes as began it."""
    folder = RunFolder.open(path) if ranks.first else Onlooker.open(path)
    folder.require_processes(ranks.size)
    return folder
