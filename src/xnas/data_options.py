"""Options of how a dataset is found and read, shared by every command that reads images.

They stand above `xnas.data`, which imports torch, so that the help of a command does not wait for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from xnas.errors import ConfigError
from xnas.options import Bound, Options, at_least, at_most, option

SMALLEST_SIDE = 8  # two reductions leave 2 x 2
LARGEST_SIDE = 4096  # anything larger is a mistake, or would fill the memory
Policy = Literal["cifar10", "svhn", "imagenet", "cifar10-original", "svhn-original"]
"""Policies of AutoAugment by name."""
LARGEST_ALPHA = 4
"""Of mixup: shares are then close to one half; the trainings of its paper have 0.2 to 1."""

Resize = Literal["crop", "pad", "stretch"]
"""Rule by which images are resized: `crop`, `pad` or `stretch`."""


@dataclass(frozen=True, kw_only=True)
class SourceOptions(Options):
    """Where images come from.

    A command that tests a trained run takes these alone, as its model says how images are prepared.
    """

    GROUP: ClassVar[str] = "Data"

    data_dir: Path | None = option(None, on_resume="change")
    """Folder that holds named datasets. Default: $XNAS_DATA, then ./data."""
    use_val: bool | None = None
    """Add the images of a val folder to those of train. Default: yes for folders, no for cinic10."""
    fold: int | Literal["all"] | None = option(None, Bound("lie in 0..4", lambda fold: 0 <= fold <= 4))
    """Fold of the freiburg dataset, 0 to 4. xnas train also takes all: it trains once per fold and
    reports the mean test error. Default: 0."""
    skip_bad_images: bool = False
    """Skip images that cannot be read or have a side below 8 pixels instead of stopping."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.data_dir is not None and self.data_dir.expanduser().is_file():
            raise ConfigError(f"--data-dir must be a folder, got the file {self.data_dir}")


@dataclass(frozen=True, kw_only=True)
class DataOptions(SourceOptions):
    """How a dataset is found and read; None leaves the choice to its loader."""

    image_size: int | None = option(None, at_least(SMALLEST_SIDE), at_most(LARGEST_SIDE))
    """Height and width in pixels that images are resized to. Default: chosen from their own size (up to
    32: kept; larger: 32 or 64), or the recipe's."""
    resize: Resize | None = None
    """How images of other proportions are resized: crop the centre, pad with black, or stretch. Default:
    crop; pad for freiburg."""
    stream: bool | None = None
    """Read image files while the run needs them instead of keeping all images in memory. Default: yes if
    they would not fit."""
