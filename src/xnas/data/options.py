"""What a user may say about how a dataset is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xnas.data.sizes import Resize, require_image_size, require_resize
from xnas.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class DataOptions:
    """Wishes that a loader follows as far as they concern its dataset; None leaves it the choice."""

    data_dir: Path | None = None
    """Where the files of a named dataset are looked for first."""
    image_size: int | None = None
    """Make images square, with this side."""
    resize: Resize | None = None
    """How images of another shape get their size; by default crop, and pad for freiburg."""
    use_val: bool | None = None
    """Let a `val` part join `train`; by default so for folders, and not for cinic10."""
    skip_bad_images: bool = False
    """Leave out image files that cannot be read, instead of refusing the dataset."""
    stream: bool | None = None
    """Leave images in their files, or hold them in memory; by default by their size."""
    fold: int | None = None
    """Which fold of freiburg, from 0 to 4."""

    def __post_init__(self) -> None:
        require_image_size(self.image_size)
        if self.data_dir is not None and self.data_dir.expanduser().is_file():
            raise ConfigError(f"data-dir must be a folder, got the file {self.data_dir}")
        if self.resize is not None:
            require_resize(self.resize)
        if self.fold is not None and not 0 <= self.fold <= 4:
            raise ConfigError(f"fold must lie in 0..4, got {self.fold}; freiburg has five folds")
