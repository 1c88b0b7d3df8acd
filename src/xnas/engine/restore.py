"""Checks of a saved state before it replaces the state of a run.

A checkpoint whose digest is right may still be forged, or of another run. Other settings and shapes are
refused before the first round, not by a traceback in the middle of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from reprlib import repr as brief
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD

from xnas.errors import ConfigError, DamagedFileError, DeviceError, VersionError
from xnas.words import short

NAMED = 4  # settings that a message names
SHORT = 20  # characters of a value that it shows
MISSING = object()
GENERATOR_BYTES = {"cpu": 5056, "cuda": 16}
"""Of a state of PyTorch's generators, by kind of device; neither can load the state of the other."""
REMEDIES = {
    "cpu": "resume it with --device cpu",
    "cuda": "resume it on a GPU",
}


@contextmanager
def fitting(kind: str) -> Iterator[None]:
    """Raise errors of restoring a state in the block as one line: the state does not fit the run."""
    try:
        yield
    except (DeviceError, torch.OutOfMemoryError):
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise DamagedFileError(
            f"the checkpoint does not fit this {kind} ({type(error).__name__}: {short(error, 100)}); it "
            "is damaged, or of another"
        ) from error


Format = tuple[str, tuple[int, ...]]
"""Name of a format and the versions that are read, the one that is written first."""


def require_format(state: object, wanted: Format, kind: str) -> None:
    """Raise unless a state is of this format and version; a forged one may hold anything."""
    name, known = wanted
    given = state.get("format") if isinstance(state, dict) else None
    if not isinstance(state, dict) or not isinstance(given, str) or given != name:
        raise ConfigError(f"not a checkpoint of a {kind}: its format is {brief(given)}, not {name}")
    version = state.get("version")
    if type(version) is not int or version not in known:
        readable = " and ".join(map(str, sorted(known)))
        raise VersionError(
            f"the checkpoint has format version {brief(version)}, this xnas reads {readable}; resume it "
            "with the version that wrote it"
        )


def require_settings(state: Mapping[str, Any], own: Mapping[str, object]) -> None:
    """Raise if a state was saved under other settings."""
    try:
        saved = json.loads(state["settings"])
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise DamagedFileError(
            f"the checkpoint is damaged ({type(error).__name__} in its settings)"
        ) from error
    if not isinstance(saved, dict):
        raise DamagedFileError("the checkpoint is damaged (its settings are no mapping)")
    other = [name for name in saved if name not in own or saved[name] != own[name]]
    if other:
        named = [_difference(name, saved[name], own.get(name, MISSING)) for name in other[:NAMED]]
        more = f" and {len(other) - NAMED} more" if len(other) > NAMED else ""
        raise ConfigError(f"the checkpoint is of a run with other settings ({'; '.join(named)}{more})")


def _difference(name: str, saved: object, own: object) -> str:
    if own is MISSING:
        return f"{name}, which is missing now"
    theirs, ours = brief(saved), brief(own)
    return f"{name} {theirs}, not {ours}" if max(len(theirs), len(ours)) <= SHORT else name


def require_device(generator: object, device: torch.device) -> None:
    """Raise if the saved state of a generator is of another kind of device than the run's own."""
    size = generator.numel() if isinstance(generator, Tensor) else None
    for kind, way in REMEDIES.items():
        if kind != device.type and size == GENERATOR_BYTES[kind]:
            raise DeviceError(
                f"the checkpoint was saved on the device {kind}, and this is {device.type}, which draws "
                f"other random numbers; {way}, to get the numbers of a run that was never stopped"
            )


def require_position(state: Mapping[str, object], **most: int) -> None:
    """Raise unless these entries of a state are whole numbers from 0 to the given limits."""
    for name, limit in most.items():
        value = state[name]
        if type(value) is not int or not 0 <= value <= limit:
            raise ValueError(f"{name} is not a number from 0 to {limit}")


def require_rounds(state: Mapping[str, object], rounds: int) -> None:
    """Raise if a source of batches was saved in an epoch of another length."""
    if state.get("rounds", 0) not in (0, rounds):
        raise ValueError(f"rounds of an epoch are not {rounds}")


def require_fitting(saved: object, own: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """`saved`; raises unless it has a tensor of the same shape and dtype for each of `own`."""
    if not isinstance(saved, Mapping):  # a tensor would let itself be asked for a name
        raise TypeError(f"a {type(saved).__name__} is no mapping of tensors")
    for name, value in own.items():
        found = saved[name]
        if not isinstance(found, Tensor) or (found.shape, found.dtype) != (value.shape, value.dtype):
            raise TypeError(f"{name} is no tensor {tuple(value.shape)} of {value.dtype}")
    return saved


def take_over(own: Mapping[str, Tensor], saved: object) -> None:
    """Copy saved tensors into `own`; raises if they do not fit."""
    fitting = require_fitting(saved, own)
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(fitting[name])


def take_over_momenta(optimizer: SGD, saved: dict[str, Any]) -> None:
    """Load momenta, each with the strides of its weight, which differ between backends."""
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
