"""How a search computes: plain modules, plain modules whose rounds are captured, or fused experts.

All compute the same. `reference` reads like the paper, `fused` is fast on a GPU, and `captured` is for
supernets without kernels: it saves the host the launches, of which a round has tens of thousands.
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
from xnas.runs.search_plan import SearchPlan


def fuse_if_possible(plan: SearchPlan, supernet: nn.Module, device: torch.device) -> SearchPlan:
    """Fuse the supernet if the plan says so; return the plan, with another backend if it cannot be.

    A user who asked for the fused backend gets an error instead.
    """
    gpu, chosen = device.type == "cuda", plan.options.backend == "auto"
    obstacle = _fuse(supernet, plan.options) if plan.backend == "fused" else None
    if obstacle and not chosen:
        raise ConfigError(f"backend fused: {obstacle}; use --backend reference, or auto")
    if obstacle and plan.options.accounting == "update" and _is_ours(supernet):
        plan = replace(plan, backend="captured")
    elif obstacle:
        plan = replace(plan, backend="reference", precision=plan.options.precision or "fp32")
    notes = []
    if chosen and gpu:
        notes.append(f"backend {plan.backend}{f': {obstacle}' if obstacle else ', for a GPU'}")
    if plan.options.precision is None and plan.precision == "bf16":
        notes.append(f"precision bf16, for the {plan.backend} backend on a GPU")
    return replace(plan, notes=(*plan.notes, *notes))


def _is_ours(supernet: nn.Module) -> bool:
    """Whether PyTorch's modules and ours compute it: those of others may not suit a CUDA graph."""
    return all(type(m).__module__.partition(".")[0] in ("torch", "xnas") for m in supernet.modules())


def _fuse(supernet: nn.Module, options: SearchConfig) -> str | None:
    """Fuse a supernet, or say why it cannot be fused."""
    if options.accounting == "sample":
        return "accounting sample needs plain modules"
    fuse = getattr(supernet, "fuse", None)
    if fuse is None:
        return f"the {type(supernet).__name__} of the space {options.space} has no fused form"
    try:
        fuse()
    except ConfigError as error:
        return str(error)
    return None


def is_captured(engine: Search | Training, backend: str) -> bool:
    """Whether rounds or steps are captured in a CUDA graph: on one GPU, unless by `reference`."""
    return backend != "reference" and engine.device.type == "cuda" and engine.ranks.alone


def shared_by(ranks: Ranks, batch_size: int, device: torch.device) -> list[str]:
    """Lines on how several processes share a batch."""
    if ranks.alone:
        return []
    lines = [
        f"{ranks.size} processes with {batch_size // ranks.size} images each of a batch of {batch_size}"
    ]
    if device.type == "cuda":
        lines.append("rounds and steps launched one by one: several processes capture no CUDA graphs")
    return lines
