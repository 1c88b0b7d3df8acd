"""How much memory a run needs."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import torch


def memory_in_use(device: torch.device) -> int:
    """Bytes: on a GPU the peak since `reset_peak`, on the CPU what this process holds now.

    Reserved, not allocated: what a CUDA graph works in counts as allocated only while it is captured.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device)
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return peak_of_process()


def peak_of_process() -> int:
    """Bytes that this process held at most. Linux counts them in KiB, macOS one by one."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def reset_peak(device: torch.device) -> None:
    """Begin to measure the peak anew, without what others have left behind."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
