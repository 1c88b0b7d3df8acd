"""What searches and trainings return."""

from __future__ import annotations

from dataclasses import dataclass

from xnas.records import (
    EdgeChoice,
    Evaluation,
    FitPlan,
    FitRow,
    FitSummary,
    Judgement,
    Ledger,
    Sampled,
    SearchEpoch,
    TrainEpoch,
    Truth,
)
from xnas.space import Genotype


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SearchResult:
    """The cell that a search found, and how it got there."""

    out: str
    """The run folder."""
    genotype: Genotype
    epochs: tuple[SearchEpoch, ...]
    rounds: int
    settled_at: int
    """The round after whose epoch every forecaster had one expert left; 0 for never."""
    ledgers: dict[str, Ledger]
    """By kind of cell; empty for methods that keep none."""
    undecided: tuple[EdgeChoice, ...] = ()
    """Edges of the cell on which the lead of the operation is within noise, as far as ledgers tell."""

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from xnas.runs.reports.notebook import search_html  # noqa: PLC0415 - what draws is needed now

        return search_html(self)

    def __repr__(self) -> str:
        """The main numbers in one line."""
        accuracy = f", valid_accuracy={self.epochs[-1].valid_accuracy:.4g}" if self.epochs else ""
        return (
            f"SearchResult(out={self.out!r}, space={self.genotype.space!r}, epochs={len(self.epochs)}, "
            f"rounds={self.rounds}{accuracy})"
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TrainResult:
    """How a training ended."""

    out: str
    """The run folder."""
    epochs: tuple[TrainEpoch, ...]
    test: Evaluation | None
    """Of the last weights, on test images that nothing else has seen; None if there are none."""
    parameters: int
    macs: int
    finished: bool = True
    """Whether all epochs were trained; False if the training was stopped by `until`."""

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from xnas.runs.reports.notebook import train_html  # noqa: PLC0415 - what draws is needed now

        return train_html(self)

    def __repr__(self) -> str:
        """The main numbers in one line."""
        test = "None" if self.test is None else f"{self.test.top1:.4g}"
        return (
            f"TrainResult(out={self.out!r}, epochs={len(self.epochs)}, test_accuracy={test}, "
            f"parameters={self.parameters}, macs={self.macs})"
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SampleResult:
    """The best cell that a search by sampling has evaluated, and all others."""

    out: str
    """The run folder."""
    genotype: Genotype
    value: float
    """Its validation accuracy, a share."""
    evaluations: tuple[Sampled, ...]
    """In the order of their results."""
    cells: tuple[Genotype, ...]
    """The cell of each."""
    truth: Truth | Judgement | None = None
    """What a benchmark knows of the best cell, for the report alone."""

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from xnas.runs.reports.notebook import sample_html  # noqa: PLC0415 - what draws is needed now

        return sample_html(self)

    def __repr__(self) -> str:
        """The main numbers in one line."""
        return (
            f"SampleResult(out={self.out!r}, space={self.genotype.space!r}, "
            f"evaluations={len(self.evaluations)}, value={self.value:.4g})"
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FitResult:
    """The networks that a fit has trained, the best of them tested and exported."""

    out: str
    """The run folder; `xnas.load` takes it."""
    plan: FitPlan
    summary: FitSummary
    """The comparison, the test, and the files that were exported."""
    seconds: float
    """By the clock, from the call to the end; of all calls, if the fit was resumed."""

    @property
    def rows(self) -> tuple[FitRow, ...]:
        """The networks, the best first."""
        return tuple(sorted(self.summary.rows, key=lambda row: (-row.accuracy, row.parameters)))

    @property
    def winner(self) -> FitRow:
        """The best by validation accuracy; of equals the smaller."""
        return self.rows[0]

    @property
    def test_accuracy(self) -> float | None:
        """Of the winner, on test images that nothing else has seen; None if there are none."""
        return None if self.summary.test is None else self.summary.test.top1

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from xnas.runs.reports.notebook import fit_html  # noqa: PLC0415 - what draws is needed now

        return fit_html(self)

    def __repr__(self) -> str:
        """The main numbers in one line."""
        test = "None" if self.test_accuracy is None else f"{self.test_accuracy:.4g}"
        accuracies = ", ".join(f"{row.name} {row.accuracy:.4g}" for row in self.rows)
        return (
            f"FitResult(out={self.out!r}, winner={self.winner.name!r}, test_accuracy={test}, "
            f"validation: {accuracies})"
        )
