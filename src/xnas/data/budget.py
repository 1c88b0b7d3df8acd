"""Whether images fit into memory, or have to be streamed from the disk."""

from __future__ import annotations

import os
from pathlib import Path

LARGEST_SHARE = 4  # in memory only what takes at most a quarter: copies and the network need some too
CGROUP = Path("/sys/fs/cgroup")


def streams(bytes_needed: int, memory_available: int) -> bool:
    """Whether images of `bytes_needed` should be streamed: they take over a quarter of what is free."""
    return bytes_needed * LARGEST_SHARE > memory_available


def available_memory() -> int:
    """Bytes that this process could still use: of the machine, or of its container if that has less."""
    return min(_of_machine(), _of_container())


def _of_machine() -> int:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2  # no better is known elsewhere


def _of_container(folder: Path = CGROUP) -> int:
    """What the limit of a control group (version 2) leaves; very much if there is none."""
    try:
        limit = int((folder / "memory.max").read_text(encoding="ascii"))
        used = int((folder / "memory.current").read_text(encoding="ascii"))
        cached = next(
            int(line.split()[1])
            for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines()
            if line.startswith("inactive_file ")
        )
    except (OSError, ValueError, StopIteration):
        return 2**62
    return max(limit - used + cached, 0)
