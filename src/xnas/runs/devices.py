"""Where a run computes."""

from __future__ import annotations

import torch

from xnas.errors import ConfigError


def pick_device(name: str) -> torch.device:
    """The device of that name, if it is there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"no such device: {name!r}; use auto, cpu, cuda or cuda:0") from None
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if not torch.cuda.is_available() or (device.index or 0) >= count:
            raise ConfigError(f"device {name} is not there: {count} CUDA devices; use --device cpu")
    elif device.type != "cpu":
        raise ConfigError(f"device {name} cannot search: sums of rewards need float64; use --device cpu")
    return device


def synchronize(device: torch.device) -> None:
    """Wait for a GPU, whose work is only queued when a call returns."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
