"""How a search computes: plain modules, or experts fused and whole rounds captured.

Both compute the same; `reference` reads like the paper, `fused` is fast on a GPU.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from xnas.engine import Search
from xnas.engine.distributed import Ranks
from xnas.engine.train import Training
from xnas.errors import ConfigError
from xnas.runs.search_config import SearchConfig


def choose_backend(
    config: SearchConfig, supernet: nn.Module, device: torch.device
) -> tuple[SearchConfig, list[str]]:
    """Settings with backend and precision, and a line for what was chosen; a fused supernet is fused."""
    gpu, notes = device.type == "cuda", []
    obstacle = None
    if config.backend == "fused" or (config.backend == "auto" and gpu):
        obstacle = _fuse(supernet, config)
    if obstacle and config.backend == "fused":
        raise ConfigError(f"backend fused: {obstacle}; use --backend reference, or auto")
    fused = config.backend == "fused" or (config.backend == "auto" and gpu and not obstacle)
    if config.backend == "auto" and gpu:
        notes.append("backend fused, for a GPU" if fused else f"backend reference: {obstacle}")
    precision = config.precision or ("bf16" if fused and gpu else "fp32")
    if config.precision is None and precision == "bf16":
        notes.append("precision bf16, for the fused backend on a GPU")
    return replace(config, backend="fused" if fused else "reference", precision=precision), notes


def _fuse(supernet: nn.Module, config: SearchConfig) -> str | None:
    """Fuse a supernet, or say why it cannot be."""
    if config.accounting == "sample":
        return "accounting sample needs plain modules"
    fuse = getattr(supernet, "fuse", None)
    if fuse is None:
        return f"the {type(supernet).__name__} of the space {config.space} has no fused form"
    try:
        fuse()
    except ConfigError as error:
        return str(error)
    return None


def is_captured(engine: Search | Training, backend: str) -> bool:
    """Whether rounds or steps are captured in a CUDA graph: by the fused backend, on one GPU."""
    return backend == "fused" and engine.device.type == "cuda" and engine.ranks.alone


def shared_by(ranks: Ranks, batch_size: int, device: torch.device) -> list[str]:
    """A line on how several processes share a batch, and one on what they do without."""
    if ranks.alone:
        return []
    lines = [
        f"{ranks.size} processes with {batch_size // ranks.size} images each of a batch of {batch_size}"
    ]
    if device.type == "cuda":
        lines.append("rounds and steps launched one by one: several processes capture no CUDA graphs")
    return lines
