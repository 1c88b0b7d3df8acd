"""What the optimizer and the toys give: ledgers, trajectories, studies."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from xnas.records.reading import record_of, require_equal_lengths

Point = tuple[float, ...]


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
    """Against the best living expert, one number per forecaster."""
    regret_bound: Point | None
    """Theorem 1 for the rounds played, with the γ term; `bound_note` gives the reason for None."""
    bound_note: str
    """What the bound covers, or why there is none."""
    log_wipeout_factor: Point
    """ln γ, one number per forecaster."""
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
    charged: tuple[Point, ...] | None = None
    """By how much prices have lowered each expert's sum of rewards, one tuple per forecaster; None for a
    search without prices. With prices all else here is of rewards after these were taken from them."""

    def to_json(self) -> dict[str, Any]:
        """Return what `ledger.json` holds of it: accounts of prices only if there were any."""
        saved = asdict(self)
        return saved if self.charged is not None else {k: v for k, v in saved.items() if k != "charged"}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Ledger:
        """Return the record that `ledger.json` holds of one kind of cell."""
        found = record_of(cls, saved)
        bound = found.regret if found.regret_bound is None else found.regret_bound
        factors = found.log_wipeout_factor
        require_equal_lengths(regret=found.regret, regret_bound=bound, log_wipeout_factor=factors)
        require_equal_lengths(
            histogram_edges=(*found.histogram_edges, 0), histogram_counts=found.histogram_counts
        )
        return found


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
    """Experts wiped out before the horizon, per run."""
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
class CoinGame:
    """One method among experts whose rewards are fair coins: its mean regret over runs."""

    method: str
    experts: int
    rounds: int
    reward_bound: float
    """What a coin pays, or takes."""
    regret: float
    regret_error: float
    expected: float
    """Of every forecaster, in the limit of many rounds: L sqrt(T) times the expected maximum of N
    standard normals."""
    bound: float
    """Theorem 1 without wipeout, at the optimal rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoinStudy:
    """The game that no forecaster wins, for several numbers of experts and of rounds."""

    runs: int
    seed: int
    games: tuple[CoinGame, ...]

    def series(
        self, method: str, *, experts: int | None = None, rounds: int | None = None
    ) -> tuple[CoinGame, ...]:
        """Games of one method, with experts or rounds held fixed, in ascending order."""
        chosen = [
            game
            for game in self.games
            if game.method == method
            and experts in (None, game.experts)
            and rounds in (None, game.rounds)
        ]
        return tuple(sorted(chosen, key=lambda game: (game.experts, game.rounds)))


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyPoint:
    """A search at its end: how dense its mixtures are, and what the cell loses."""

    method: str
    weight_decay: float | None
    """Of the logits; None for a method that has no logits."""
    seed: int
    entropy: float
    """Mean normalised entropy of the normal cell's forecasters."""
    mixture_accuracy: float
    """Of the supernet on the validation half, with its mixtures."""
    cell_accuracy: float
    """Of the cell that the search gives, with the supernet's weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyStudy:
    """Searches that differ in the weight decay of the logits, and some without logits."""

    epochs: int
    learning_rate: float
    """Of the logits."""
    points: tuple[EntropyPoint, ...]

    @property
    def decays(self) -> tuple[float, ...]:
        """Weight decays in ascending order."""
        return tuple(sorted({p.weight_decay for p in self.points if p.weight_decay is not None}))
