"""Checkpoints: all of a run that changes, in one file, written whole or not at all.

A file is named by its number and by the digest of its content, `000012-DIGEST.pt`: the rename that makes
it appear brings its checksum along. The last few are kept. A damaged one is told and passed over, and as
a run repeats its rounds exactly, going on from the one before costs time and nothing else.

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
from reprlib import repr as brief
from typing import Any

import torch

from xnas.engine.epoch import remedy, remove_experts
from xnas.engine.restore import is_version, require_position, require_rounds, take_over_momenta
from xnas.engine.search import Search
from xnas.errors import ConfigError, RoundError, VersionError
from xnas.files import is_plain, remedies, whole_file

FORMAT, VERSION = "xnas-search-checkpoint", 2
OLDER = (1,)
"""Versions that are read, too: 1 had the length of the metrics instead of their text."""


def search_state(search: Search) -> dict[str, Any]:
    """Everything needed to go on: tensors and plain values only."""
    return {
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


def restore_search(search: Search, state: dict[str, Any]) -> None:
    """Bring a search that was just built to the state of a checkpoint."""
    require_version(state)
    try:
        _restore(search, state)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(
            f"the checkpoint does not fit this search ({_brief(error)}); it is damaged, or of another"
        ) from error


def _restore(search: Search, state: dict[str, Any]) -> None:
    epochs, rounds = search.settings.epochs, search.settings.rounds_per_epoch
    require_position(state, epoch=epochs, round_in_epoch=rounds, settled_at=epochs * rounds)
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
    search.epoch, search.round_in_epoch = state["epoch"], state["round_in_epoch"]
    search.settled_at = state["settled_at"]
    search.set_rates()
    search.supernet.train()


def require_version(state: object) -> None:
    """Raise unless this is a checkpoint of a search that this version reads."""
    given = state.get("format") if isinstance(state, dict) else None
    if not isinstance(state, dict) or not isinstance(given, str) or given != FORMAT:
        raise ConfigError("not a checkpoint of a search; --resume takes the folder of a search")
    if not is_version(state, FORMAT, (VERSION, *OLDER)):
        raise VersionError(
            f"the checkpoint has format version {brief(state.get('version'))}, this xnas reads "
            f"{VERSION}; resume it with the version that wrote it"
        )


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
            advice = ", and ".join((*remedies(error), "go on with --resume from the one before"))
            raise ConfigError(
                f"cannot write the checkpoint {path} ({_brief(error)}); {advice}"
            ) from error
        for old in before[self.keep - 1 :]:
            with suppress(OSError):  # one too many; the next save tries again
                old.unlink()
        return path

    def newest(self, device: torch.device, warn: Callable[[str], None]) -> dict[str, Any] | None:
        """The newest checkpoint that is whole, with a warning for each that is not; None without any."""
        files, faults = self.files(), []
        for path in files:
            content, fault = _read(path)
            if content is None:
                faults.append(f"the checkpoint {path} is damaged ({fault})")
                continue
            for told in faults:
                warn(f"{told}; going on from the one before it, {path.name}")
            return _load(path, content, device)
        if faults:
            raise ConfigError(
                f"{faults[0]}, and there is no other one before it; delete {self.folder} to begin again"
            )
        return None


def load_checkpoint(path: Path, device: torch.device) -> dict[str, Any]:
    """Read one checkpoint, wherever it is; executes no code from it."""
    content, fault = _read(path)
    if content is None:
        raise ConfigError(
            f"cannot read the checkpoint {path}: {fault}; it may be damaged: delete it to begin again"
        )
    return _load(path, content, device)


def require_sound(search: Search) -> None:
    """Raise if numbers of a search are not finite in the middle of an epoch: they are not kept."""
    search.method.check()
    parts = [*search.supernet.state_dict().values(), search.tally.train, search.tally.valid]
    if not all(bool(t.isfinite().all()) for t in parts if t.is_floating_point()):
        raise RoundError(
            f"losses or weights are no longer finite numbers in epoch {search.epoch + 1}, round "
            f"{search.rounds}; {remedy(search)}"
        )


def _read(path: Path) -> tuple[bytes | None, str]:
    """Content of a file that is what its name says, or None and what is wrong with it."""
    try:
        if not is_plain(path):
            return None, "it is a link, or no file"
        content = path.read_bytes()
    except OSError as error:
        return None, _brief(error)
    named = Checkpoints.NAME.fullmatch(path.name)
    if named and named[2] != _digest(content):
        return None, f"its {len(content):,} bytes do not have the digest in its name"
    return content, ""


def _load(path: Path, content: bytes, device: torch.device) -> dict[str, Any]:
    try:
        state: dict[str, Any] = torch.load(BytesIO(content), map_location=device, weights_only=True)
    except Exception as error:
        raise ConfigError(
            f"cannot read the checkpoint {path}: {type(error).__name__}; it may be damaged: delete it "
            "to begin again"
        ) from error
    return state


def _number(path: Path) -> int:
    named = Checkpoints.NAME.fullmatch(path.name)
    return int(named[1]) if named else 0


def _digest(content: bytes | memoryview) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _unreadable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"cannot read {path} ({_brief(error)}); make it readable, and resume again")


def _brief(error: Exception) -> str:
    """An error in a few words of one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
