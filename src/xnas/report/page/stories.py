"""What pages about runs are drawn from: records, and what a run folder says of itself.

Readers (`xnas.runs.reports`) fill these as far as the files of a run go. What is missing is empty or
None, and pages leave it out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePath

from xnas.records import (
    EdgeChoice,
    Evaluation,
    FitPlan,
    FitSummary,
    Ledger,
    ListedRun,
    RunComparison,
    Sampled,
    SearchEpoch,
    TrainEpoch,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead:
    """What every run has."""

    path: str
    state: str = "finished"
    """`running`, `stopped`, `finished` or `damaged`."""
    faults: tuple[str, ...] = ()
    """What could not be read, a line each."""
    data: str = "images in memory"
    command: str = ""
    """The command that makes such a run again."""
    settings: tuple[tuple[str, str], ...] = ()
    """All resolved ones, by name."""
    changed: tuple[str, ...] = ()
    """Names of those that are not the default."""
    versions: tuple[tuple[str, str], ...] = ()
    seed: int | None = None
    machine: str = ""
    next_command: str = ""
    written: str = ""
    """When, and by which version."""

    @property
    def data_name(self) -> str:
        """What the data are called in a title: of a folder its name alone."""
        return PurePath(self.data).name or self.data


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSize:
    """A cell beside others: the network that is built of it by the same recipe."""

    name: str
    parameters: int
    macs: int | None
    depth: float
    own: bool = False
    """Whether it is the cell of the run."""
    error: float | None = None
    """Of the paper's network of this cell on CIFAR-10, in percent, as published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedCells:
    """The shape of the cells of a search."""

    operations: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]
    """Source and node of every forecaster."""
    inputs: int
    nodes: int
    concat: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStory:
    """A search."""

    head: RunHead
    space: str = ""
    method: str = ""
    epochs_planned: int = 0
    cells: SearchedCells | None = None
    epochs: tuple[SearchEpoch, ...] = ()
    choices: tuple[EdgeChoice, ...] = ()
    ledgers: dict[str, Ledger] = field(default_factory=dict)
    undecided: tuple[EdgeChoice, ...] = ()
    """Kept edges on which the lead of the operation is within noise."""
    compared: int = 0
    """Kept edges that had a choice."""
    sizes: tuple[CellSize, ...] = ()
    graph: DrawnCell | None = None
    """The cell that was found."""
    network: str = ""
    """What is built of each cell for `sizes`, in words."""
    warning: str = ""
    """Of collapse: skip connections that take over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A wrong answer."""

    png: bytes
    index: int
    label: str
    answer: str
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainStory:
    """A training."""

    head: RunHead
    cell: str = ""
    epochs_planned: int = 0
    epochs: tuple[TrainEpoch, ...] = ()
    test: Evaluation | None = None
    mistakes: tuple[Mistake, ...] = ()
    parameters: int | None = None
    macs: int | None = None
    graph: DrawnCell | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleStory:
    """A search by sampling."""

    head: RunHead
    sampler: str = ""
    evaluator: str = ""
    planned: int | None = None
    evaluations: tuple[Sampled, ...] = ()
    cells: tuple[str, ...] = ()
    """Of each evaluation, in a line."""
    truth: str = ""
    """What a benchmark knows of the best cell, in words."""
    graph: DrawnCell | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FitStory:
    """A fit."""

    head: RunHead
    minutes: float | None = None
    plan: FitPlan | None = None
    summary: FitSummary | None = None
    """None until it is finished."""
    stages: dict[str, float] = field(default_factory=dict)
    """Seconds by the clock that every stage has taken."""
    pages: dict[str, str] = field(default_factory=dict)
    """The addresses of the reports of its runs, by stage."""
    punctuality: tuple[str, ...] = ()
    """A sentence if its time did not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonStory:
    """A comparison of methods."""

    head: RunHead
    comparison: RunComparison | None = None
    """None if its file is damaged."""
    pages: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of the runs by their names: the addresses of the report of the search (or sampling) and of that of
    the training, empty where there is none."""
    listed: tuple[ListedRun, ...] = ()
    """The run folders inside, which are shown if nothing else is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnCell:
    """A finished cell: for each kind its edges (source, node, operation)."""

    inputs: int
    kinds: dict[str, tuple[tuple[int, int, str], ...]]
    concat: dict[str, tuple[int, ...]]
