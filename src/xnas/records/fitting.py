"""What a fit measured before it began, what it planned, and how its networks compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xnas.records.reading import record_of
from xnas.records.training import Evaluation, Latency

ROWS = ("found", "published", "random", "resnet", "pretrained")
"""Names of all networks of a fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpeed:
    """Seconds of a search of one size on this machine."""

    space: str
    cells: int
    channels: int
    batch_size: int
    start: float
    """Until the first round."""
    round: float
    epoch_end: float
    """Between two epochs: absences of edges, deletions, a checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSpeed:
    """Seconds of a training of one network on this machine."""

    cell: str
    cells: int
    channels: int
    side: int | None = None
    """Of the images as a pretrained model gets them; None for networks that take images as they are."""
    steps: int
    """Per epoch."""
    start: float
    """Until the first step."""
    step: float
    epoch_end: float
    """Between two epochs: the validation images, a checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speeds:
    """What was measured before a fit was planned; sizes in rising order."""

    threads: int | None = None
    """With how many threads all of it was measured; None on a GPU."""
    search: tuple[SearchSpeed, ...]
    """Of one space; empty if no search is to be planned."""
    cells: tuple[TrainSpeed, ...]
    """Of a reference cell of that space."""
    resnet: tuple[TrainSpeed, ...]
    pretrained: tuple[TrainSpeed, ...] = ()
    """Of one model with images of several sizes; empty without weights."""
    end: float
    """Latencies, test and export, estimated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One choice of a plan."""

    subject: str
    choice: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSearch:
    """The search of a plan."""

    space: str
    images: int
    """Training images that it sees; the validation part is not among them."""
    batch_size: int
    cells: int
    channels: int
    epochs: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTraining:
    """A training of a plan whose network is known beforehand."""

    cell: str
    cells: int
    channels: int
    side: int | None = None
    """Of the images as a pretrained model gets them."""
    epochs: int
    """As expected; they are settled when it begins."""
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCells:
    """Both trainings of a plan whose cells are not known yet: the found one and the random one."""

    published: str | None
    """The cell that is trained if there is no search."""
    cells: int
    channels: int
    epochs: int
    """Of each, as expected; they are settled when both cells are known."""
    seconds: float
    """For both trainings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Epochs of a training (`cells` for both cells), decided once, when it was to begin."""

    stage: str
    epochs: int
    seconds: float
    """That they were expected to take."""
    channels: int | None = None
    """Of the network of the random cell, which random.json holds from then on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitPlan:
    """What a fit does: sizes are decided before anything is trained, epochs when a training begins."""

    minutes: float
    threads: int | None = None
    """That a CPU computes with; None on a GPU."""
    spent: float
    """Seconds that reading images and measuring took."""
    validation: float
    """Share of the training images that is held out."""
    search: PlannedSearch | None
    cells: PlannedCells
    resnet: PlannedTraining | None
    """None if none obeys the limits."""
    pretrained: PlannedTraining | None
    end: float
    decisions: tuple[Decision, ...]
    settled: tuple[Settled, ...] = ()

    @property
    def seconds(self) -> float:
        """Of everything."""
        return self.spent + sum(self.stages().values())

    def stages(self) -> dict[str, float]:
        """Planned seconds of every stage, in their order."""
        half = self.cells.seconds / 2
        planned = {"search": self.search.seconds if self.search else 0.0, "found": half, "random": half}
        planned |= {"resnet": self.resnet.seconds if self.resnet else 0.0}
        planned |= {"pretrained": self.pretrained.seconds if self.pretrained else 0.0}
        return {name: seconds for name, seconds in planned.items() if seconds} | {"end": self.end}

    def settled_epochs(self, stage: str) -> int | None:
        """The epochs of a stage if they are settled."""
        return next((one.epochs for one in self.settled if one.stage == stage), None)

    @property
    def random_channels(self) -> int | None:
        """Channels of the network of the random cell, if they are settled."""
        return next((one.channels for one in self.settled if one.channels is not None), None)

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> FitPlan:
        """Return the plan of an object in a file; a TypeError names what is wrong with it."""
        plan = record_of(cls, saved)
        _require_known({one.stage for one in plan.settled}, {*ROWS, "cells"}, "settled")
        return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCost:
    """What a network of a fit cost on this machine."""

    latency: Latency
    """Of one image on the device of the fit."""
    seconds: float
    """By the clock, of all calls: its whole training, and the whole search for a found cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRow:
    """One network of a fit."""

    name: str
    """`found`, `published`, `random`, `resnet` or `pretrained`."""
    what: str
    """The network in a few words."""
    accuracy: float
    """On the validation images, by the last weights."""
    lower: float
    """Of the 95 % interval of the accuracy, by Wilson's score."""
    upper: float
    parameters: int
    macs: int
    epochs: int
    out: str
    """Its run folder, inside that of the fit."""
    cost: RowCost


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two networks on the same validation images."""

    first: str
    second: str
    lead: float
    """Accuracy of the first less that of the second."""
    only_first: int
    """Images that the first alone answers rightly."""
    only_second: int
    p: float
    """Of McNemar's exact test, two-sided: how likely answers that differ split so unevenly by chance."""
    clear: bool
    """Whether that is below 5 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitCost:
    """What a whole fit cost on this machine."""

    stages: dict[str, float]
    """Seconds by the clock of every stage, of all calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSummary:
    """How a fit ended, as fit.json has it."""

    rows: tuple[FitRow, ...]
    """In the order of the table."""
    missing: dict[str, str]
    """Rows that are not there, with the reason."""
    comparison: Comparison
    """The best by validation, and the second."""
    gain: Comparison | None
    """The found cell and the random one; None without a search."""
    behind: Comparison | None = None
    """The best and the found (or published) cell, where a baseline is the best."""
    images: int
    """Validation images."""
    test: Evaluation | None
    """Of the winner; None without test images."""
    files: tuple[str, ...]
    """What was exported, inside the run folder."""
    cost: FitCost

    @property
    def winner(self) -> FitRow:
        """The best by validation."""
        return next(row for row in self.rows if row.name == self.comparison.first)

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> FitSummary:
        """Return the summary of an object in a file; a TypeError names what is wrong with it."""
        summary = record_of(cls, saved)
        if summary.test is not None:
            Evaluation.from_json(saved["test"])
        names = {row.name for row in summary.rows}
        pairs = [pair for pair in (summary.comparison, summary.gain, summary.behind) if pair]
        _require_known({*names, *summary.missing}, set(ROWS), "rows")
        for name in (name for pair in pairs for name in (pair.first, pair.second)):
            if name not in names:
                raise TypeError(f"there is no row {name!r}, which is compared")
        return summary


def _require_known(names: set[str], known: set[str], where: str) -> None:
    """Raise a TypeError for a name of a network that is none of those known."""
    strange = next(iter(sorted(names - known)), None)
    if strange is not None:
        raise TypeError(f"{strange!r} is no network in {where!r}")
