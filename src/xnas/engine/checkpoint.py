"""Checkpoints: the whole state of a run in one file, written whole or not at all.

A file is named by its number and by the digest of its content, `000012-DIGEST.pt`, so the rename that
makes it appear brings its checksum along. The last few are kept. Damaged checkpoints, and those of other
runs, are skipped with a warning; resuming from an older one only costs time, because rounds repeat.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import torch

from xnas.errors import ConfigError, DamagedFileError, DeviceError, StorageError, VersionError
from xnas.files import is_plain, remedies, whole_file
from xnas.words import short


class Checkpoints:
    """The last few checkpoints of one run, in a folder of their own."""

    NAME = re.compile(r"(\d{6,})-([0-9a-f]{32})\.pt")

    def __init__(self, folder: Path, *, keep: int = 3) -> None:
        self.folder, self.keep = folder, keep

    def files(self) -> list[Path]:
        """All that are there, whole or not, the newest first."""
        try:
            found = list(self.folder.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _unreadable(self.folder, error) from error
        numbered = [p for p in found if self.NAME.fullmatch(p.name)]
        return sorted(numbered, key=_number, reverse=True)

    def save(self, state: dict[str, Any]) -> Path:
        """Write a checkpoint, and only then remove the oldest."""
        content = BytesIO()
        torch.save(state, content)
        before = self.files()
        number = 1 + max((_number(p) for p in before), default=0)
        path = self.folder / f"{number:06}-{_digest(content.getbuffer())}.pt"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                file.write(content.getbuffer())
        except OSError as error:
            way = "use --resume, which continues from the one before"
            if not before:
                way = "use --resume, which begins again, as this was to be the first one"
            advice = ", and ".join((*remedies(error), way))
            raise StorageError(
                f"cannot write the checkpoint {path} ({_brief(error)}); {advice}"
            ) from error
        for old in before[self.keep - 1 :]:
            with suppress(OSError):  # one too many; the next save tries again
                old.unlink()
        return path

    def newest(
        self,
        device: torch.device,
        warn: Callable[[str], None],
        restore: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> dict[str, Any] | None:
        """The newest whole checkpoint that `restore` accepts; None if there are no files.

        Each one that is skipped gives a warning. One of another version or kind of device may be sound:
        it is not skipped, but raises.
        """
        faults = []
        for path in self.files():
            try:
                state = _load(path, device)
                restore(state)
            except (DeviceError, VersionError) as error:
                raise type(error)(f"{path}: {error}") from error
            except ConfigError as error:
                faults.append(f"{path}: {error}")
                continue
            for fault in faults:
                warn(f"{fault}; resuming from the one before it, {path.name}")
            return state
        if faults:
            raise DamagedFileError(
                f"{faults[0]}; {_others(len(faults) - 1)}: restore what was changed from a copy, or "
                "begin a run in another folder with --out"
            )
        return None


def _others(count: int) -> str:
    """The checkpoints before one that cannot be used, as a clause."""
    return f"nor can the {count} before it be used" if count else "there is no other one before it"


def load_checkpoint(path: Path, device: torch.device) -> dict[str, Any]:
    """Read one checkpoint, wherever it is; executes no code from it."""
    try:
        return _load(path, device)
    except ConfigError as error:
        raise DamagedFileError(f"{path}: {error}; restore it from a copy") from error


def _load(path: Path, device: torch.device) -> dict[str, Any]:
    """The state in a file; raises if its digest is not the one in its name."""
    content = _read(path)
    try:
        _require_stored(content)
        state: dict[str, Any] = torch.load(BytesIO(content), map_location=device, weights_only=True)
    except (ConfigError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        raise _damaged(type(error).__name__) from error
    return state


def _read(path: Path) -> bytes:
    try:
        if not is_plain(path):
            raise _damaged("it is a link, or no file")
        content = path.read_bytes()
    except OSError as error:
        raise _damaged(_brief(error)) from error
    named = Checkpoints.NAME.fullmatch(path.name)
    if named and named[2] != _digest(content):
        raise _damaged(f"its {len(content):,} bytes do not have the digest in its name")
    return content


def _require_stored(content: bytes) -> None:
    """Raise unless an archive holds its entries byte for byte, as torch writes them, and no bomb."""
    with ZipFile(BytesIO(content)) as archive:
        entries = archive.infolist()
    stored = all((e.compress_type, e.compress_size) == (ZIP_STORED, e.file_size) for e in entries)
    if not stored or sum(entry.file_size for entry in entries) > len(content):
        raise _damaged("it is compressed, which xnas does not do, and might unpack without end")


def _damaged(fault: str) -> DamagedFileError:
    return DamagedFileError(f"the checkpoint is damaged ({fault})")


def _number(path: Path) -> int:
    named = Checkpoints.NAME.fullmatch(path.name)
    return int(named[1]) if named else 0


def _digest(content: bytes | memoryview) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _unreadable(path: Path, error: OSError) -> StorageError:
    remedy = "move it away" if isinstance(error, NotADirectoryError) else "make it readable"
    return StorageError(f"cannot read {path} ({_brief(error)}); {remedy}, and resume again")


def _brief(error: Exception) -> str:
    """An error with its kind, in one line."""
    return f"{type(error).__name__}: {short(error, 100)}"
