"""Evaluation of a trained run, or of weights of the paper's authors, on images that are found for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xnas.data import DataOptions, ImageData, Images, StreamedImages, load_data
from xnas.data.sizes import Size
from xnas.data_options import SourceOptions
from xnas.errors import ConfigError
from xnas.model.evaluation import evaluate_model, notes_on
from xnas.model.evaluation_files import write_evaluation
from xnas.model.model import load_model
from xnas.model.released import RELEASED, ReleasedWeights, evaluate_released
from xnas.options import widened
from xnas.process.advance import Advance, unwatched
from xnas.process.devices import full_fp32, pick_device
from xnas.process.folder import require_no_link, run_path
from xnas.records import Evaluation
from xnas.runs.fold_folders import require_one_run
from xnas.runs.model_options import EvaluateConfig
from xnas.runs.run_data import is_its_own, load_own_data, place_of
from xnas.runs.sources import require_outside

SEEN = "--every-image would test on the images that the run was trained on; give other DATA"


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluated:
    """An evaluation, what a reader should know of it, and where it was written."""

    evaluation: Evaluation
    data: str
    notes: tuple[str, ...]
    files: tuple[Path, ...]


@full_fp32()  # as runs compute
def evaluate_run(
    run: Path | str,
    data: str | Images | None = None,
    config: EvaluateConfig | None = None,
    *,
    advance: Advance = unwatched,
) -> Evaluated:
    """Test a trained run on the test images of its own data, or of other data with the same classes.

    With `config.cell`, `run` is a file of weights that the paper's authors released. `advance` is called
    after each batch with the number of images.
    """
    config = config or EvaluateConfig()
    run = run_path(run)
    _require_free(config.out)
    place = place_of(run) if data is None else data
    if config.out is not None and isinstance(place, str):
        require_outside(config.out, place)
    require_one_run(run)
    if run.is_dir():
        _require_nothing_for_files(run, config)
    if config.cell is not None:
        return _evaluate_released(run, data, config, advance)
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
        if config.every_image and is_its_own(run, data if isinstance(data, str) else None, images):
            raise ConfigError(SEEN)
    evaluation = evaluate_model(
        model,
        card,
        images,
        every_image=config.every_image,
        batch_size=config.batch_size,
        skip_bad_images=config.skip_bad_images,
        advance=advance,
    )
    name = "evaluation" if data is None else f"evaluation-{_file_name(images.name)}"
    files = write_evaluation(config.out or run, evaluation, name=name, data=images.name)
    return Evaluated(
        evaluation=evaluation,
        data=images.name,
        notes=(*notes, *notes_on(images, every_image=config.every_image)),
        files=files,
    )


def _evaluate_released(
    path: Path, data: str | Images | None, config: EvaluateConfig, advance: Advance
) -> Evaluated:
    kind = RELEASED[config.network]
    if isinstance(data, (ImageData, StreamedImages)):
        images: Images = data
    else:
        size = None if kind.load_size is None else (kind.load_size, kind.load_size)
        images = _load(data or kind.data, size, "crop", config)
    weights = ReleasedWeights(
        path=path,
        cell=config.cell or "xnas",
        network=config.network,
        channels=config.channels,
        cells=config.cells,
    )
    evaluation, note = evaluate_released(
        weights,
        images,
        device=pick_device(config.device),
        every_image=config.every_image,
        batch_size=config.batch_size,
        skip_bad_images=config.skip_bad_images,
        advance=advance,
    )
    files: tuple[Path, ...] = ()
    if config.out is not None:
        files = write_evaluation(config.out, evaluation, data=images.name)
    notes = (note, *notes_on(images, every_image=config.every_image))
    return Evaluated(evaluation=evaluation, data=images.name, notes=notes, files=files)


def _load(data: str, size: Size | None, resize: str, config: EvaluateConfig) -> Images:
    square = size is not None and size[0] == size[1]
    return load_data(
        data,
        widened(DataOptions, SourceOptions, config),
        image_size=size[0] if size is not None and square else None,
        resize=resize,
    )


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
