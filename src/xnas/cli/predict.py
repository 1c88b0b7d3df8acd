"""`xnas predict`: classify images with a trained network."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from xnas.cli.flags import GROUPS, takes
from xnas.cli.printing import say, say_json, warn, watched
from xnas.errors import ConfigError, DatasetError
from xnas.options import at_least, option
from xnas.records import Prediction
from xnas.runs.options import DeviceOptions
from xnas.words import printable

JSON = Parameter(
    name="--json",
    negative="",
    help="Print one JSON object per image, each in a line of its own, as soon as it is known.",
    group=GROUPS["Output"],
)


@dataclass(frozen=True, kw_only=True)
class PredictOptions(DeviceOptions):
    """How to classify images."""

    top: int = option(1, at_least(1), group="Output")
    """How many classes to name for each image."""
    skip_bad_images: bool = option(False, group="Data")
    """Skip image files that cannot be read, with a warning for each, instead of stopping."""


@takes(PredictOptions)
def predict(
    run: Path,
    /,
    *images: Path,
    as_json: Annotated[bool, JSON] = False,
    **typed: Any,  # noqa: ANN401 - options
) -> None:
    """Print one line per image: its path, its class, the probability, and the runners-up.

    Parameters
    ----------
    run
        A training's run folder, RUN/best (its best weights on held-out images), or the folder of an
        export.
    images
        Image files, or folders of them.
    """
    if not images:
        raise ConfigError(f"no images to classify; give files or folders: xnas predict {run} photo.png")
    from xnas.model.classifier import load  # noqa: PLC0415 - imports torch

    options = PredictOptions(**typed)
    classifier = load(run, options.device)
    files = [file for given in images for file in _files(given)]
    answers = classifier.predict_files(files, options.top, skip_bad_images=options.skip_bad_images)
    bad: list[DatasetError] = []
    try:
        with watched("image", quiet=sys.stdout.isatty()) as advance:  # there the lines show it
            for done, (file, answer) in enumerate(answers, start=1):
                if isinstance(answer, Prediction):
                    _print(file, answer, as_json=as_json)
                else:
                    warn(f"left out: {answer}")
                    bad.append(answer)
                advance(done, len(files))
    except DatasetError as error:
        raise DatasetError(f"{error}, or leave it out with --skip-bad-images") from error
    if len(bad) == len(files):
        raise DatasetError(f"none of the images can be read; the first: {bad[0]}")


def _print(file: Path, answer: Prediction, *, as_json: bool) -> None:
    if as_json:
        say_json(_record(file, answer))
    else:
        say(_line(file, answer))


def _files(given: Path) -> Iterator[Path]:
    """The file itself, or all images of a folder and of the folders in it, by name."""
    if not given.exists():
        raise DatasetError(f"there is no file or folder {given}; check the path")
    if not given.is_dir():
        yield given
        return
    found = list(_images_below(given))
    if not found:
        raise DatasetError(f"no images in {given}; give a folder with image files")
    yield from found


def _images_below(folder: Path) -> Iterator[Path]:
    from xnas.data.folder_files import images_in, visible_folders  # noqa: PLC0415 - imports torch

    try:
        here, _ = images_in(folder)
        deeper = visible_folders(folder)
    except OSError as error:
        raise DatasetError(
            f"cannot read {folder} ({error.strerror}); give a folder you may read"
        ) from error
    yield from here
    for child in deeper:
        yield from _images_below(child)


def _line(file: Path, answer: Prediction) -> str:
    """One line, whatever characters the path and the classes have."""
    answers = [f"{name} {100 * share:.1f} %" for name, share in answer.ranking]
    return "  ".join(map(printable, [file, *answers]))


def _record(file: Path, answer: Prediction) -> dict[str, object]:
    ranking = [{"label": name, "probability": share} for name, share in answer.ranking]
    best = {"image": str(file), "label": answer.label, "probability": answer.probability}
    return best | {"ranking": ranking}
