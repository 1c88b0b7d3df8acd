"""Batches for a run: images in memory move to the device once, others stream from their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from reprlib import repr as brief
from shlex import quote
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils.data import Dataset

from xnas.data import (
    DATASETS,
    BatchSettings,
    BatchSource,
    ImageData,
    ImageFiles,
    Images,
    StreamedImages,
    StreamSource,
    default_workers,
    load_data,
)
from xnas.data.augment import Augmentation
from xnas.data.given_datasets import images_of_dataset, is_dataset
from xnas.data.sizes import Size
from xnas.data_options import DataOptions
from xnas.engine.distributed import ALONE, Ranks
from xnas.errors import ConfigError, DatasetError
from xnas.options import Options
from xnas.registry import known_names
from xnas.runs.config_file import ConfigFile, images_of
from xnas.runs.run_folder import RUNS, RunFolder

EMBEDDED = "digits"

Settings = TypeVar("Settings", bound=Options)
GivenImages = Images | Dataset[Any]
"""Images of Python, as `xnas.search` takes them."""


class Sources:
    """Makes the batch sources of one run, which share images, device and seed."""

    def __init__(
        self,
        images: Images,
        device: torch.device,
        *,
        batch_size: int,
        seed: int,
        count: int,
        size: Size | None = None,
        ranks: Ranks = ALONE,
    ) -> None:
        """`count` sources will be asked for; streamed ones share the cores.

        `size` is the height and width of batches, if not those of the images. Of several `ranks` each
        draws its part of every batch; what is evaluated, all of them see whole.
        """
        self.size, self.part = size, ranks.part
        self.images, self.device, self.batch_size, self.seed = images, device, batch_size, seed
        self.workers = default_workers(sources=count * ranks.local_size)
        self.pixels: Tensor | None = None
        self.labels = images.labels.to(device)
        if isinstance(images, ImageData):
            self.pixels = images.images.to(device)

    def make(
        self,
        name: str,
        indices: Tensor,
        *,
        augment: Augmentation | None = None,
        finish: Augmentation | None = None,
        balance: bool = False,
    ) -> BatchSource | StreamSource:
        """Endless batches of the training images at `indices`."""
        settings = BatchSettings(
            batch_size=self.batch_size,
            mean=self.images.mean,
            std=self.images.std,
            seed=self.seed,
            name=name,
            augment=augment,
            finish=finish,
            balance=balance,
            size=self.size,
            part=self.part,
        )
        pixels = self.images.images if self.pixels is None else self.pixels
        return self._source(pixels, self.labels, indices, settings)

    def test_batches(self) -> Iterator[tuple[Tensor, Tensor]] | None:
        """The test images, standardised, each once; None if there are none."""
        pixels, labels = self.images.test_images, self.images.test_labels
        if pixels is None or labels is None:
            return None
        settings = BatchSettings(
            batch_size=self.batch_size,
            mean=self.images.mean,
            std=self.images.std,
            seed=self.seed,
            name="test",
            size=self.size,
        )
        pixels = pixels if isinstance(pixels, ImageFiles) else pixels.to(self.device)
        return self._source(pixels, labels, torch.arange(len(labels)), settings).whole()

    def _source(
        self, pixels: Tensor | ImageFiles, labels: Tensor, indices: Tensor, settings: BatchSettings
    ) -> BatchSource | StreamSource:
        if not isinstance(pixels, ImageFiles):
            return BatchSource(pixels, labels, indices, settings)
        return StreamSource(
            pixels,
            labels,
            indices,
            settings,
            device=self.device,
            workers=self.workers,
            skip_bad_images=isinstance(self.images, StreamedImages) and self.images.skip_bad_images,
        )


def holding(images: Images, device: torch.device) -> str:
    """Where the training images are during a run, in one line."""
    shape = " x ".join(map(str, (images.channels, *images.size)))
    count = f"{len(images.labels):,} training images of {shape}"
    if isinstance(images, StreamedImages):
        return f"{count}, decoded by worker processes as they are needed"
    return f"{count}, all in memory on {device} ({images.images.numel() / 2**20:,.0f} MiB)"


def settled(
    command: str,
    kind: type[Settings],
    config: Options | None,
    settings: Mapping[str, Any],
) -> Settings:
    """The settings of `xnas.COMMAND(config, ..., **settings)`; those by name go before `config`'s."""
    known = [declared.name for declared in fields(kind)]
    unknown = next((name for name in settings if name not in known), None)
    if unknown is not None:
        raise ConfigError(f"xnas.{command} has no setting {unknown!r}; {known_names(unknown, known)}")
    if config is None:
        return kind(**settings)
    if not isinstance(config, kind):
        raise ConfigError(
            f"xnas.{command} takes {kind.__name__}, got {brief(config)}; write "
            f"xnas.{command}(xnas.{kind.__name__}(...), ...)"
        )
    return replace(config, **settings) if settings else config


def config_and_data(
    command: str, kind: type[Settings], first: object, data: object, settings: Mapping[str, Any]
) -> tuple[Settings, Any]:
    """Settings and data of `xnas.COMMAND(config, data)` or `xnas.COMMAND(data, **settings)`."""
    if isinstance(first, Options):
        return settled(command, kind, first, settings), data
    if first is not None and data is not None:
        raise ConfigError(
            f"xnas.{command} takes settings or data first, got {brief(first)} and {brief(data)}; write "
            f"xnas.{command}(data, epochs=10) or xnas.{command}(xnas.{kind.__name__}(...), data)"
        )
    return settled(command, kind, None, settings), data if first is None else first


def data_of(run: Path | None) -> str:
    """Where the images of a run are; without a run the embedded ones."""
    if run is None:
        return EMBEDDED
    found = None
    if (run / "config.json").exists():
        RunFolder.open(run)
        found = images_of(run)
    if found is None:
        raise ConfigError(
            f"the run in {run} does not say where its images are; name those to train on: "
            f"xnas train {quote(str(run))} DATA"
        )
    return found


def given_data(
    data: str | Path | GivenImages,
    out: Path | None,
    options: DataOptions = DataOptions(),  # noqa: B008 - frozen
) -> str | ImageData | StreamedImages:
    """The second argument of `xnas.COMMAND(config, data)`, if it names or holds images.

    `out` is the run folder that the settings name, which must lie elsewhere. A dataset of Python is read
    as the `options` have it.
    """
    given = str(data) if isinstance(data, Path) else data
    if is_dataset(given):
        return images_of_dataset(given, options)
    if not isinstance(given, str | ImageData | StreamedImages):
        raise ConfigError(
            f"data must be a dataset's name, a folder or images, got {type(data).__name__}; "
            "xnas.ImageData makes images of tensors, and a torch.utils.data.Dataset is taken as it is"
        )
    if isinstance(given, str):
        require_outside(out or RUNS, given)
    return given


def require_outside(out: Path, data: str) -> None:
    """Raise if results would be written into a folder of images, where they would look like a class."""
    if data in DATASETS or not data:
        return
    folder, place = Path(data).expanduser().resolve(), out.expanduser().resolve()
    if folder in (place, *place.parents):
        raise ConfigError(
            f"{out} lies in the data folder {data}, where results would look like a class of images; "
            "choose a folder elsewhere with --out"
        )


def saved_images(
    path: Path,
    saved: ConfigFile,
    config: DataOptions,
    data: GivenImages | None,
    kind: str,
) -> Images:
    """The images that a run began with, given again or loaded; raises if they are others."""
    if data is None and saved.data is None:
        raise ConfigError(
            f"the {kind} in {path} was given its images in memory; resume it with "
            f"xnas.resume_{kind}({str(path)!r}, data=...)"
        )
    images = _loaded_again(path, saved, config) if data is None else _read(data, config)
    if images.fingerprint() != saved.fingerprint:
        raise ConfigError(
            f"the images are not those that the {kind} in {path} began with; restore them, or start a "
            "new run"
        )
    if saved.test_fingerprint is not None and images.test_fingerprint() != saved.test_fingerprint:
        raise ConfigError(
            f"the test images are not those that the {kind} in {path} began with; restore them, or "
            "start a new run"
        )
    return images


def _read(data: GivenImages, options: DataOptions) -> Images:
    """Images as they are, and those of a dataset of Python."""
    return images_of_dataset(data, options) if isinstance(data, Dataset) or is_dataset(data) else data


def _loaded_again(path: Path, saved: ConfigFile, config: DataOptions) -> Images:
    try:
        return load_data(str(saved.data), config)
    except (ConfigError, DatasetError) as error:
        raise type(error)(
            f"{error}; {path / 'config.json'} says that the run began with {saved.data}: restore it, or "
            "write there where it is now"
        ) from error


def whereabouts(data: str) -> str:
    """Data as another folder of work would name them: a dataset's name, or a whole path."""
    return data if data in DATASETS else str(Path(data).expanduser().resolve())
