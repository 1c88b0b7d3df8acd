"""Options of a search; `search_plan` decides what they leave open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from xnas.data_options import DataOptions, Policy
from xnas.errors import ConfigError
from xnas.options import (
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    Bound,
    at_least,
    at_most,
    option,
    require_within,
)
from xnas.runs.experts_rates import LARGEST, parse_experts_lr
from xnas.runs.options import ComputeOptions, LimitOptions, RunOptions

FEW_IMAGES = 1000
RELAXATION = Bound("lie in (0, 1]", lambda value: 0 < value <= 1)
BELOW_LARGEST = Bound(f"be positive and below {LARGEST:g}", lambda value: 0 < value < LARGEST)


@dataclass(frozen=True, kw_only=True)
class SearchConfig(DataOptions, ComputeOptions, LimitOptions, RunOptions):
    """Options of one architecture search. Those left open follow from data, device and method.

    >>> SearchConfig(space="nasbench201", epochs=20).space
    'nasbench201'
    """

    GROUP: ClassVar[str] = "Search"

    method: str = option("xnas", group="Method")
    """How operations are weighted and chosen: xnas, or a rival that xnas methods lists."""
    space: str = "darts"
    """Search space: darts, nasbench201, or one that your code has registered."""
    epochs: int | None = option(None, at_least(1))
    """Passes over the validation half of the images. Default: 20 on darts and 50 on nasbench201, or more
    to reach 1000 rounds; 50 with --method darts and with --faithful."""
    batch_size: int | None = option(None, at_least(2), at_most(1 << 20))
    """Images per batch. Default: chosen for about 20 rounds per epoch, between 8 and 96."""
    cells: int | None = option(None, at_most(1000))
    """Cells of the supernet, on nasbench201 per stage. Default: 8 on a GPU, 5 on a CPU (nasbench201: 5
    and 2)."""
    channels: int | None = option(None, at_least(2), at_most(1 << 16))
    """Channels of the first cell. Default: 16 on a GPU, 8 on a CPU."""
    weights_lr: float | None = option(None, POSITIVE)
    """Initial learning rate of the network weights. Decays to 0.001 by a cosine; constant if it starts
    lower. Default: 0.025, or the method's."""
    partial_channels: int | None = option(None, at_least(1), at_most(64), group="Method")
    """Let only 1/K of the channels of each cell pass the operations and the others go by, which saves
    time and memory. Default: 1 (all), or the method's."""
    single_level: bool | None = option(None, group="Method")
    """Let weights and operation weights both learn from all training images, not each from a half of
    them. Default: where the method is so."""
    faithful: bool = option(False, group="Method")
    """Use the paper's protocol as printed: its learning rates, AutoAugment on the training half,
    relaxation 1, fp32, no guard against collapse. Every setting that still differs is printed."""
    experts_lr: float | str | None = option(None, group="Method")
    """Learning rate of the operation weights: matched (optimal for the number of rounds, one for all
    cells), matched-by-kind (higher for reduction than for normal cells, as in the paper), paper (the
    paper's count of rounds) or a number. NORMAL,REDUCTION sets one for each kind of cell. Default:
    matched; paper with --faithful."""
    logits_lr: float | None = option(None, POSITIVE, group="Method")
    """Learning rate of Adam, for methods that learn logits such as darts. Default: the method's."""
    logits_weight_decay: float | None = option(None, NOT_NEGATIVE, group="Method")
    """Weight decay of Adam, for methods that learn logits such as darts. Default: the method's."""
    relaxation: float | None = option(None, RELAXATION, group="Method")
    """Wipeout relaxation in (0, 1]; smaller values remove operations earlier. Default: 1, the paper's
    safe wipeout."""
    wipeout: bool = option(True, group="Method")
    """Remove operations that can no longer win."""
    reward_bound: float = option(1.0, BELOW_LARGEST, group="Method")
    """Clip rewards to [-L, L]."""
    accounting: Literal["update", "sample"] = option("update", group="Method")
    """Count one round per update, or one per sample and cell as the paper does."""
    skip_dropout: str | None = option(None, group="Method")
    """Probability of dropping a skip connection in the weight step: 0.5, or 0.6:0 to fade it out.
    Default: 0.5 for xnas; 0 for darts and with --faithful."""
    expert_dropout: float | None = option(None, SHARE, group="Method")
    """Probability of dropping each operation of an edge in the weight step, so that operations learn to
    work alone. Default: 0.5 for xnas on darts, else 0."""
    best_temperature: bool | None = option(None, group="Method")
    """Pay rewards at the temperature that suits each validation batch best, so that a network that has
    become too confident does not change them. Default: for xnas on darts."""
    warmup: float | None = option(None, SHARE, group="Method")
    """Share of the epochs, at the start, in which the network weights learn alone. Default: 0.18 for
    xnas on darts, else 0."""
    edges: Literal["absence", "share"] | None = option(None, group="Method")
    """How a node's edges are chosen: by what the validation loss gains without them (absence), or by the
    weight of their best operation (share). Default: absence for xnas on darts, else share."""
    include_none: bool | None = option(None, group="Method")
    """Add the operation none (no connection) to the space. Default: for darts, and on nasbench201 with
    --faithful."""
    auto_augment: bool | None = option(None, group="Method")
    """Apply AutoAugment to the training half. Default: with --faithful."""
    auto_augment_policy: Policy = option("cifar10", group="Method")
    """Policy of AutoAugment, by the data that it was learned on. cifar10-original and svhn-original have
    the magnitudes of the code that was published with the policies, the others torchvision's."""
    gap_every: int = option(10, at_least(1), group="Output")
    """Measure the discretization gap every so many epochs, and at the end."""
    truth: Path | None = option(None, on_resume="free", group="Output")
    """CSV of a benchmark: log the accuracy of the current cell after every epoch. On nasbench201 the
    table of all cells, on darts cells with accuracies from which those of others are estimated. The
    search does not use it."""

    def __post_init__(self) -> None:
        dropout: object = self.skip_dropout
        if isinstance(dropout, int | float):
            object.__setattr__(self, "skip_dropout", f"{dropout:g}")
        super().__post_init__()
        from xnas.methods import METHODS  # noqa: PLC0415 - imports torch, which --help does without

        METHODS[self.method]
        _require_space(self)
        if self.skip_dropout is not None:
            parse_skip_dropout(self.skip_dropout)
        if self.experts_lr is not None:
            _require_kinds(self.experts_lr, self.space)
        if self.accounting == "sample" and self.method != "xnas":
            raise ConfigError(f"accounting sample belongs to the method xnas, not {self.method}")
        if self.accounting == "sample" and self.backend == "fused":
            raise ConfigError(
                "backend fused has one reward a batch, but accounting sample asks for one a sample; use "
                "--backend reference, or --accounting update"
            )


def faithful() -> SearchConfig:
    """The paper's CIFAR-10 search as printed (Sec. 4.1 and 9.2): 50 epochs, batches of 96, 8 cells.

    `--faithful` leaves epochs, batch and sizes to the data and the device; these are the paper's.

    >>> faithful().cells
    8
    """
    return SearchConfig(faithful=True, epochs=50, batch_size=96, cells=8, channels=16)


def parse_skip_dropout(text: str) -> tuple[float, float]:
    """`0.5` is (0.5, 0.5), `0.6:0` falls from 0.6 to 0 over the epochs."""
    parts = text.split(":")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or not all(0 <= n < 1 for n in numbers):
        raise ConfigError(
            f"--skip-dropout must be a number in [0, 1) such as 0.5, or two such as 0.6:0, got {text!r}"
        )
    return numbers[0], numbers[-1]


def _require_kinds(experts_lr: str | float, space: str) -> None:
    """Raise unless the rates can be read, and the space has two kinds of cell where there are two."""
    from xnas.space import SPACES  # noqa: PLC0415 - imports torch

    rates, kinds = parse_experts_lr(experts_lr), SPACES[space].kinds
    if isinstance(rates, dict) and len(rates) > len(kinds):
        raise ConfigError(
            f"--experts-lr {experts_lr} has a rate for reduction cells, but the cells of {space} are "
            f"all {kinds[0]}; give one rate"
        )


def _require_space(config: SearchConfig) -> None:
    """Raise unless the space is known and the settings suit it."""
    from xnas.runs.truth import require_benchmark  # noqa: PLC0415 - imports torch
    from xnas.space import SPACES  # noqa: PLC0415 - imports torch

    space = SPACES[config.space]
    if space.name != config.space:
        raise ConfigError(
            f"the space registered as {config.space!r} calls itself {space.name!r}; register it by its "
            "own name"
        )
    require_within("cells", config.cells, at_least(space.defaults.least_cells))
    if config.truth is not None:
        require_benchmark(config.space)
