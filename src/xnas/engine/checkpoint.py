"""Checkpoints: all of a run that changes, in one file, written whole or not at all.

A file is named by its number and by the digest of its content, `000012-DIGEST.pt`: the rename that makes
it appear brings its checksum along. The last few are kept. One that is damaged, or of another run, is
told and passed over, and as a run repeats its rounds exactly, going on from the one before costs time
and nothing else.

Deleted experts are listed in a search's checkpoint: it is rebuilt with everybody, loses the same ones
again, and then takes over weights and momenta of those that are left.
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

from xnas.engine.epoch import remedy, remove_experts
from xnas.engine.restore import (
    require_device,
    require_format,
    require_position,
    require_rounds,
    take_over_momenta,
)
from xnas.engine.search import Search
from xnas.errors import ConfigError, DeviceError, RoundError, VersionError
from xnas.files import is_plain, remedies, whole_file

FORMAT, VERSION = "xnas-search-checkpoint", 2
OLDER = (1,)
"""Versions that are read, too: 1 had the length of the metrics instead of their text."""


def search_state(search: Search) -> dict[str, Any]:
    """Everything needed to go on: tensors and plain values only."""
    state = {
        "format": FORMAT,
        "version": VERSION,
        "deleted": [list(d) for d in search.deleted],
        "supernet": search.supernet.state_dict(),
        "method": search.method.state_dict(),
        "weight_optimizer": search.weight_optimizer.state_dict(),
        "train": search.train.state_dict(),
        "valid": search.valid.state_dict(),
        "dropout": search.dropout.get_state(),
        "tally": search.tally.state_dict(),
        "epoch": search.epoch,
        "round_in_epoch": search.round_in_epoch,
        "settled_at": search.settled_at,
    }
    if search.balance is not None:
        state["balance"] = search.balance.state_dict()
    return state


def restore_search(search: Search, state: dict[str, Any]) -> None:
    """Bring a search that was just built to the state of a checkpoint."""
    require_version(state)
    try:
        _restore(search, state)
    except (DeviceError, torch.OutOfMemoryError):
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(
            f"the checkpoint does not fit this search ({_brief(error)}); it is damaged, or of another"
        ) from error


def _restore(search: Search, state: dict[str, Any]) -> None:
    epochs, rounds = search.settings.epochs, search.settings.rounds_per_epoch
    require_position(state, epoch=epochs, round_in_epoch=rounds, settled_at=epochs * rounds)
    require_device(state["dropout"], search.dropout.device)
    remove_experts(search, [(kind, f, e) for kind, f, e in state["deleted"]])
    search.supernet.load_state_dict(state["supernet"])
    search.method.load_state_dict(state["method"])
    take_over_momenta(search.weight_optimizer, state["weight_optimizer"])
    search.weights = list(search.weight_optimizer.param_groups[0]["params"])
    require_rounds(state["train"], rounds)
    require_rounds(state["valid"], rounds)
    search.train.load_state_dict(state["train"])
    search.valid.load_state_dict(state["valid"])
    search.dropout.set_state(state["dropout"].cpu())
    search.tally.load_state_dict(state["tally"])
    if search.balance is not None:
        search.balance.load_state_dict(state["balance"])
    search.epoch, search.round_in_epoch = state["epoch"], state["round_in_epoch"]
    search.settled_at = state["settled_at"]
    search.set_rates()
    search.supernet.train()


def require_version(state: object) -> None:
    """Raise unless this is a checkpoint of a search that this version reads."""
    require_format(state, FORMAT, (VERSION, *OLDER), "search")


class Checkpoints:
    """The last few checkpoints of one run, in a folder of their own."""

    NAME = re.compile(r"(\d{6,})-([0-9a-f]{32})\.pt")
    UNNUMBERED = "last.pt"  # the only one, and without a digest, in folders of xnas before 0.2

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
        numbered.sort(key=_number, reverse=True)
        return numbered + [p for p in found if p.name == self.UNNUMBERED]

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
            way = "go on with --resume from the one before"
            if not before:
                way = "begin again with --resume, as it was to be the first"
            advice = ", and ".join((*remedies(error), way))
            raise ConfigError(
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
        """The newest checkpoint that is whole and that `restore` takes; None if there are no files.

        There is a warning for each that is passed over. One of another version or kind of device may be
        sound, and is refused.
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
                warn(f"{fault}; going on from the one before it, {path.name}")
            return state
        if faults:
            raise ConfigError(
                f"{faults[0]}; {_others(len(faults) - 1)}: restore what was changed from a copy, or "
                "begin a run in another folder with --out"
            )
        return None


def _others(count: int) -> str:
    """What is said of checkpoints before one that cannot be used."""
    return f"nor can the {count} before it be used" if count else "there is no other one before it"


def load_checkpoint(path: Path, device: torch.device) -> dict[str, Any]:
    """Read one checkpoint, wherever it is; executes no code from it."""
    try:
        return _load(path, device)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}; restore it from a copy") from error


def require_sound(search: Search) -> None:
    """Raise if numbers of a search are not finite in the middle of an epoch: they are not kept."""
    search.method.check()
    parts = [*search.supernet.state_dict().values(), search.tally.train, search.tally.valid]
    if not all(bool(t.isfinite().all()) for t in parts if t.is_floating_point()):
        raise RoundError(
            f"losses or weights are no longer finite numbers in epoch {search.epoch + 1}, round "
            f"{search.rounds}; {remedy(search)}"
        )


def _load(path: Path, device: torch.device) -> dict[str, Any]:
    """What a file holds, if it is what its name says."""
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


def _damaged(fault: str) -> ConfigError:
    return ConfigError(f"the checkpoint is damaged ({fault})")


def _number(path: Path) -> int:
    named = Checkpoints.NAME.fullmatch(path.name)
    return int(named[1]) if named else 0


def _digest(content: bytes | memoryview) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _unreadable(path: Path, error: OSError) -> ConfigError:
    remedy = "move it away" if isinstance(error, NotADirectoryError) else "make it readable"
    return ConfigError(f"cannot read {path} ({_brief(error)}); {remedy}, and resume again")


def _brief(error: Exception) -> str:
    """An error in a few words of one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
