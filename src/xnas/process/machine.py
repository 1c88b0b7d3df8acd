"""The machine in a few words, for the record of a run."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")


def machine() -> str:
    """Cores, processor and, where this process computes on one, the GPU: `2 cores, Intel Xeon`."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    parts = [f"{cores} core{'s' * (cores != 1)}", _processor()]
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        parts.append(torch.cuda.get_device_name())
    return ", ".join(filter(None, parts))


def _processor() -> str:
    """The name of the processor, or that of its kind."""
    try:
        lines = CPU_INFO.read_text(encoding="utf8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2] for line in lines if line.startswith("model name"))
    name = next(named, "") or platform.processor() or platform.machine()
    return " ".join(name.split())
