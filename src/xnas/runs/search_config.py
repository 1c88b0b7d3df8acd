"""Settings of a search: what a user says, and what follows from the data where they say nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch

from xnas.data import Resize
from xnas.errors import ConfigError
from xnas.methods import METHODS
from xnas.runs.checks import require_kinds, require_least
from xnas.space import SPACES

LEAST_ROUNDS = 1000
ROUNDS_PER_EPOCH = 20
FEW_IMAGES = 1000
LARGEST = 1e9  # of rates and rewards: beyond it sums of rewards lose their meaning


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchConfig:
    """One architecture search. What is left open follows from the data, the device and the method."""

    out: Path | None = None
    """Run folder; it must be new or empty. By default runs/search-DATA-NUMBER."""
    seed: int = 0
    """One seed for everything; it makes named streams for split, weights, order, augmentation."""
    device: str = "auto"
    """auto (a GPU if there is one), cpu, cuda or cuda:NUMBER."""
    epochs: int | None = None
    """Passes over the validation half; sets the horizon. By default 50, or more for 1000 rounds."""
    batch_size: int | None = None
    """By default what gives 20 rounds an epoch, from 8 to 96."""
    image_size: int | None = None
    """Height and width of the images in the search. By default by their size: as they are up to 32,
    else 32 or 64."""
    cells: int | None = None
    """Cells of the supernet, or of each stage on nasbench201. By default 8 on a GPU, 5 on a CPU; on
    nasbench201 5 and 2."""
    channels: int | None = None
    """Channels of the first cell. By default 16 on a GPU, 8 on a CPU."""
    data_dir: Path | None = None
    """Where datasets are looked for; also XNAS_DATA."""
    resize: Resize | None = None
    """How images of another shape get their size: cover and crop the centre, fit inside and pad with
    black, or stretch. By default crop; pad for freiburg."""
    use_val: bool | None = None
    """Let the images of a val part join those of train. By default for folders, not for cinic10."""
    fold: int | None = None
    """Fold of freiburg, 0 to 4. By default 0."""
    skip_bad_images: bool = False
    """Leave out image files that cannot be read, instead of stopping."""
    stream: bool | None = None
    """Leave the images of a folder in their files, or hold them in memory. By default by their size."""
    balance: bool = False
    """Draw every class equally often, however many images it has."""
    method: str = "xnas"
    """How mixtures learn: xnas or darts (first order, by its own protocol)."""
    space: str = "darts"
    """What may be found: darts, nasbench201, or a space that your code has registered."""
    truth: Path | None = None
    """CSV of NAS-Bench-201: log the true accuracy of the cell in every epoch, for the record alone."""
    faithful: bool = False
    """The paper's protocol as printed: its learning rates, AutoAugment on the training half, relaxation
    1, no guard against collapse."""
    backend: Literal["auto", "reference", "fused"] = "auto"
    """reference: plain PyTorch modules; fused: experts computed together and, on a GPU, a round captured
    as one CUDA graph; auto: fused on a GPU where it can be, reference elsewhere."""
    precision: Literal["fp32", "bf16"] | None = None
    """bf16 computes in bfloat16 where that is safe. By default bf16 for fused on a GPU, else fp32."""
    experts_lr: Literal["paper", "matched"] | float | None = None
    """Learning rate of the mixtures: the paper's, one matched to the rounds played, or a number. By
    default matched; paper with --faithful."""
    relaxation: float | None = None
    """Wipeout relaxation ζ in (0, 1]; less is earlier. By default 1, the paper's safe wipeout."""
    wipeout: bool = True
    """Wipe out and delete experts that can no longer win."""
    reward_bound: float = 1.0
    """Clip on rewards, L."""
    accounting: Literal["update", "sample"] = "update"
    """A round an update, or a round a sample and cell (the paper's count of feedbacks)."""
    weights_lr: float = 0.025
    """Learning rate of the weights at the start; it falls to 0.001 along a cosine, and stays if less."""
    skip_dropout: str | None = None
    """Chance of dropping an identity in the weight step, as 0.5 or fading as 0.6:0. By default 0.5 for
    xnas; 0 for darts and with --faithful."""
    include_none: bool | None = None
    """Put the operation none into the space. By default for the method darts, and on nasbench201 with
    --faithful."""
    auto_augment: bool | None = None
    """AutoAugment (the policy learned on CIFAR-10) on the training half. By default with --faithful."""
    gap_every: int = 10
    """Measure the discretisation gap every so many epochs, and at the end."""
    checkpoint_minutes: float = 10.0
    """Write a checkpoint inside an epoch when the last one is so old; 0 for one a round. There is one
    after every epoch."""
    quiet: bool = False
    """Print warnings and errors only."""

    def __post_init__(self) -> None:
        dropout: object = self.skip_dropout
        if isinstance(dropout, int | float):
            object.__setattr__(self, "skip_dropout", f"{dropout:g}")
        require_kinds(self)
        require_least("seed", self.seed, 0)
        require_least("epochs", self.epochs, 1)
        require_least("batch_size", self.batch_size, 2)
        require_least("image_size", self.image_size, 8)
        require_least("channels", self.channels, 2)
        require_least("gap_every", self.gap_every, 1)
        if self.fold is not None and not 0 <= self.fold <= 4:
            raise ConfigError(f"fold must lie in 0..4, got {self.fold}")
        if isinstance(self.experts_lr, float | int) and not 0 < self.experts_lr < LARGEST:
            raise ConfigError(
                f"experts-lr must be paper, matched, or positive and below {LARGEST:g}, got "
                f"{self.experts_lr}"
            )
        if self.relaxation is not None and not 0 < self.relaxation <= 1:
            raise ConfigError(f"relaxation must lie in (0, 1], got {self.relaxation}")
        if not 0 < self.reward_bound < LARGEST:
            raise ConfigError(
                f"reward-bound must be positive and below {LARGEST:g}, got {self.reward_bound}"
            )
        if not 0 < self.weights_lr < math.inf:
            raise ConfigError(f"weights-lr must be positive and finite, got {self.weights_lr}")
        METHODS[self.method]
        _require_space(self)
        _require_minutes(self.checkpoint_minutes)
        if self.skip_dropout is not None:
            parse_skip_dropout(self.skip_dropout)
        if self.accounting == "sample" and self.method != "xnas":
            raise ConfigError(f"accounting sample belongs to the method xnas, not {self.method}")
        if self.accounting == "sample" and self.backend == "fused":
            raise ConfigError(
                "backend fused has one reward a batch, but accounting sample asks for one a sample; use "
                "--backend reference, or --accounting update"
            )


def _require_minutes(minutes: float) -> None:
    if not 0 <= minutes < math.inf:
        raise ConfigError(f"checkpoint-minutes must be 0 or more and finite, got {minutes}")


def faithful() -> SearchConfig:
    """The paper's CIFAR-10 search as printed."""
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
            f"skip-dropout must be a number in [0, 1) such as 0.5, or two such as 0.6:0, got {text!r}"
        )
    return numbers[0], numbers[-1]


def resolve(
    config: SearchConfig, *, examples: int, device: torch.device
) -> tuple[SearchConfig, list[str]]:
    """Settings with nothing left open but the backend, and a line for each that was chosen.

    `examples` is the size of the smaller half of the training images. `runs/backends.py` chooses the
    backend, and the precision that goes with it, when the supernet is known.
    """
    notes = []
    gpu = device.type == "cuda"
    batch = config.batch_size
    if batch is None:
        batch = max(8, min(96, examples // ROUNDS_PER_EPOCH // 8 * 8))
        notes.append(f"batch size {batch}: {examples // batch} rounds an epoch from {examples} images")
    if examples < batch:
        raise ConfigError(
            f"batch of {batch}, but only {examples} images in a half; use a smaller --batch-size"
        )
    rounds = examples // batch
    epochs = config.epochs
    if epochs is None:
        epochs = max(50, math.ceil(LEAST_ROUNDS / rounds))
        notes.append(
            f"{epochs} epochs: {epochs * rounds} rounds (the paper has 50; at least 1000 rounds)"
        )
    staged = SPACES[config.space].as_string
    usual = (5 if gpu else 2) if staged else (8 if gpu else 5)
    cells, channels = config.cells or usual, config.channels or (16 if gpu else 8)
    if config.cells is None or config.channels is None:
        where = " a stage" if staged else ""
        notes.append(f"{cells} cells{where} of {channels} channels, for a {'GPU' if gpu else 'CPU'}")
    guarded = config.method == "xnas" and not config.faithful
    resolved = replace(
        config,
        batch_size=batch,
        epochs=epochs,
        cells=cells,
        channels=channels,
        experts_lr=config.experts_lr or ("paper" if config.faithful else "matched"),
        relaxation=config.relaxation or 1.0,
        skip_dropout=config.skip_dropout or ("0.5" if guarded else "0"),
        include_none=none_by_default(config) if config.include_none is None else config.include_none,
        auto_augment=config.faithful if config.auto_augment is None else config.auto_augment,
    )
    return resolved, notes


def none_by_default(config: SearchConfig) -> bool:
    """Whether `none` is in the space where nothing is said: DARTS and the benchmark have it."""
    return config.method == "darts" or (config.faithful and SPACES[config.space].as_string)


def _require_space(config: SearchConfig) -> None:
    """Raise unless the space is known and the settings suit it."""
    space = SPACES[config.space]
    if space.name != config.space:
        raise ConfigError(
            f"the space registered as {config.space!r} calls itself {space.name!r}; register it by its "
            "own name"
        )
    require_least("cells", config.cells, 1 if space.as_string else 3)
    if config.truth is not None and config.space != "nasbench201":
        raise ConfigError(
            f"the truth is known of the space nasbench201, not of {config.space}; leave --truth out, or "
            "use --space nasbench201"
        )
