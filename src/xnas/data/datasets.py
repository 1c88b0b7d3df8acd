"""Datasets by name, or any folder of class folders.

What a run tests on follows from the data alone. Where a dataset has no test part of its own, a fifth
of each class is held out with a seed that no run can set, so that no search, whatever its seed, has
seen what another tests on.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from xnas.data.cifar import load_cifar10
from xnas.data.folders import load_folder
from xnas.data.images import ImageData
from xnas.data.sizes import require_image_size, resized
from xnas.data.splits import TEST_SEED, TEST_SHARE, held_out
from xnas.errors import DatasetError
from xnas.registry import Registry

Loader = Callable[[Path | None], ImageData]
"""Loads a dataset; it is given the folder in which to look first, if there is one."""

DATASETS: Registry[Loader] = Registry("dataset")
DATASETS.add("cifar10", load_cifar10)


@DATASETS.register("digits")
def load_digits(_data_dir: Path | None = None) -> ImageData:
    """The 1,797 handwritten digits that come with scikit-learn: 8 x 8, grey."""
    from sklearn.datasets import (  # type: ignore[import-untyped]  # noqa: PLC0415
        load_digits as embedded,
    )

    digits = embedded()
    grey = torch.tensor(digits.images * (255 / 16)).round().to(torch.uint8)[:, None]  # 0..16 before
    labels = torch.tensor(digits.target, dtype=torch.int64)
    kept, held = held_out(labels, share=TEST_SHARE, seed=TEST_SEED)
    return ImageData(
        name="digits",
        images=grey[kept],
        labels=labels[kept],
        classes=tuple(str(name) for name in digits.target_names),
        test_images=grey[held],
        test_labels=labels[held],
        flip=False,
        note=f"scikit-learn's digits; {len(held)} images, a fifth of each class, held out as test",
    )


def load_data(
    name_or_path: str | Path,
    *,
    data_dir: Path | None = None,
    image_size: int | None = None,
    use_val: bool = True,
) -> ImageData:
    """The dataset of this name, or the images of this folder.

    `data_dir` is where the files of a named dataset are looked for first. `image_size` makes images
    square with this side; without it named datasets stay as they are and folders follow
    `fitting_size`. `use_val=False` leaves a folder's `val` part out, which otherwise joins `train`.
    """
    require_image_size(image_size)
    if str(name_or_path) in DATASETS:
        data = DATASETS[str(name_or_path)](data_dir)
        return data if image_size is None else resized(data, image_size)
    try:
        return _load_folder_at(Path(name_or_path).expanduser(), image_size=image_size, use_val=use_val)
    except OSError as error:
        raise DatasetError(
            f"cannot read {str(name_or_path)!r}: {error.strerror}; {_what_works()}"
        ) from error


def _load_folder_at(path: Path, *, image_size: int | None, use_val: bool) -> ImageData:
    if path.is_dir():
        return load_folder(path, image_size=image_size, use_val=use_val)
    fault = f"{path} is a file" if path.is_file() else f"no dataset or folder called {str(path)!r}"
    raise DatasetError(f"{fault}; {_what_works()}")


def _what_works() -> str:
    return f"give a folder of class folders, or one of the names: {', '.join(sorted(DATASETS))}"
