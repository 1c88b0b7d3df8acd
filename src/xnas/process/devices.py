"""Devices: choose one, make it repeatable, wait for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from xnas.engine.distributed import ALONE, Ranks
from xnas.errors import ConfigError


def pick_device(name: str, ranks: Ranks = ALONE) -> torch.device:
    """The device of that name; each of several processes gets its own GPU."""
    if not ranks.alone and name != "cpu" and torch.cuda.is_available():
        return _own_gpu(name, ranks)
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"no such device: {name!r}; use auto, cpu, cuda or cuda:0") from None
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if not torch.cuda.is_available() or (device.index or 0) >= count:
            raise ConfigError(
                f"device {name} is not there: {count} CUDA devices; use --device cpu, or a machine that "
                "has it"
            )
    elif device.type != "cpu":
        raise ConfigError(f"device {name} cannot search: sums of rewards need float64; use --device cpu")
    return device


def _own_gpu(name: str, ranks: Ranks) -> torch.device:
    if name not in {"auto", "cuda"}:
        raise ConfigError(
            f"device {name} for {ranks.size} processes; use --device cuda, by which each takes a GPU of "
            "its own, or cpu"
        )
    count = torch.cuda.device_count()
    if ranks.local_size > count:
        raise ConfigError(
            f"{ranks.local_size} processes on a machine with {count} GPUs; start at most {count} with "
            "--nproc-per-node, or use --device cpu"
        )
    device = torch.device("cuda", ranks.local_rank)
    torch.cuda.set_device(device)
    return device


@contextmanager
def repeatable(device: torch.device) -> Iterator[None]:
    """Make cuDNN choose deterministic kernels on a GPU; ours always are."""
    before = torch.backends.cudnn.deterministic
    torch.backends.cudnn.deterministic = before or device.type == "cuda"
    try:
        yield
    finally:
        torch.backends.cudnn.deterministic = before


def synchronize(device: torch.device) -> None:
    """Wait until a GPU has finished the work that was queued."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
