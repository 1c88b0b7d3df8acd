"""Frozen results: what engines and toys write, and reports and files read.

Only plain numbers, strings and tuples, so that `dataclasses.asdict` turns any record into JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Point = tuple[float, ...]
Verdict = Literal["holds", "holds in part", "does not hold"]
Agreement = Literal["yes", "yes, rounded", "yes, truncated", "no"]
Entry = str | bool | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wipeout:
    """One expert's end."""

    round_index: int
    """The round, from 1, after which the expert was gone."""
    forecaster: int
    expert: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The accounts of one mixture: what its forecasters gained, lost and dropped so far.

    Per-forecaster tuples are in the order of the mixture's rows. Regret is linearised and clipped: it
    is accounting, and no promise about the accuracy of a network.
    """

    forecasters: int
    experts: int
    rounds: int
    horizon: int
    learning_rate: float
    reward_bound: float
    relaxation: float
    regret: Point
    """Against the best living expert, one number a forecaster."""
    regret_bound: Point | None
    """Theorem 1 for the rounds played, with the γ term; None where `bound_note` says why."""
    bound_note: str
    """What the bound covers, or why there is none."""
    log_wipeout_factor: Point
    """ln γ, one number a forecaster."""
    wipeouts: tuple[Wipeout, ...]
    """In the order of their rounds."""
    living: int
    """Experts alive, over all forecasters."""
    histogram_edges: Point
    """Edges of the reward histogram, in units of the reward bound; the outer bins are open."""
    histogram_counts: tuple[int, ...]
    """Rewards of living experts, before clipping: one count more than there are edges."""
    clipped_share: float
    """Share of those rewards that lay beyond the bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The path of one method over the simplex of a toy problem."""

    method: str
    """`xnas`, `xnas simplex` (the 2D section's reading of the gradient) or `gd` (with softmax)."""
    points: tuple[Point, ...]
    """Predictions from the start to the end: one more than there are steps."""
    update_terms: tuple[Point, ...]
    """For each step and axis, the derivative that was descended (a positive one is a penalty)."""
    logits: Point
    """ln v at the end, up to a constant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AxesStudy:
    """Several methods on one problem whose experts are the axes of a simplex."""

    problem: str
    loss: str
    learning_rate: float
    reward_bound: float
    optimum: Point
    trajectories: tuple[Trajectory, ...]
    wiped_at: tuple[int, ...]
    """The round in which Algorithm 1 wipes out each axis; 0 for never, or if it starts elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attenuation:
    """The factor x(1 - x) by which gradient descent with softmax scales a gradient in 2D."""

    x: Point
    along_simplex: Point
    logit: Point
    """α_x, with α_y = 0."""
    against_logit: Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """One method in one setting of the stochastic study: means over runs with standard errors."""

    method: str
    rate: str
    """How the learning rate was chosen: `0.1`, `1` or `optimal`."""
    learning_rate: float
    reward_bound: float
    experts: int
    noise: float
    regret: float
    regret_error: float
    pseudo_regret: float
    correct: float
    correct_error: float
    wiped: float
    """Experts wiped out before the horizon, a run."""
    log_wipeout_factor: float
    """ln γ at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionStudy:
    """The stochastic study: regret and correct selection, against experts and against noise."""

    runs: int
    rounds: int
    seed: int
    selections: tuple[Selection, ...]

    def series(
        self, method: str, rate: str, *, experts: int | None = None, noise: float | None = None
    ) -> tuple[Selection, ...]:
        """Selections of one method and rate, with experts or noise held fixed, in ascending order."""
        chosen = [
            s
            for s in self.selections
            if (s.method, s.rate) == (method, rate)
            and experts in (None, s.experts)
            and noise in (None, s.noise)
        ]
        return tuple(sorted(chosen, key=lambda s: (s.experts, s.noise)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RegretCurve:
    """Regret of one method over games of the given lengths."""

    method: str
    rounds: tuple[int, ...]
    regret: Point


@dataclass(frozen=True, slots=True, kw_only=True)
class AdversaryStudy:
    """Regret on the sequence of losses that Adam is known to fail on."""

    loss: str
    curves: tuple[RegretCurve, ...]
    bound: Point
    """Theorem 1 without wipeout at the rounds of the curves, each with the rate for that horizon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence of the paper, beside what was measured."""

    statement: str
    where: str
    measured: str
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table as data; None is an empty entry."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """A row of the paper's Tables 1 to 3 beside the network that it belongs to, counted here.

    What is ours is None where the row is no cell.
    """

    table: int
    line: int
    row: str
    errors: dict[str, float]
    """As printed, in percent, by dataset."""
    printed: float | None
    """Parameters as printed, in millions."""
    search_cost: float | None
    """As printed, in GPU days."""
    cell: str | None
    network: str | None
    channels: int | None
    stem_channels: int | None
    squeeze_excitation: bool | None
    parameters: int | None
    macs: int | None
    depth: float | None
    agrees: Agreement | None
    """Whether ours give the printed digits, rounded or truncated; `yes` is both."""
    nearest_channels: int | None
    """Even, with which this cell comes nearest to the printed parameters in such a network."""
    nearest_parameters: int | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedNetwork:
    """What one network of a cell counts."""

    cell: str
    network: str
    channels: int
    stem_channels: int
    squeeze_excitation: bool
    num_classes: int
    in_chans: int
    auxiliary: bool
    parameters: int
    macs: int | None
    """Multiply-accumulates of one image; None if they were not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthRow:
    """Depth of one published normal cell, under several numberings of its states."""

    row: str | None
    """Of Table 4 that the cell could be meant by."""
    printed: float | None
    cell: str
    nodes: int
    depth: float
    swapped: float
    """With the two inputs numbered the other way round."""
    least: float
    """Over all numberings of nodes and inputs under which edges lead upwards."""
    most: float
    reached: str | None
    """Numbering with the printed depth: `as numbered`, `inputs swapped`, `renumbered`, `none`."""
    random_mean: float
    """Expected depth of a random cell with as many nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomDepths:
    """Depths of random cells, drawn and by enumeration, beside that of one cell."""

    cells: int
    compared: float
    """Depth of the cell that they are compared to."""
    mean: float
    deviation: float
    share_deeper: float
    exact_mean: float
    exact_deviation: float
    exact_share_deeper: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """What one optimizer step costs on a set of mixtures."""

    optimizer: str
    mixtures: int
    microseconds: float
    """Median over repetitions."""
    spread: float
    """Interquartile range of the repetitions, in microseconds."""
    ratio: float
    """To `ExpertsOptimizer` on the same mixtures, within the same run."""
    state_bytes: int
    """Bytes of state kept between steps, per mixture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeChoice:
    """What discretisation made of one edge, and why."""

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
    kept: bool
    decided_by: str
    """What set it apart from the best edge left out, or from the last one kept: `strength`, `lead of the
    sums`, `lower source index`, `living experts`, `no rival`; with a word where only `none` is alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundCost:
    """What one round of a search costs with some of its experts left."""

    case: str
    device: str
    experts: int
    weights: int
    milliseconds: float
    """Median over rounds."""
    spread: float
    """Interquartile range, in milliseconds."""
    memory_bytes: int
    """Peak: allocated on a GPU; on the CPU, what the process grew by for the search."""
    method_share: float
    """Time of the method's step, ledger included, as a share of the round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCost:
    """What augmented batches cost."""

    case: str
    device: str
    images: int
    """In a batch, or in both batches of a round."""
    milliseconds: float
    """For that many images: median over timings."""
    spread: float
    """Interquartile range, in milliseconds."""
    ratio: float | None
    """Images a second as a multiple of torchvision's with one worker; None for rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """An expert that was wiped out and has left the network."""

    kind: str
    forecaster: int
    expert: int
    operation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Accuracy on the validation half, with batch statistics, of three readings of a supernet."""

    mixture: float
    """Every edge mixes its experts."""
    experts: float
    """Every edge has its strongest expert alone."""
    cell: float
    """The same, on the edges that the cell keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochCost:
    """What depends on the machine."""

    seconds: float
    seconds_per_round: float
    memory_bytes: int
    """On a GPU the epoch's peak of allocated memory, on the CPU what the process holds at its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What a benchmark knows of the cell that a search would give now. The search does not see it."""

    arch: str
    test_200: float
    """Test accuracy in percent after 200 epochs of training."""
    test_12: float
    rank: int
    """Place among all cells, from 1."""
    arch_with_none: str | None
    """The cell if `none` could be chosen, in spaces that have it."""
    test_200_with_none: float | None


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
    """Of the mixture, on the batches that it learned from, before it did."""
    entropy: dict[str, float]
    """Mean normalised entropy, by kind of cell; N is the number of experts at the start."""
    skip_share: dict[str, float]
    """Share of edges whose strongest expert is a skip connection, by kind of cell."""
    experts_alive: dict[str, int]
    weights_alive: int
    """Trainable numbers in the network, mixtures aside."""
    rewards: dict[str, dict[str, float]]
    """Mean reward a round, by kind and operation, over living experts."""
    rewards_by_stage: dict[str, dict[str, dict[str, float]]]
    """The same, by kind, stage of the network and operation; empty if cells share no mixtures."""
    deleted: tuple[Deletion, ...]
    """Experts that left the network at the end of this epoch."""
    gap: Gap | None
    truth: Truth | None = None
    cost: EpochCost

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> SearchEpoch:
        """The record of a line of metrics.jsonl."""
        nested = {
            "deleted": tuple(Deletion(**d) for d in saved["deleted"]),
            "gap": None if saved["gap"] is None else Gap(**saved["gap"]),
            "truth": None if saved.get("truth") is None else Truth(**saved["truth"]),
            "cost": EpochCost(**saved["cost"]),
        }
        return cls(**{**saved, **nested})


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """How a search ended."""

    out: str
    """The run folder."""
    genotype: str
    """As JSON."""
    epochs: tuple[SearchEpoch, ...]
    rounds: int
    settled_at: int
    """The round after whose epoch every forecaster had one expert left; 0 for never."""
    ledgers: dict[str, Ledger]
    """By kind of cell; empty for methods that keep none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainEpoch:
    """One epoch of a training."""

    epoch: int
    """From 1."""
    steps: int
    """Made so far."""
    learning_rate: float
    """At the end of the epoch."""
    drop_path_rate: float
    train_loss: float
    train_accuracy: float
    """On augmented images, as the network learned from them."""
    valid_loss: float | None
    valid_accuracy: float | None
    """Of images held back, if there are any."""
    cost: EpochCost

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> TrainEpoch:
        """The record of a line of metrics.jsonl."""
        return cls(**{**saved, "cost": EpochCost(**saved["cost"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """Answers whose confidence lies in (lower, upper], or at 0 in the first bin."""

    lower: float
    upper: float
    images: int
    confidence: float
    """Mean probability of the answers; 0 without images."""
    accuracy: float
    """Share of them that is right; 0 without images."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How a network answers on labelled images. Shares are in 0..1."""

    images: int
    classes: tuple[str, ...]
    top1: float
    top5: float | None
    """Share whose class is among the five most probable; None with five classes or fewer."""
    loss: float
    """Mean cross-entropy."""
    counts: tuple[int, ...]
    """Images of each class."""
    accuracies: tuple[float | None, ...]
    """Of each class; None where there is no image."""
    confusion: tuple[tuple[int, ...], ...]
    """Images by true class (row) and answer (column)."""
    calibration_error: float
    """Expected calibration error: Σ_b n_b/n |accuracy_b − confidence_b| over bins of equal width."""
    calibration: tuple[CalibrationBin, ...]

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Evaluation:
        """The record of what `evaluation.json` holds; what else stands there is passed over."""
        plain = {name: saved[name] for name in cls.__dataclass_fields__}
        nested = {
            "classes": tuple(saved["classes"]),
            "counts": tuple(saved["counts"]),
            "accuracies": tuple(saved["accuracies"]),
            "confusion": tuple(tuple(row) for row in saved["confusion"]),
            "calibration": tuple(CalibrationBin(**b) for b in saved["calibration"]),
        }
        return cls(**{**plain, **nested})


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a classifier answers for one image."""

    label: str
    """The most probable class."""
    probability: float
    ranking: tuple[tuple[str, float], ...]
    """The most probable classes, first the label, each with its probability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFile:
    """A file that was exported and found to answer as PyTorch does."""

    path: str
    bytes: int
    difference: float | None
    """Largest deviation of a logit, as a share of the largest logit; None for bare weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Time of one batch on the CPU, in milliseconds: median over runs."""

    runtime: str
    batch: int
    milliseconds: float
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """What an export wrote, how it was checked and how fast it is."""

    files: tuple[ExportedFile, ...]
    checked_on: str
    """Images that the answers were compared on, in words."""
    latencies: tuple[Latency, ...]
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainStepCost:
    """What a step of a training costs, executed in one way."""

    case: str
    device: str
    milliseconds: float
    """Median."""
    spread: float
    """Between quartiles."""
    memory_bytes: int
    preparation: float
    """Seconds before the first step: compiling, capturing."""
