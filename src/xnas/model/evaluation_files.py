"""Files of an evaluation: its numbers as JSON, a page in Markdown, and figures."""

from __future__ import annotations

import json
import warnings
from dataclasses import fields
from pathlib import Path

from xnas.errors import ConfigError, DamagedFileError, VersionError
from xnas.files import read_plain
from xnas.process.folder import filled_folder, write_json
from xnas.records import Evaluation
from xnas.report.evaluation import MOST_DRAWN, evaluation_page
from xnas.words import short

FORMAT, VERSION = "xnas-evaluation", 1
MOST_BYTES = 1 << 28  # of evaluation.json; the confusions of 1,000 classes take some 6 million


def write_evaluation(
    folder: Path, evaluation: Evaluation, *, name: str = "evaluation", data: str = ""
) -> tuple[Path, ...]:
    """Write NAME.json, NAME.md and two figures, and return their paths; files of that name are replaced.

    The confusions of more than 100 classes are not drawn.
    """
    from xnas.report.evaluation_figures import (  # noqa: PLC0415 - they import matplotlib
        draw_confusion,
        draw_reliability,
    )
    from xnas.report.figures import save_figure  # noqa: PLC0415

    drawn = {}
    if len(evaluation.classes) <= MOST_DRAWN:
        drawn[name.replace("evaluation", "confusion")] = draw_confusion(evaluation)
    drawn[name.replace("evaluation", "reliability")] = draw_reliability(evaluation)
    with warnings.catch_warnings(), filled_folder(folder, overwrite=True) as scratch:
        warnings.filterwarnings("ignore", message="Glyph")  # of names that the font cannot write
        pictures = [
            picture
            for key, figure in drawn.items()
            for picture in save_figure(figure, scratch / "figures", key)
        ]
        head = {"format": FORMAT, "version": VERSION, "data": data}
        write_json(scratch / f"{name}.json", head | _parts(evaluation))
        page = evaluation_page(evaluation, data=data, figures=tuple(drawn))
        (scratch / f"{name}.md").write_text(page, encoding="utf8")
    written = [folder / f"{name}.json", folder / f"{name}.md"]
    return (*written, *(folder / "figures" / picture.name for picture in pictures))


def _parts(evaluation: Evaluation) -> dict[str, object]:
    """As `asdict`, without copying the confusions, which are millions for thousands of classes."""
    return {field.name: getattr(evaluation, field.name) for field in fields(evaluation)}


def read_evaluation(path: Path) -> Evaluation:
    """The evaluation of a file that `write_evaluation` wrote."""
    try:
        saved = json.loads(read_plain(path, MOST_BYTES))
        if (saved["format"], saved["version"]) != (FORMAT, VERSION):
            raise VersionError(
                f"{path} is {saved['format']!r} of version {saved['version']}; this xnas reads "
                f"{FORMAT!r} of version {VERSION}"
            )
        return Evaluation.from_json(saved)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, ConfigError):
            raise
        raise DamagedFileError(
            f"cannot read the evaluation {path} ({short(error)}); evaluate again"
        ) from error
