"""Folders of results: refused unless empty, filled whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass
from os import PathLike
from pathlib import Path
from reprlib import repr as brief

from xnas.errors import ConfigError, StorageError
from xnas.files import remedies
from xnas.process.interrupt import unwound_by_signals


@contextmanager
def filled_folder(out: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A scratch folder inside `out`, whose files and subfolders move up if the block raises nothing.

    A folder that holds anything is refused, unless `overwrite` allows replacing files in it. Failures
    of the file system, also those inside the block, are raised as a StorageError. After an error `out`
    is as it was before: folders that were made for it are removed.
    """
    with storage_errors(out), unwound_by_signals():
        require_no_link(out)
        if out.exists() and not out.is_dir():
            raise ConfigError(f"{out} is a file; choose a folder with --out")
        if not overwrite and out.is_dir() and any(out.iterdir()):
            raise ConfigError(
                f"{out} is not empty; choose another folder with --out, or pass --overwrite"
            )
        new = [folder for folder in (out, *out.parents) if not folder.exists()]
        scratch = None
        try:
            out.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(prefix=".scratch-", dir=out))
            yield scratch
            _move_up(scratch, out)
        except BaseException:
            if out in new:
                shutil.rmtree(out, ignore_errors=True)
            for folder in new[1:]:
                with suppress(OSError):  # something else was written there meanwhile
                    folder.rmdir()
            raise
        finally:
            if scratch is not None:
                shutil.rmtree(scratch, ignore_errors=True)


def require_no_link(folder: Path) -> None:
    """Raise if a folder is a link: files would be written somewhere else."""
    if folder.is_symlink():
        raise ConfigError(
            f"{folder} is a link to {folder.readlink()}, where files would be written; give the folder "
            "itself, or replace the link"
        )


def require_part_of(out: Path, what: str, names: Callable[[str], bool]) -> list[str]:
    """The names in a folder of results; raises for one that `names` does not accept as a part of `what`.

    Hidden files do not count, because they are never replaced.
    """
    with storage_errors(out):
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
    """The path of a run that was given; raises for an empty one and for what is no path."""
    if not isinstance(run, str | PathLike) or not str(run):
        raise ConfigError(f"a run is the path of its folder, got {brief(run)}; give its run folder")
    return Path(run).expanduser()


@contextmanager
def storage_errors(out: Path, otherwise: str = "choose another folder with --out") -> Iterator[None]:
    """Raise failures of the file system as a StorageError, with a remedy that fits, or `otherwise`."""
    try:
        yield
    except OSError as error:
        remedy = ", or ".join((*remedies(error), otherwise))
        raise StorageError(f"cannot write to {out}: {error.strerror or error}; {remedy}") from error


def write_json(path: Path, value: object) -> None:
    """Write records, or containers of them, as indented JSON."""
    text = json.dumps(value, default=_plain, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf8")


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


def _move_up(scratch: Path, out: Path) -> None:
    """Move files to the same places below `out`, those of subfolders first; each is flushed before."""
    files = [path for path in scratch.rglob("*") if path.is_file()]
    for file in sorted(files, key=lambda path: (-len(path.parts), path)):
        target = out / file.relative_to(scratch)
        if target.parent != out:
            require_no_link(target.parent)
            target.parent.mkdir(exist_ok=True)
        with file.open("rb") as handle:
            os.fsync(handle.fileno())
        file.replace(target)
