"""Folders of results: taken only when empty, filled whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from os import PathLike
from pathlib import Path
from reprlib import repr as brief

from xnas.errors import ConfigError
from xnas.files import remedies
from xnas.process.interrupt import unwound_by_signals


@contextmanager
def filled_folder(out: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A scratch folder inside `out`, whose files move up when the block ends without an error.

    A folder that holds anything is refused, unless `overwrite` allows to replace files in it.
    """
    with told_as(out):
        require_no_link(out)
        if out.exists() and not out.is_dir():
            raise ConfigError(f"{out} is a file; choose a folder with --out")
        if not overwrite and out.is_dir() and any(out.iterdir()):
            raise ConfigError(
                f"{out} is not empty; choose another folder with --out, or pass --overwrite"
            )
        made, done, scratch = not out.exists(), False, None
    with unwound_by_signals():
        try:
            with told_as(out):
                out.mkdir(parents=True, exist_ok=True)
                scratch = Path(tempfile.mkdtemp(prefix=".scratch-", dir=out))
            yield scratch
            with told_as(out):
                for file in sorted(scratch.iterdir()):
                    _flush(file)
                    file.replace(out / file.name)
            done = True
        finally:
            if scratch is not None:
                shutil.rmtree(scratch, ignore_errors=True)
            if made and not done:
                shutil.rmtree(out, ignore_errors=True)


def require_no_link(folder: Path) -> None:
    """Raise if a folder is a link: what is written to it would be written somewhere else."""
    if folder.is_symlink():
        raise ConfigError(
            f"{folder} is a link to {folder.readlink()}, where files would be written; give the folder "
            "itself, or replace the link"
        )


def require_part_of(out: Path, what: str, names: Callable[[str], bool]) -> list[str]:
    """The names in a folder of results; raise if `names` does not take one as a part of `what`.

    Hidden files do not count: nothing of them is replaced.
    """
    with told_as(out):
        found = sorted(path.name for path in out.iterdir()) if out.is_dir() else []
    found = [name for name in found if not name.startswith(".")]
    for name in found:
        if not names(name):
            raise ConfigError(
                f"{out} holds {name}, which is no part of {what}; choose another folder with --out "
                "(--overwrite replaces an earlier one alone)"
            )
    return found


def run_path(run: object) -> Path:
    """The path of a run that was given; what is no path, or empty, is refused."""
    if not isinstance(run, str | PathLike) or not str(run):
        raise ConfigError(f"a run is the path of its folder, got {brief(run)}; give its run folder")
    return Path(run).expanduser()


@contextmanager
def told_as(out: Path, otherwise: str = "choose another folder with --out") -> Iterator[None]:
    """Tell failures of the file system in one line, with a remedy that fits, or `otherwise`."""
    try:
        yield
    except OSError as error:
        remedy = ", or ".join((*remedies(error), otherwise))
        raise ConfigError(f"cannot write to {out}: {error.strerror or error}; {remedy}") from error


def write_json(path: Path, value: object) -> None:
    """Write records, or containers of them, as indented JSON."""
    text = json.dumps(value, default=_plain, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf8")


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


def _flush(file: Path) -> None:
    with file.open("rb") as handle:
        os.fsync(handle.fileno())
