"""Checkpoints: all of a search that changes, in one file, written whole or not at all.

The folder holds the experts that were deleted, too: a search is rebuilt with everybody, loses the same
ones again, and then takes over weights and momenta of those that are left.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from xnas.engine.epoch import remove_experts
from xnas.engine.search import Search
from xnas.errors import ConfigError
from xnas.files import whole_file

VERSION = 1


def search_state(search: Search) -> dict[str, Any]:
    """Everything needed to go on: tensors and plain values only."""
    return {
        "format": "xnas-search-checkpoint",
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
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(
            f"the checkpoint does not fit this search ({_brief(error)}); it is damaged, or of another"
        ) from error


def _restore(search: Search, state: dict[str, Any]) -> None:
    remove_experts(search, [(kind, f, e) for kind, f, e in state["deleted"]])
    search.supernet.load_state_dict(state["supernet"])
    search.method.load_state_dict(state["method"])
    fused = search.weight_optimizer.param_groups[0]["fused"]
    search.weight_optimizer.load_state_dict(state["weight_optimizer"])
    search.weight_optimizer.param_groups[0] |= {"lr": search.rate, "fused": fused}  # of this device
    search.weights = list(search.weight_optimizer.param_groups[0]["params"])
    _lay_out_momenta(search)
    search.train.load_state_dict(state["train"])
    search.valid.load_state_dict(state["valid"])
    search.dropout.set_state(state["dropout"].cpu())
    search.tally.load_state_dict(state["tally"])
    search.epoch, search.round_in_epoch = state["epoch"], state["round_in_epoch"]
    search.settled_at = state["settled_at"]
    search.set_rates()
    search.supernet.train()


def _lay_out_momenta(search: Search) -> None:
    """Momenta as the weights lie in memory, which another backend may have laid out otherwise."""
    for weight, state in search.weight_optimizer.state.items():
        momentum = state.get("momentum_buffer")
        if momentum is not None and momentum.stride() != weight.stride():
            state["momentum_buffer"] = torch.empty_like(weight).copy_(momentum)


def require_version(state: object) -> None:
    """Raise unless this is a checkpoint of a search that this version reads."""
    if not isinstance(state, dict) or state.get("format") != "xnas-search-checkpoint":
        raise ConfigError("not a checkpoint of a search; --resume takes the folder of a search")
    if state.get("version") != VERSION:
        raise ConfigError(
            f"the checkpoint has format version {state.get('version')}, this xnas reads {VERSION}; "
            "resume it with the version that wrote it"
        )


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint whole; the one before it stays until then."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            torch.save(state, file)
    except (OSError, RuntimeError) as error:  # torch tells of a full disk by a RuntimeError
        raise ConfigError(
            f"cannot write the checkpoint {path} ({_brief(error)}); make room, and go on with --resume "
            "from the one before"
        ) from error


def load_checkpoint(path: Path, device: torch.device) -> dict[str, Any]:
    """Read a checkpoint; executes no code from it."""
    try:
        state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:
        raise ConfigError(
            f"cannot read the checkpoint {path}: {type(error).__name__}; it may be damaged: delete it "
            "to begin again"
        ) from error
    return state


def _brief(error: Exception) -> str:
    """An error in a few words of one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
