"""What a comparison gives: runs, a summary of each entry, and which differences are more than noise."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from xnas.records.reading import record_of

Measure = Literal["true", "judged", "trained", "supernet"]
"""What accuracies are: known from a benchmark, estimated from one, of trained networks on test images,
or the last validation accuracy of each search."""
RunState = Literal["waiting", "done", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """One run of a comparison. Accuracies are in percent."""

    name: str
    """Of its folder in the comparison's `runs/`."""
    entry: str
    data: str
    space: str
    seed: int
    state: RunState
    reason: str | None = None
    """Why it failed, in one line."""
    accuracy: float | None = None
    cell: str | None = None
    """The operations of the cell, in words."""
    curve: tuple[tuple[int, float], ...] = ()
    """Accuracy of the present cell after so many epochs or, of a sampling, evaluations."""
    minutes: float | None = None
    """Of its device, trainings included; None where nothing was computed."""
    memory_bytes: int | None = None
    """Peak, as runs record it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySummary:
    """The finished runs of an entry on one data set and space. Accuracies are in percent."""

    entry: str
    data: str
    space: str
    runs: int
    failed: int
    mean: float | None
    deviation: float | None
    """Standard deviation over seeds; None for a single run."""
    least: float | None
    most: float | None
    over_random: float | None
    """Mean less that of random cells."""
    over_reference: float | None
    """Mean less that of the reference."""
    minutes: float | None
    """Of the device, per run."""
    memory_bytes: int | None
    """The largest peak."""
    over_default: float | None = None
    """Mean less that of `xnas`, the default; None if that is the reference, or no entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An entry compared with the reference, in points of accuracy."""

    entry: str
    reference: str
    data: str
    space: str
    runs: tuple[int, int]
    difference: float
    low: float | None
    """Lower end of the 95 % confidence interval."""
    high: float | None
    hedges_g: float | None
    """The difference in pooled standard deviations, corrected for few runs."""
    p: float | None
    adjusted: float | None
    """After Holm's correction for all tests of the comparison."""
    noise: bool | None
    """Whether chance may explain it; None if it was not tested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """All runs of a comparison, and what they say."""

    measure: Measure
    reference: str
    """The entry that others are compared with."""
    random_mean: dict[str, float]
    """Mean accuracy of random cells, by `DATA, SPACE`; empty where none is known."""
    random_words: str
    """What those cells are."""
    test: str | None
    """The test, in words; None if nothing was tested."""
    runs: tuple[ComparedRun, ...]
    summaries: tuple[EntrySummary, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()
    """What a reader has to know."""

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> RunComparison:
        """Return the comparison in comparison.json; a TypeError names what is wrong with it.

        Its other keys, such as settings, are left out.
        """
        known = {field.name for field in fields(cls)}
        own = {name: value for name, value in saved.items() if name in known}
        found = record_of(cls, own)
        if not (found.runs and found.summaries):
            raise TypeError("it has no runs, or no summaries of them")
        return found

    @property
    def failed(self) -> int:
        """How many runs failed."""
        return sum(run.state == "failed" for run in self.runs)

    @property
    def done(self) -> int:
        """How many runs are finished."""
        return sum(run.state == "done" for run in self.runs)
