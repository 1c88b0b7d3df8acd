"""Options of a search; `search_plan` decides what they leave open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from xnas.data_options import Policy
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
from xnas.runs.options import ImageRunOptions

FEW_IMAGES = 1000
RELAXATION = Bound("lie in (0, 1]", lambda value: 0 < value <= 1)
BELOW_LARGEST = Bound(f"be positive and below {LARGEST:g}", lambda value: 0 < value < LARGEST)


@dataclass(frozen=True, kw_only=True)
class SearchConfig(ImageRunOptions):
    """Options of one architecture search. Those left open follow from data, device and method.

    >>> SearchConfig(space="nasbench201", epochs=20).space
    'nasbench201'
    """

    GROUP: ClassVar[str] = "Search"

    method: str = option("xnas", group="Method")
    """How operations are weighted and chosen: xnas, or another method that xnas methods lists."""
    space: str = "darts"
    """Search space: darts, nasbench201, or one that your code has registered."""
    epochs: int | None = option(None, at_least(1))
    """Passes over the validation half of the images. Default: 20 on space darts and 50 on nasbench201,
    or more to reach 1000 rounds (batches); with other methods than xnas and xnas-pt the method's, or 50;
    50 with --faithful."""
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
    """K: send only 1/K of the channels of each cell through the operations; the others bypass them.
    Saves time and memory. Default: 1 (all), or the method's."""
    single_level: bool | None = option(None, group="Method")
    """Train network weights and operation weights on all training images instead of one half each.
    Default: the method's."""
    faithful: bool = option(False, group="Method")
    """Use the paper's protocol as published: its learning rates, AutoAugment on the training half,
    relaxation 1, fp32, no guard against collapse. Every setting that still differs is printed."""
    experts_lr: float | str | None = option(None, group="Method")
    """Learning rate of the operation weights: matched (optimal for the number of rounds, one for all
    cells), matched-by-kind (higher for reduction than for normal cells, as in the paper), paper (the
    paper's count of rounds) or a number. NORMAL,REDUCTION sets one for each kind of cell. Default:
    matched; paper with --faithful."""
    logits_lr: float | None = option(None, POSITIVE, at_most(10), group="Method")
    """Adam's learning rate for the operation weights, with methods that learn them as logits, such as
    darts. Default: the method's."""
    logits_weight_decay: float | None = option(None, NOT_NEGATIVE, at_most(1000), group="Method")
    """Adam's weight decay for the operation weights, with methods that learn them as logits, such as
    darts. Default: the method's."""
    relaxation: float | None = option(None, RELAXATION, group="Method")
    """How early --wipeout removes operations, in (0, 1]; smaller is earlier. Default: 1, the paper's,
    which never removes one that could still win."""
    wipeout: bool = option(True, group="Method")
    """During the search, remove operations that can no longer win (the paper's wipeout)."""
    reward_bound: float = option(1.0, BELOW_LARGEST, group="Method")
    """L: clip each operation's reward (the negative gradient of the validation loss) to [-L, L]."""
    accounting: Literal["update", "sample"] = option("update", group="Method")
    """Count one round per update, or one per sample and cell as the paper does."""
    skip_dropout: str | None = option(None, group="Method")
    """Probability of dropping a skip connection while network weights are trained: a number, or FROM:TO
    such as 0.6:0 to fade it out. Default: 0.5 for methods xnas and xnas-pt; 0 for other methods and with
    --faithful."""
    expert_dropout: float | None = option(None, SHARE, group="Method")
    """Probability of dropping each operation of an edge while network weights are trained, so that each
    learns to work alone. Default: 0.5 for methods xnas and xnas-pt on space darts, else 0."""
    best_temperature: bool | None = option(None, group="Method")
    """Compute rewards at the softmax temperature that fits each validation batch best, so that an
    overconfident network does not distort them. Default for methods xnas and xnas-pt: yes on space
    darts, and with fewer than 5000 images in a half; else no."""
    warmup: float | None = option(None, SHARE, group="Method")
    """Fraction of the epochs, at the start, in which only the network weights are trained. Default: 0.18
    for methods xnas and xnas-pt on space darts, else 0."""
    edges: Literal["absence", "share"] | None = option(None, group="Method")
    """How each node's final edges are chosen: by how much the validation loss rises without them
    (absence), or by the weight of their best operation (share). Default: absence for method xnas on
    space darts, else share. Methods that decide by measurements, such as xnas-pt, refuse absence."""
    include_none: bool | None = option(None, group="Method")
    """Add the operation none (no connection) to the space. Default: yes for method darts, and with
    --faithful on space nasbench201; else no."""
    auto_augment: bool | None = option(None, group="Method")
    """Apply AutoAugment to the training half. Default: with --faithful."""
    auto_augment_policy: Policy = option("cifar10", group="Method")
    """Policy of AutoAugment, by the data that it was learned on. Those that end in -original use the
    magnitudes of the policies' published code, the others torchvision's."""
    gap_every: int = option(10, at_least(1), group="Output")
    """Measure the discretization gap (the accuracy that is lost if only the cell is kept) every this
    many epochs, and at the end."""
    truth: Path | None = option(None, on_resume="free", group="Output")
    """CSV file of benchmark accuracies, used only to log that of the current cell after every epoch. On
    nasbench201: the table of all cells; on darts: some cells, from which others are estimated."""

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
