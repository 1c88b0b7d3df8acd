"""Any dataset of Python as images: torchvision's, Hugging Face's, a `torch.utils.data.Dataset` of yours.

Items are pairs (image, label), or mappings with those two names. An image is a Pillow image, uint8 or
float in 0..1 as (channels, height, width), or a uint8 array (height, width, channels). The dataset's own
transforms are applied, so they must not draw at random: augmentation is the run's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from reprlib import repr as brief
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset

from xnas.data.budget import available_memory, streams
from xnas.data.decoding import GREY_MODES, eight_bit_pixels
from xnas.data.image_files import Images, StreamedImages
from xnas.data.images import ImageData
from xnas.data.sizes import Resize, Size, fit, fitting_size, require_resize, resizing_note
from xnas.data.splits import TEST_SEED, TEST_SHARE, held_out, held_out_note, stream
from xnas.data_options import DataOptions
from xnas.errors import DatasetError

LOOKED_AT = 512  # items that decide size and channels
IDENTIFYING = 16  # items whose pixels identify a streamed dataset
IMAGE_NAMES = ("image", "img", "pixel_values", "jpg", "png")
LABEL_NAMES = ("label", "labels", "fine_label", "class", "target", "cls")
ONE_CLASS = "an image has one class here"


def is_dataset(given: object) -> bool:
    """Whether something is a dataset of Python, also one of Hugging Face, which inherits nothing."""
    return isinstance(given, Dataset) or (hasattr(given, "features") and hasattr(given, "__getitem__"))


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Chosen items of a dataset, as `StreamedImages` takes files."""

    dataset: Any
    indices: Tensor
    name: str

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> str:
        """Words for one item."""
        return f"item {int(self.indices[index])} of {self.name}"

    def decode(self, index: int, *, channels: int, size: Size, resize: str) -> Tensor:
        """One image, uint8 (channels, height, width)."""
        rule = require_resize(resize)
        place = int(self.indices[index])
        image, _ = parts_of(_item(self.dataset, place, self.name), self[index])
        return fit(pixels_of(image, channels, self[index])[None], size, rule)[0]

    def identities(self, *, may_lack: bool) -> Iterator[bytes]:  # noqa: ARG002 - items cannot lack
        """Identifies this dataset by the pixels of some items."""
        for index in np.linspace(0, len(self) - 1, min(len(self), IDENTIFYING), dtype=int).tolist():
            image, _ = parts_of(_item(self.dataset, int(self.indices[index]), self.name), self[index])
            yield blake2b(pixels_of(image, 3, self[index]).numpy().tobytes()).digest()


def images_of_dataset(
    dataset: object,
    options: DataOptions = DataOptions(),  # noqa: B008 - frozen
    *,
    test: object | None = None,
    name: str = "",
    classes: Sequence[str] | None = None,
) -> Images:
    """Images of a dataset, in memory or, with `stream`, item by item as they are needed.

    A fifth of each class is held out as test images unless `test` is a dataset of them. `classes` are
    names, by default those that the dataset has, else the labels.
    """
    called = name or type(_innermost(dataset)).__name__
    found = _listed(dataset, called)
    tested = None if test is None else _listed(test, f"test images of {called}")
    labels = torch.tensor(_labels(found, called), dtype=torch.int64)
    names = tuple(classes or _class_names(dataset) or map(str, range(int(labels.max()) + 1)))
    rows, test_rows, notes = Rows(found, torch.arange(len(found)), called), None, []
    if tested is not None:
        test_rows = Rows(tested, torch.arange(len(tested)), f"test images of {called}")
        test_labels = torch.tensor(_labels(tested, test_rows.name), dtype=torch.int64)
    else:
        kept, out = held_out(labels, share=TEST_SHARE, seed=TEST_SEED)
        rows, test_rows = Rows(found, kept, called), Rows(found, out, called)
        labels, test_labels = labels[kept], labels[out]
        notes.append(held_out_note(len(out)))
    _require_repeatable(rows)
    channels, sizes = _look(rows)
    side = options.image_size
    size = fitting_size(sizes) if side is None else (side, side)
    resize: Resize = options.resize or "crop"
    notes.append(resizing_note(sizes, size, resize))
    note = "; ".join(filter(None, notes))
    needed = (len(rows) + len(test_rows)) * channels * size[0] * size[1]
    shape: dict[str, Any] = {"channels": channels, "size": size, "resize": resize}
    if options.stream is True or (options.stream is None and streams(needed, available_memory())):
        if isinstance(dataset, IterableDataset):
            raise DatasetError(f"{called} can only be walked through, not streamed; leave stream out")
        return StreamedImages(
            name=called,
            files=rows,
            labels=labels,
            classes=names,
            test_files=test_rows,
            test_labels=test_labels,
            note=f"{note}; read item by item".lstrip("; "),
            **shape,
        )
    return ImageData(
        name=called,
        images=torch.stack([rows.decode(i, **shape) for i in range(len(rows))]),
        labels=labels,
        classes=names,
        test_images=torch.stack([test_rows.decode(i, **shape) for i in range(len(test_rows))]),
        test_labels=test_labels,
        note=note,
        resize=resize,
    )


def parts_of(item: object, where: str) -> tuple[Any, Any]:
    """Image and label of an item."""
    if isinstance(item, Mapping):
        names = [next((n for n in known if n in item), None) for known in (IMAGE_NAMES, LABEL_NAMES)]
        if None in names:
            raise DatasetError(
                f"{where} has {', '.join(map(str, item))}; an image and a label are wanted: call them so"
            )
        return item[names[0]], item[names[1]]
    if isinstance(item, tuple | list) and len(item) == 2:
        return item[0], item[1]
    raise DatasetError(f"{where} is {brief(item)}; a pair of image and label is wanted: return that")


def pixels_of(image: object, channels: int, where: str) -> Tensor:
    """An image as uint8 (channels, height, width)."""
    from PIL import Image  # noqa: PLC0415 - needed for images of Pillow alone

    if isinstance(image, Image.Image):
        return _decoded(image, channels, where)
    if isinstance(image, np.ndarray):
        image = torch.from_numpy(np.ascontiguousarray(image))
        if image.dtype == torch.uint8 and image.dim() == 3:
            image = image.movedim(-1, 0)
    if not isinstance(image, Tensor) or image.dim() not in (2, 3):
        shape = f" of shape {tuple(image.shape)}" if isinstance(image, Tensor) else ""
        raise DatasetError(
            f"the image of {where} is {type(image).__name__}{shape}; give Pillow's or a tensor"
        )
    pixels = image if image.dim() == 3 else image[None]
    if pixels.is_floating_point():
        if float(pixels.min()) < 0 or float(pixels.max()) > 1:
            raise DatasetError(
                f"the image of {where} has values from {float(pixels.min()):.3g} to "
                f"{float(pixels.max()):.3g}, not in 0..1; leave Normalize out of its transforms"
            )
        pixels = (pixels * 255).round().to(torch.uint8)
    if pixels.dtype != torch.uint8 or pixels.shape[0] not in (1, 3):
        raise DatasetError(
            f"the image of {where} is {pixels.dtype} {tuple(pixels.shape)}; it must be uint8, or float "
            "in 0..1, with 1 or 3 channels first"
        )
    if pixels.shape[0] == channels:
        return pixels
    if channels == 3:
        return pixels.expand(3, -1, -1).contiguous()
    weights = torch.tensor([0.299, 0.587, 0.114])  # of ITU-R 601, as Pillow's L
    return (pixels.float() * weights[:, None, None]).sum(0, keepdim=True).round().to(torch.uint8)


def _decoded(image: Any, channels: int, where: str) -> Tensor:  # noqa: ANN401 - Pillow's
    try:
        return torch.from_numpy(eight_bit_pixels(image, channels)).movedim(-1, 0)
    except Exception as error:  # decoders raise almost anything
        why = " ".join(str(error).split()) or type(error).__name__
        raise DatasetError(f"cannot decode {where} ({why}); fix or remove it") from error


def label_of(label: object, where: str) -> int:
    """A label as a whole number, or an error that names the task that it belongs to."""
    from PIL import Image  # noqa: PLC0415 - needed for images of Pillow alone

    if isinstance(label, Tensor | np.ndarray):
        if label.ndim >= 2:
            raise DatasetError(f"the label of {where} is an image: segmentation; {ONE_CLASS}")
        values = label.reshape(-1).tolist()
        label = values[0] if len(values) == 1 else values
    if isinstance(label, Image.Image):
        raise DatasetError(f"the label of {where} is an image: segmentation; {ONE_CLASS}")
    if isinstance(label, Mapping):
        raise DatasetError(f"the label of {where} has {brief(label)}: object detection; {ONE_CLASS}")
    if isinstance(label, list | tuple):
        raise DatasetError(f"the label of {where} is {brief(label)}: multi-label data; {ONE_CLASS}")
    if isinstance(label, bool) or not isinstance(label, int) or label < 0:
        raise DatasetError(
            f"the label of {where} is {brief(label)}; it must be a whole number from 0 on: number the "
            "classes"
        )
    return label


def _item(dataset: Any, index: int, name: str) -> object:  # noqa: ANN401 - a user's
    try:
        return dataset[index]
    except DatasetError:
        raise
    except Exception as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise DatasetError(f"item {index} of {name} cannot be read ({why}); fix the dataset") from error


def _listed(dataset: Any, name: str) -> Any:  # noqa: ANN401 - a user's
    """The dataset itself, or the items of one that can only be walked through."""
    found = list(dataset) if isinstance(dataset, IterableDataset) else dataset
    try:
        count = len(found)
    except TypeError as error:
        raise DatasetError(f"{name} does not say how many items it has; give it __len__") from error
    if count == 0:
        raise DatasetError(f"{name} has no items; add some")
    return found


def _innermost(dataset: Any) -> Any:  # noqa: ANN401 - a user's
    while isinstance(inner := getattr(dataset, "dataset", None), Dataset):
        dataset = inner
    return dataset


def _labels(dataset: Any, name: str) -> list[int]:  # noqa: ANN401 - a user's
    """All labels: a list that the dataset keeps, or else those of its items."""
    kept = next((getattr(dataset, n, None) for n in ("targets", "labels") if hasattr(dataset, n)), None)
    if kept is None or not hasattr(kept, "__len__") or len(kept) != len(dataset):
        items = (_item(dataset, index, name) for index in range(len(dataset)))
        kept = [parts_of(item, f"item {i} of {name}")[1] for i, item in enumerate(items)]
    return [label_of(label, f"item {index} of {name}") for index, label in enumerate(kept)]


def _class_names(dataset: Any) -> tuple[str, ...] | None:  # noqa: ANN401 - a user's
    """Names of the classes, as torchvision's and Hugging Face's datasets keep them."""
    names = getattr(_innermost(dataset), "classes", None)
    features = getattr(dataset, "features", None)
    if names is None and isinstance(features, Mapping):
        label = next((features[n] for n in LABEL_NAMES if n in features), None)
        names = getattr(label, "names", None)
    return tuple(map(str, names)) if isinstance(names, list | tuple) and names else None


def _require_repeatable(rows: Rows) -> None:
    """Raise if an item differs when it is read again, as with augmentation."""
    for index in range(min(4, len(rows))):
        first, again = (
            parts_of(_item(rows.dataset, int(rows.indices[index]), rows.name), rows[index])[0]
            for _ in range(2)
        )
        pixels = [pixels_of(image, 3, rows[index]) for image in (first, again)]
        if pixels[0].shape != pixels[1].shape or not torch.equal(*pixels):
            raise DatasetError(
                f"{rows[index]} differs when it is read again; leave what draws at random out of its "
                "transforms: the run augments images itself"
            )


def _look(rows: Rows) -> tuple[int, list[Size]]:
    """Channels that suit, and sizes, of some items that are drawn always alike."""
    drawn = torch.randperm(len(rows), generator=stream(0, "look"))[:LOOKED_AT]
    sizes, kinds = [], Counter[bool]()
    for index in drawn.sort().values.tolist():
        image, _ = parts_of(_item(rows.dataset, int(rows.indices[index]), rows.name), rows[index])
        mode = getattr(image, "mode", None)
        pixels = pixels_of(image, 3, rows[index])
        sizes.append((int(pixels.shape[1]), int(pixels.shape[2])))
        kinds[mode in GREY_MODES if isinstance(mode, str) else _is_grey(image)] += 1
    return (1 if not kinds[False] else 3), sizes


def _is_grey(image: Any) -> bool:  # noqa: ANN401 - a tensor or an array
    return bool(image.ndim == 2 or image.shape[0 if isinstance(image, Tensor) else -1] == 1)
