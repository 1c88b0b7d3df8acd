"""The data that a run was trained on, found again by what its folder says."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from xnas.data import DATASETS, DataOptions, Images, load_data
from xnas.data_options import SourceOptions
from xnas.errors import ConfigError
from xnas.model.model_card import ModelCard
from xnas.options import inherited, widened
from xnas.runs.command_line import flags
from xnas.runs.config_file import FORMAT, read_json
from xnas.runs.sources import whereabouts
from xnas.runs.train_config import TrainOptions

T = TypeVar("T", bound=TrainOptions)

CHANGED = (
    "the training images are not those that the run was trained on: some test images may have been "
    "among them"
)


def load_own_data(run: Path, card: ModelCard, options: SourceOptions) -> tuple[Images, tuple[str, ...]]:
    """The data of the run, and a note if its training images have changed since."""
    saved = _saved(run)
    settings = saved.get("config")
    settings = settings if isinstance(settings, dict) else {}
    whereabouts = saved.get("data") if saved else _registered(card.trained_on)
    if not isinstance(whereabouts, str):
        raise ConfigError(
            f"{run} does not say where its images are ({card.trained_on}); give DATA, a dataset's name "
            "or a folder of class folders"
        )
    own = inherited(widened(DataOptions, SourceOptions, options), DataOptions, settings)
    height, width = card.size
    if own.image_size is None and height == width:
        own = replace(own, image_size=height)
    images = load_data(whereabouts, own)  # streamed or not as before: their fingerprints differ
    fingerprint = saved.get("data_fingerprint")
    changed = isinstance(fingerprint, str) and fingerprint != images.fingerprint()
    return images, (CHANGED,) if changed else ()


def inherit_data_options(options: T, run: Path | None, data: str) -> tuple[T, list[str]]:
    """Data options of the run that a cell comes from, where the user gave none, and a note on them.

    They apply to that run's own images alone. Whether images are streamed depends on the machine, so a
    run whose images were in memory says nothing about it.
    """
    saved = _saved(run) if run is not None else {}
    settings = saved.get("config")
    if not isinstance(settings, dict) or saved.get("data") != whereabouts(data):
        return options, []
    known = {name: value for name, value in settings.items() if (name, value) != ("stream", False)}
    full = inherited(options, DataOptions, known)
    changed = {
        declared.name: getattr(full, declared.name)
        for declared in fields(DataOptions)
        if getattr(full, declared.name) != getattr(options, declared.name)
    }
    return full, [f"{flags(changed)}, as in {run}"] if changed else []


def place_of(run: Path) -> str | None:
    """Where the images of a run are, a dataset's name or a folder; None if its folder does not say."""
    place = _saved(run).get("data")
    return place if isinstance(place, str) else None


def is_its_own(run: Path, data: str | None, images: Images) -> bool:
    """Whether the run was trained on these images, by their place (`data`) or their fingerprint."""
    saved = _saved(run)
    there = data is not None and saved.get("data") == whereabouts(data)
    return there or saved.get("data_fingerprint") == images.fingerprint()


def _registered(name: str) -> str | None:
    return name if name in DATASETS else None


def _saved(run: Path) -> dict[str, Any]:
    """What config.json holds, here or, for `best` and other parts of a run, in the folder around.

    Nothing if the model was copied without it.
    """
    for path in (run / "config.json", run.resolve().parent / "config.json"):
        if path.exists():
            saved = read_json(path, remedy="give DATA")
            if saved.get("format") == FORMAT:
                return saved
    return {}
