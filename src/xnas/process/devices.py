"""Where a run computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from xnas.engine.distributed import ALONE, Ranks
from xnas.errors import ConfigError


def pick_device(name: str, ranks: Ranks = ALONE) -> torch.device:
    """The device of that name, if it is there; each of several processes takes a GPU of its own."""
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
    """Let libraries take kernels that give the same bits every time on a GPU, as our own do."""
    before = torch.backends.cudnn.deterministic
    torch.backends.cudnn.deterministic = before or device.type == "cuda"
    try:
        yield
    finally:
        torch.backends.cudnn.deterministic = before


def synchronize(device: torch.device) -> None:
    """Wait for a GPU, whose work is only queued when a call returns."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
