"""Values of a checkpoint, taken over only if they fit.

A checkpoint whose digest is right may still be forged, or of another run. What has another shape is told
before the first round, not by a traceback in the middle of it; settings stay those of `config.json`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD


def is_version(state: Mapping[str, object], name: str, versions: Collection[int]) -> bool:
    """Whether a state is of this format and one of these versions; a forged one may hold anything."""
    given, version = state.get("format"), state.get("version")
    return isinstance(given, str) and given == name and type(version) is int and version in versions


def require_position(state: Mapping[str, object], **most: int) -> None:
    """Raise unless these entries of a state are whole numbers from 0 to so many."""
    for name, limit in most.items():
        value = state[name]
        if type(value) is not int or not 0 <= value <= limit:
            raise ValueError(f"{name} is not a number from 0 to {limit}")


def require_rounds(state: Mapping[str, object], rounds: int) -> None:
    """Raise if a source of batches says that it stood in an epoch of another length."""
    if state.get("rounds", 0) not in (0, rounds):
        raise ValueError(f"rounds of an epoch are not {rounds}")


def require_fitting(saved: object, own: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """`saved`, if it has a tensor of the same shape and kind for each of `own`."""
    if not isinstance(saved, Mapping):  # a tensor would let itself be asked for a name
        raise TypeError(f"a {type(saved).__name__} is no mapping of tensors")
    for name, value in own.items():
        found = saved[name]
        if not isinstance(found, Tensor) or (found.shape, found.dtype) != (value.shape, value.dtype):
            raise TypeError(f"{name} is no tensor {tuple(value.shape)} of {value.dtype}")
    return saved


def take_over(own: Mapping[str, Tensor], saved: object) -> None:
    """Write saved tensors into one's own."""
    fitting = require_fitting(saved, own)
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(fitting[name])


def take_over_momenta(optimizer: SGD, saved: dict[str, Any]) -> None:
    """Load momenta; each lies in memory as its weight does, which another backend may lay otherwise."""
    own = optimizer.param_groups
    groups = [
        {**mine, "params": group["params"]}
        for mine, group in zip(own, saved["param_groups"], strict=True)
    ]
    optimizer.load_state_dict(saved | {"param_groups": groups})
    for mine, group in zip(own, optimizer.param_groups, strict=True):
        group["lr"] = mine["lr"]  # loading copies it, and rounds read the tensor itself
    for weight, state in optimizer.state.items():
        momentum = state.get("momentum_buffer")
        if momentum is None:
            continue
        require_fitting({"momentum": momentum}, {"momentum": weight})
        if momentum.stride() != weight.stride():
            state["momentum_buffer"] = torch.empty_like(weight).copy_(momentum)
