"""What things cost on one machine."""

from __future__ import annotations

from dataclasses import dataclass


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
class RoundCost:
    """What one round of a search costs with some of its experts left."""

    case: str
    """Experts left on every edge."""
    backend: str
    precision: str
    device: str
    experts: int
    weights: int
    milliseconds: float
    """Median over rounds."""
    spread: float
    """Interquartile range, in milliseconds."""
    memory_bytes: int
    """Peak: reserved on a GPU; on the CPU, what the process grew by for the search."""
    method_share: float | None
    """Time of the method's step, ledger included, as a share of the round; None in a captured one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodCost:
    """What a round of a search costs with one method, by its own recipe."""

    method: str
    device: str
    backend: str = ""
    precision: str = ""
    milliseconds: float = 0.0
    """Of a round on average: medians of rounds that learn and of rounds that rest, in the proportion of
    an epoch."""
    spread: float = 0.0
    """Interquartile range, in milliseconds, of the kind of rounds that was timed more often."""
    learning_share: float = 0.0
    """Share of the rounds in which mixtures learn."""
    memory_bytes: int = 0
    """Peak: reserved on a GPU; on the CPU, what the process grew by for the search."""
    failure: str | None = None
    """Why it could not be measured; the numbers are then 0."""


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
    """Images per second as a multiple of torchvision's with one worker; None for rounds."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochCost:
    """What depends on the machine."""

    seconds: float
    seconds_per_round: float
    memory_bytes: int
    """On a GPU the epoch's peak of reserved memory, on the CPU what the process holds at its end."""
