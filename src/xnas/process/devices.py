"""Devices: choose one, make it repeatable and exact, wait for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
    """Make cuDNN choose deterministic kernels on a GPU, as ours always are, and compute in full fp32."""
    before = torch.backends.cudnn.deterministic
    torch.backends.cudnn.deterministic = before or device.type == "cuda"
    try:
        with full_fp32():
            yield
    finally:
        torch.backends.cudnn.deterministic = before


@contextmanager
def full_fp32() -> Iterator[None]:
    """Compute convolutions and products of float32 in float32; autocast to bfloat16 stays.

    By default torch lets cuDNN round the factors of convolutions to TF32, which has 10 bits where
    float32 has 23. That is too coarse for differences of gradients, and not all GPUs have it.
    """
    backends: Any = torch.backends  # whose annotations lack these places
    places = (
        backends.cudnn.conv,
        backends.cudnn.rnn,
        backends.cuda.matmul,
        backends.mkldnn.conv,
        backends.mkldnn.matmul,
    )
    before, older = [place.fp32_precision for place in places], _older_flags()
    _set_older_flags(allow_tf32=False, matmul="highest")  # where they contradict, reading them fails
    for place in places:
        place.fp32_precision = "ieee"
    try:
        yield
    finally:
        if older is not None:
            _set_older_flags(*older)
        for place, value in zip(places, before, strict=True):  # the older ones have changed them
            place.fp32_precision = value


def _older_flags() -> tuple[bool, str] | None:
    """TF32 in convolutions and products by torch's first flags; None if newer ones contradict them."""
    try:
        return torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()
    except RuntimeError:
        return None


def _set_older_flags(allow_tf32: bool, matmul: str) -> None:  # noqa: FBT001 - as they are read
    torch.backends.cudnn.allow_tf32 = allow_tf32
    torch.set_float32_matmul_precision(matmul)


def synchronize(device: torch.device) -> None:
    """Wait until a GPU has finished the work that was queued."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
