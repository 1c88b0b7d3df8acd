"""A whole evaluation: a trained run, or weights of the paper's authors, on images with known classes."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from xnas.data import (
    ImageData,
    ImageFiles,
    Images,
    StreamedImages,
    load_data,
)
from xnas.data.cifar import MEAN as CIFAR_MEAN
from xnas.data.cifar import STD as CIFAR_STD
from xnas.data.sizes import Size
from xnas.data.splits import HELD_OUT
from xnas.engine.evaluate import evaluate
from xnas.errors import ConfigError, DatasetError
from xnas.files import open_plain
from xnas.model.image_inputs import ImageReader
from xnas.model.model import load_model
from xnas.process.devices import pick_device
from xnas.process.folder import filled_folder, require_no_link, run_path, storage_errors, write_json
from xnas.records import Evaluation
from xnas.runs.plain_batches import Preparation, plain_batches
from xnas.runs.run_data import is_its_own, load_own_data
from xnas.space import create_model
from xnas.space.authors_weights import load_authors_weights

FORMAT, VERSION = "xnas-evaluation", 1
MOST_NAMED = 5  # classes that differ, in a message
SEEN = "--every-image would test on the images that the run was trained on; give other DATA"


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluateConfig:
    """One evaluation. What is left open follows from the run."""

    out: Path | None = None
    """Folder for evaluation.json and figures, new or empty. By default the run folder itself."""
    device: str = "auto"
    """auto (a GPU if there is one), cpu, cuda or cuda:NUMBER."""
    batch_size: int = 250
    """Images answered at a time; it changes nothing but memory and speed."""
    data_dir: Path | None = None
    """Where datasets are looked for; also XNAS_DATA."""
    use_val: bool | None = None
    """Let the images of a val part join those of train. By default for folders, not for cinic10."""
    fold: int | None = None
    """Fold of freiburg, 0 to 4. By default that of the run, or 0."""
    skip_bad_images: bool = False
    """Leave out image files that cannot be read, instead of stopping."""
    every_image: bool = False
    """Take training images of DATA too, for data that the run has not seen."""
    cell: str | None = None
    """For a file of weights that the paper's authors released: its cell, such as xnas."""
    network: Literal["cifar", "imagenet"] = "cifar"
    """For a file of weights: the kind of network."""
    channels: int | None = None
    """For a file of weights: channels of the first cell. By default those of the small network."""
    cells: int | None = None
    """For a file of weights: number of cells. By default that of the paper."""
    quiet: bool = False
    """Print nothing but warnings and errors."""

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ConfigError(f"batch_size must be at least 1, got {self.batch_size}; 250 is common")


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluated:
    """An evaluation, what a reader should know of it, and where it was written."""

    evaluation: Evaluation
    data: str
    notes: tuple[str, ...]
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Released:
    """How the paper's authors prepare test images for one kind of network."""

    data: str
    mean: tuple[float, ...]
    std: tuple[float, ...]
    load_size: int | None
    """Side that images get first; None leaves them as they are."""
    centre: Size | None
    """What is cut out of the middle after that."""


RELEASED = {
    "cifar": Released("cifar10", CIFAR_MEAN, CIFAR_STD, None, None),
    "imagenet": Released(
        "imagenet", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), load_size=256, centre=(224, 224)
    ),
}


def evaluate_run(
    run: Path | str, data: str | Images | None = None, config: EvaluateConfig | None = None
) -> Evaluated:
    """Test a trained run on the test images of its own data, or of other data with the same classes.

    With `config.cell`, `run` is a file of weights that the paper's authors released.
    """
    config = config or EvaluateConfig()
    run = run_path(run)
    _require_free(config.out)
    if run.is_dir():
        _require_nothing_for_files(run, config)
    if config.cell is not None:
        return _evaluate_released(run, data, config)
    if run.is_file():
        raise ConfigError(
            f"{run} is a file; give the run folder of a training, or say whose weights it holds with "
            "--cell xnas"
        )
    for folder in (config.out or run, (config.out or run) / "figures"):
        require_no_link(folder)  # before the work
    model, card = load_model(run, pick_device(config.device))
    notes = tuple(
        f"{run / 'model.json'} has the field {name!r}, which this version does not know"
        for name in card.unknown_fields
    )
    if data is None:
        if config.every_image:
            raise ConfigError(SEEN)
        images, changed = load_own_data(run, card, config)
        notes += changed
    else:
        images = (
            data
            if isinstance(data, (ImageData, StreamedImages))
            else _load(data, card.size, card.resize, config)
        )
        place = data if isinstance(data, str) else None
        if config.every_image and is_its_own(run, place, images):
            raise ConfigError(SEEN)
    pixels, labels = _part(images, every_image=config.every_image)
    labels = _same_labels(labels, images, card.classes)
    prepared = Preparation(
        mean=card.mean,
        std=card.std,
        reader=ImageReader.of(card),
        centre=card.centre,
        batch_size=config.batch_size,
        skip_bad_images=_skips(images, config),
    )
    batches = plain_batches(pixels, labels, prepared)
    evaluation = evaluate(model, batches, card.classes)
    name = "evaluation" if data is None else f"evaluation-{_file_name(images.name)}"
    files = write_evaluation(config.out or run, evaluation, name=name, data=images.name)
    return Evaluated(
        evaluation=evaluation,
        data=images.name,
        notes=(*notes, *_note(images, every_image=config.every_image)),
        files=files,
    )


def write_evaluation(
    folder: Path, evaluation: Evaluation, *, name: str = "evaluation", data: str = ""
) -> tuple[Path, ...]:
    """Write NAME.json, NAME.md and two figures, each whole or not at all; those there are replaced.

    Of over 100 classes the confusions are not drawn.
    """
    from xnas.report.evaluation import (  # noqa: PLC0415 - they load matplotlib
        MOST_DRAWN,
        draw_confusion,
        draw_reliability,
        evaluation_page,
    )
    from xnas.report.figures import save_figure  # noqa: PLC0415

    drawn = {}
    if len(evaluation.classes) <= MOST_DRAWN:
        drawn[name.replace("evaluation", "confusion")] = draw_confusion(evaluation)
    drawn[name.replace("evaluation", "reliability")] = draw_reliability(evaluation)
    with storage_errors(folder), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # of names that the font cannot write
        with filled_folder(folder / "figures", overwrite=True) as scratch:
            pictures = [p for key, figure in drawn.items() for p in save_figure(figure, scratch, key)]
        with filled_folder(folder, overwrite=True) as scratch:
            head = {"format": FORMAT, "version": VERSION, "data": data}
            write_json(scratch / f"{name}.json", head | _parts(evaluation))
            page = evaluation_page(evaluation, data=data, figures=tuple(drawn))
            (scratch / f"{name}.md").write_text(page, encoding="utf8")
    written = [folder / f"{name}.json", folder / f"{name}.md"]
    return (*written, *(folder / "figures" / picture.name for picture in pictures))


def _parts(evaluation: Evaluation) -> dict[str, object]:
    """As `asdict`, which would copy each of the millions of confusions of thousands of classes."""
    return {field.name: getattr(evaluation, field.name) for field in fields(evaluation)}


def read_evaluation(path: Path) -> Evaluation:
    """The evaluation of a file that `write_evaluation` wrote."""
    try:
        with open_plain(path) as file:
            saved = json.loads(file.read())
        if (saved["format"], saved["version"]) != (FORMAT, VERSION):
            raise ConfigError(
                f"{path} is {saved['format']!r} of version {saved['version']}; this xnas reads "
                f"{FORMAT!r} of version {VERSION}"
            )
        return Evaluation.from_json(saved)
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"cannot read the evaluation {path} ({error}); evaluate again") from error


def _evaluate_released(path: Path, data: str | Images | None, config: EvaluateConfig) -> Evaluated:
    kind = RELEASED[config.network]
    if isinstance(data, (ImageData, StreamedImages)):
        images: Images = data
    else:
        size = None if kind.load_size is None else (kind.load_size, kind.load_size)
        images = _load(data or kind.data, size, "crop", config)
    channels = int(images.images.shape[-3])
    model = create_model(
        config.cell or "xnas",
        network=config.network,
        num_classes=len(images.classes),
        in_chans=channels,
        channels=config.channels,
        cells=config.cells,
    )
    load_authors_weights(path, model)
    mean, std, theirs = kind.mean, kind.std, f"the authors' mean and deviation of {kind.data}"
    if channels != len(mean):
        mean, std, theirs = images.mean, images.std, f"mean and deviation of {images.name} itself"
    pixels, labels = _part(images, every_image=config.every_image)
    prepared = Preparation(
        mean=mean,
        std=std,
        centre=kind.centre,
        batch_size=config.batch_size,
        skip_bad_images=_skips(images, config),
    )
    batches = plain_batches(pixels, labels, prepared)
    evaluation = evaluate(model.to(pick_device(config.device)), batches, images.classes)
    files: tuple[Path, ...] = ()
    if config.out is not None:
        files = write_evaluation(config.out, evaluation, data=images.name)
    notes = (f"standardised with {theirs}", *_note(images, every_image=config.every_image))
    return Evaluated(evaluation=evaluation, data=images.name, notes=notes, files=files)


def _load(data: str, size: Size | None, resize: str, config: EvaluateConfig) -> Images:
    square = size is not None and size[0] == size[1]
    return load_data(
        data,
        data_dir=config.data_dir,
        image_size=size[0] if size is not None and square else None,
        resize=resize,  # type: ignore[arg-type]  # checked where the card was read
        use_val=config.use_val,
        skip_bad_images=config.skip_bad_images,
        fold=config.fold,
    )


def _part(data: Images, *, every_image: bool) -> tuple[Tensor | ImageFiles, Tensor]:
    """The test images, or all."""
    if data.test_images is None or data.test_labels is None:
        if every_image:
            return data.images, data.labels
        raise DatasetError(
            f"{data.name} has no test images; add a folder test beside train, or pass --every-image if "
            "the run has not seen its images"
        )
    if not every_image:
        return data.test_images, data.test_labels
    if not isinstance(data, ImageData) or not isinstance(data.test_images, Tensor):
        raise ConfigError(
            f"--every-image joins images in memory, and those of {data.name} stay in files; leave it out"
        )
    return torch.cat([data.images, data.test_images]), torch.cat([data.labels, data.test_labels])


def _note(data: Images, *, every_image: bool) -> list[str]:
    """What was done to the images; which were held out does not matter where all are taken."""
    phrases = [p for p in data.note.split("; ") if p and not (every_image and p.endswith(HELD_OUT))]
    return ["; ".join(phrases)] if phrases else []


def _same_labels(labels: Tensor, data: Images, classes: tuple[str, ...]) -> Tensor:
    """Labels by the run's order of classes, which has to have the same names."""
    lacking = [name for name in classes if name not in data.classes]
    extra = [name for name in data.classes if name not in classes]
    if lacking or extra:
        parts = [f"{data.name} lacks {_some(lacking)}"] if lacking else []
        parts += [f"the run does not know {_some(extra)}"] if extra else []
        raise ConfigError(
            f"the classes of {data.name} are not those of the run: {', and '.join(parts)}; name and "
            "choose the class folders as those of the training were"
        )
    return torch.tensor([classes.index(name) for name in data.classes])[labels]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(repr, names[:MOST_NAMED])) + more


def _skips(data: Images, config: EvaluateConfig) -> bool:
    return config.skip_bad_images or (isinstance(data, StreamedImages) and data.skip_bad_images)


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name) or "data"


def _require_nothing_for_files(run: Path, config: EvaluateConfig) -> None:
    """Refuse settings that a run's own network has already, before the work."""
    usual = EvaluateConfig()
    names = ("cell", "network", "channels", "cells")
    given = [f"--{name}" for name in names if getattr(config, name) != getattr(usual, name)]
    if given:
        raise ConfigError(
            f"{' and '.join(given)} can be said of a file of weights, but {run} is a folder; give the "
            "file, or leave that out"
        )


def _require_free(out: Path | None) -> None:
    """Refuse a folder that holds anything, before the work."""
    if out is not None and out.is_file():
        raise ConfigError(f"{out} is a file; choose a folder with --out")
    if out is not None and out.is_dir() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty; choose another folder with --out")
