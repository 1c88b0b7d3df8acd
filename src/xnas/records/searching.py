"""What a search gives: epochs, deletions, the choice of every edge."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from xnas.records.costs import EpochCost
from xnas.records.reading import record_of

Rows = tuple[tuple[float, ...], ...]
"""Numbers of every forecaster, in the order of its experts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeChoice:
    """What discretization made of one edge, and why."""

    kind: str
    """Of the cell: `normal` or `reduction`."""
    node: int
    """Nodes count from 2; 0 and 1 are the inputs of the cell."""
    source: int
    operation: str
    """The strongest living expert, `none` aside."""
    strength: float
    """Of the edge: the largest weight of its experts, wiped ones included, `none` aside."""
    lead: float | None
    """By which the operation's sum of rewards exceeds the best other one; None without sums."""
    runner_up: str | None
    """The strongest other expert, wiped ones included, `none` aside; None if there is no other."""
    runner_up_strength: float | None
    absence_cost: float | None = None
    """What the validation loss grows by when the edge is cut, added up over epochs; None if that was not
    measured."""
    kept: bool
    decided_by: str
    """What set it apart from the best edge left out, or from the last one kept: `cost of absence`,
    `strength`, `lead of the sums`, `lower source index`, `living experts`, `no rival`; with a word where
    only `none` is alive. `limit` for an edge that a limit changed."""
    limited: bool | None = None
    """Whether a limit on the model changed the edge: its operation, then the runner-up is the one that
    it would have, or whether it is kept. None, as all that follows, without limits."""
    price: float | None = None
    """What its operation paid per round in the last epoch; None if the method has no prices."""
    charged: float | None = None
    """By how much prices have lowered its sum of rewards."""
    unpriced: str | None = None
    """The strongest living operation if nothing had been paid, `none` aside."""

    def to_json(self) -> dict[str, Any]:
        """As discretization.json has it: what limits decided only where there are some."""
        found = asdict(self)
        if self.limited is None:
            for name in ("limited", "price", "charged", "unpriced"):
                del found[name]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """An expert that was wiped out and has left the network."""

    kind: str
    forecaster: int
    expert: int
    operation: str
    round_index: int | None = None
    """The round, as ledgers count, after which it was gone; None without a ledger and in older files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Accuracy on the validation half, with batch statistics, of three readings of a supernet."""

    mixture: float
    """Every edge mixes its experts."""
    experts: float
    """Every edge has its strongest expert alone: `none` only where no other expert is alive."""
    cell: float | None
    """The strongest cell, whatever limits say; None if it has an operation that was deleted already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What a benchmark knows of the cell that a search would give now. The search does not see it."""

    arch: str
    test_200: float
    """Test accuracy in percent after 200 epochs of training."""
    test_12: float | None
    """After 12; None if the table does not have it."""
    rank: int
    """Place among all cells, from 1."""
    arch_with_none: str | None
    """The cell if `none` could be chosen, in spaces that have it."""
    test_200_with_none: float | None
    data: str = "cifar10"
    """The benchmark's data set: `cifar10`, `cifar100` or `imagenet16`."""

    @property
    def accuracy(self) -> float:
        """In percent."""
        return self.test_200


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a judge estimates of the cell that a search would give now. The search does not see it."""

    accuracy: float
    """Validation accuracy in percent."""
    error: float
    """Expected root-mean-square error of it, in points."""
    percentile: float
    """Percent of random cells that are judged worse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEpoch:
    """One epoch of a search."""

    epoch: int
    """From 1."""
    rounds: int
    """Played so far."""
    learning_rate: float
    """Of the weights."""
    skip_dropout: float
    train_loss: float
    train_accuracy: float
    valid_loss: float
    valid_accuracy: float
    """Of the mixture, on the batches that it learned from, before it did. In a single-level search these
    are training images, with the method `snas` those of the same pass, so that nothing is held out."""
    entropy: dict[str, float]
    """Mean normalised entropy, by kind of cell; N is the number of experts at the start."""
    skip_share: dict[str, float]
    """Share of edges whose strongest expert is a skip connection, by kind of cell; 0 in a warm-up."""
    experts_alive: dict[str, int]
    weights_alive: int
    """Trainable numbers in the network, mixtures aside."""
    rewards: dict[str, dict[str, float]]
    """Mean reward per round before prices, by kind and operation, over living experts; none after a
    search settled."""
    rewards_by_stage: dict[str, dict[str, dict[str, float]]]
    """The same, by kind, stage of the network and operation; also empty if cells share no mixtures."""
    deleted: tuple[Deletion, ...]
    """Experts that left the network at the end of this epoch."""
    gap: Gap | None
    cell: dict[str, Any] | None = None
    """The cell that the search would give now, within its limits, as genotype.json has it; None in a
    warm-up, when all experts are equal, and in older files."""
    truth: Truth | Judgement | None = None
    mixtures: dict[str, Rows] | None = None
    """Of every kind of cell a row per forecaster: the weights of its experts at the end of the epoch, 0
    for those that are gone, in six digits. None in older files."""
    cost: EpochCost

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> SearchEpoch:
        """Return the record of a line of metrics.jsonl."""
        return record_of(cls, saved)
