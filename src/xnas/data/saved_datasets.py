"""Datasets that Hugging Face's `save_to_disk` wrote: Arrow files with the bytes of every image.

They are read by pyarrow, which the extra `xnas[arrow]` installs and `datasets` brings too.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from xnas.data.decoding import decoded_formats
from xnas.data.given_datasets import LABEL_NAMES, images_of_dataset
from xnas.data.image_files import Images
from xnas.data.part_names import Part, part_called
from xnas.data_options import DataOptions
from xnas.errors import ConfigError, DatasetError

DICT, STATE, INFO = "dataset_dict.json", "state.json", "dataset_info.json"
TASKS = {"Sequence": "multi-label data", "LargeList": "multi-label data", "List": "multi-label data"}


def is_saved(root: Path) -> bool:
    """Whether `save_to_disk` wrote a folder."""
    return (root / DICT).is_file() or ((root / STATE).is_file() and (root / INFO).is_file())


def load_saved(root: Path, options: DataOptions) -> Images:
    """The images of a saved dataset; of a dictionary of parts, that for training and that for test."""
    name = root.resolve().name
    if not (root / DICT).is_file():
        _require_no_val(root, options)
        return images_of_dataset(SavedRows(root), options, name=name)
    splits = _read(root / DICT).get("splits")
    parts: dict[Part | None, Path] = {part_called(str(one)): root / str(one) for one in splits or ()}
    if "train" not in parts:
        raise DatasetError(f"{root} has no part called train; save one with that name")
    _require_no_val(root, options)
    test = SavedRows(parts["test"]) if "test" in parts else None
    return images_of_dataset(SavedRows(parts["train"]), options, test=test, name=name)


class SavedRows:
    """Rows of one part: a mapping of image and label each, as `images_of_dataset` takes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.features: dict[str, Any] = _read(folder / INFO).get("features") or {}
        self.image, self.label = self._columns()
        names = self.features[self.label].get("names")
        self.classes = list(map(str, names)) if isinstance(names, list) else None
        self.table = _table(folder)
        self.labels = self.table.column(self.label).to_pylist()

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Image and label of a row."""
        from PIL import Image  # noqa: PLC0415 - needed for images alone

        stored = self.table.column(self.image)[index].as_py()
        found = stored.get("bytes") if isinstance(stored, dict) else None
        if found is None:
            raise DatasetError(
                f"row {index} of {self.folder} holds no image, but {stored!r:.80}; save the dataset "
                "with its images inside"
            )
        return {
            "image": Image.open(io.BytesIO(found), formats=decoded_formats()),
            "label": self.labels[index],
        }

    def _columns(self) -> tuple[str, str]:
        """The columns of images and labels; raises for data of another task."""
        kinds = {name: _kind(feature) for name, feature in self.features.items()}
        images = [name for name, kind in kinds.items() if kind == "Image"]
        if len(images) > 1:
            raise DatasetError(
                f"{self.folder} has the images {', '.join(images)} in each row, as data for "
                "segmentation have; an image has one class here"
            )
        label = next((name for name in LABEL_NAMES if name in kinds), None)
        if label is None or not images:
            raise DatasetError(
                f"{self.folder} has the columns {', '.join(kinds) or 'none'}; an image and a label are "
                "wanted: rename them so"
            )
        if kinds[label] in TASKS:
            raise DatasetError(
                f"{label} in {self.folder} is a list of labels: {TASKS[kinds[label]]}; an image has one "
                "class here"
            )
        return images[0], label


def _kind(feature: object) -> str:
    if isinstance(feature, list):
        return "Sequence"
    return str(feature.get("_type", "")) if isinstance(feature, dict) else ""


def _require_no_val(root: Path, options: DataOptions) -> None:
    if options.use_val:
        raise ConfigError(
            f"use-val was asked of {root}, a saved dataset, whose parts stay apart; leave it out"
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf8"))
    except (OSError, ValueError) as error:
        raise DatasetError(f"cannot read {path} ({error}); save the dataset again") from error
    if not isinstance(found, dict):
        raise DatasetError(f"{path} is no object of JSON; save the dataset again")
    return found


def _table(folder: Path) -> Any:  # noqa: ANN401 - pyarrow has no types
    """All rows of a part, from its files mapped into memory."""
    try:
        import pyarrow  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415, ICN001 - an extra
        from pyarrow import ipc  # noqa: PLC0415
    except ImportError as error:
        raise DatasetError(
            f"{folder} is a dataset saved by Hugging Face's save_to_disk, which pyarrow reads; install "
            "xnas[arrow]"
        ) from error
    files = _read(folder / STATE).get("_data_files") or []
    tables = []
    for name in (Path(str(one.get("filename"))).name for one in files if isinstance(one, dict)):
        try:
            with pyarrow.memory_map(str(folder / name)) as source:
                tables.append(ipc.open_stream(source).read_all())
        except (OSError, pyarrow.ArrowInvalid) as error:
            raise DatasetError(
                f"cannot read {folder / name} ({error}); save the dataset again"
            ) from error
    if not tables:
        raise DatasetError(f"{folder / STATE} names no files; save the dataset again")
    return pyarrow.concat_tables(tables)
