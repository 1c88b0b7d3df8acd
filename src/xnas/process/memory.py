"""Memory of this process and of a GPU, measured."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import torch


def memory_in_use(device: torch.device) -> int:
    """Bytes in use: on a GPU the peak since `reset_peak`, on the CPU what this process holds now.

    On a GPU it is reserved memory, because the memory of a CUDA graph counts as allocated only while
    the graph is captured.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device)
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return peak_of_process()


def peak_of_process() -> int:
    """Peak memory of this process in bytes. Linux reports KiB, macOS bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def reset_peak(device: torch.device) -> None:
    """Restart the measurement of a GPU's peak, without memory that was cached before."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
