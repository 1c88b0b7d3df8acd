"""A training for every fold of a dataset: a network each, and the mean of their test errors.

The folder of such a set has a run folder for each fold, `fold-0` and so on, and folds.json: data,
settings and, once all have ended, the errors. A fold resumes as any training does. The set resumes by
going through its folds again: those that have ended are kept, one that was stopped is resumed, and the
others are begun.
"""

from __future__ import annotations

import statistics
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from xnas.data.catalogue import CATALOGUE
from xnas.engine.distributed import speaks
from xnas.errors import ConfigError, DamagedFileError, FinishedError, VersionError
from xnas.files import whole_file
from xnas.options import saved_options
from xnas.process.folder import storage_errors
from xnas.runs.cells import architecture_of
from xnas.runs.config_file import as_json, read_json
from xnas.runs.fold_folders import NAME
from xnas.runs.run_data import inherit_data_options
from xnas.runs.run_folder import RunFolder
from xnas.runs.train import resume_training, train
from xnas.runs.train_config import TrainConfig, resolve_images
from xnas.space.architecture import ARCHITECTURES, run_of

FORMAT, VERSION = "xnas-folds", 1
EVERY = "all"
"""Of the option `fold`: one training for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldsResult:
    """How the trainings of all folds ended."""

    out: str
    """The folder of the run folders."""
    errors: tuple[float, ...]
    """Test errors as shares, in the order of the folds."""

    @property
    def mean(self) -> float:
        """Of the errors."""
        return statistics.fmean(self.errors)

    @property
    def deviation(self) -> float:
        """Standard deviation of the errors between folds; 0 for one."""
        return statistics.stdev(self.errors) if len(self.errors) > 1 else 0.0


def train_folds(config: TrainConfig, data: str) -> FoldsResult:
    """Train the network of a cell on every fold of a dataset (`freiburg`), one after another.

    `config.out` is the folder of the set, by default runs/folds-DATA-NUMBER; `config.fold` is ignored.
    """
    count = _folds_of(data)
    architecture, run = architecture_of(config.cell), run_of(config.cell)
    config, _ = inherit_data_options(resolve_images(config, data), run, data)
    out = config.out or RunFolder.next_free("folds", data)
    if out.exists() and any(out.iterdir()):
        raise ConfigError(
            f"{out} is not empty; resume what is there with: xnas train --resume {out}, or choose "
            "another --out"
        )
    settings = asdict(replace(config, out=None, fold=None, cell=""))
    start = {"format": FORMAT, "version": VERSION, "data": data, "folds": count, "settings": settings}
    if speaks():
        with storage_errors(out):
            out.mkdir(parents=True, exist_ok=True)
            _write(out / f"{architecture.key}.json", architecture.to_json())
            _write(out / NAME, as_json(start))
    return _go_through(out, quiet=config.quiet, changes={})


def resume_folds(path: Path | str, *, quiet: bool = False, **changes: Any) -> FoldsResult:  # noqa: ANN401
    """Resume the trainings of all folds in the folder of a set.

    `changes` are settings that a resumed training may be given; folds that begin now also take them.
    """
    return _go_through(Path(path), quiet=quiet, changes=changes)


def _go_through(out: Path, *, quiet: bool, changes: dict[str, Any]) -> FoldsResult:
    saved = _read(out)
    settings = saved["settings"] | {"cell": str(_cell_file(out))}
    options = saved_options(TrainConfig, settings, changes)
    errors = []
    for fold in range(saved["folds"]):
        place = out / f"fold-{fold}"
        with suppress(FinishedError):
            if (place / "config.json").exists():
                resume_training(place, quiet=quiet, **changes)
            else:
                train(replace(options, fold=fold, out=place, quiet=quiet), saved["data"])
        errors.append(1 - _accuracy(place))
    result = FoldsResult(out=str(out), errors=tuple(errors))
    ended = {"test_errors": errors, "mean": result.mean, "deviation": result.deviation}
    if speaks():
        with storage_errors(out):
            _write(out / NAME, as_json(saved | ended))
    return result


def _folds_of(data: str) -> int:
    having = [known.name for known in CATALOGUE.values() if known.folds]
    if data not in having:
        raise ConfigError(
            f"fold {EVERY} was asked of {data}, but only {' and '.join(having)} has folds; leave it out"
        )
    return CATALOGUE[data].folds


def _read(out: Path) -> dict[str, Any]:
    path = out / NAME
    saved = read_json(path)
    if saved.get("format") != FORMAT or saved.get("version") != VERSION:
        raise VersionError(
            f"{path} is not of format {FORMAT} version {VERSION}; resume the folds with the version of "
            "xnas that wrote it, or resume each in its own folder"
        )
    data, folds, settings = saved.get("data"), saved.get("folds"), saved.get("settings")
    if not isinstance(data, str) or not isinstance(settings, dict) or folds != _folds_of(data):
        raise DamagedFileError(
            f"{path} is damaged: data, folds or settings are missing; resume each fold in its own folder"
        )
    return saved


def _cell_file(out: Path) -> Path:
    found = [out / f"{key}.json" for key in ARCHITECTURES if (out / f"{key}.json").is_file()]
    if not found:
        raise DamagedFileError(f"{out} has lost the file of its cell; copy it from {out / 'fold-0'}")
    return found[0]


def _accuracy(place: Path) -> float:
    found = read_json(place / "test.json").get("top1")
    if not isinstance(found, int | float) or not 0 <= found <= 1:
        raise DamagedFileError(
            f"{place / 'test.json'} has no test accuracy; write it again with: xnas evaluate {place}"
        )
    return float(found)


def _write(path: Path, text: str) -> None:
    with whole_file(path) as file:
        file.write(text.encode())
