"""Statistics of large datasets, measured once and remembered.

They are kept in small JSON files, named by the hash of what was measured, below $XNAS_CACHE,
$XDG_CACHE_HOME/xnas or ~/.cache/xnas. A cache that cannot be read or written is no error: the statistics
are then measured again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from xnas.files import whole_file

Statistics = tuple[tuple[float, ...], tuple[float, ...]]
"""Mean and deviation, a number for each channel."""

FORMAT, VERSION = "xnas-statistics", 1


def cache_folder() -> Path:
    """Where this package keeps what it can always compute again."""
    given = os.environ.get("XNAS_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "xnas"


def remembered(key: str, measure: Callable[[], Statistics]) -> Statistics:
    """The statistics that are known under this key, or what `measure` gives, which is then kept."""
    try:
        path = cache_folder() / "statistics" / f"{key}.json"
    except RuntimeError:  # there is no home
        return measure()
    known = _read(path)
    if known is not None:
        return known
    mean, std = measure()
    content = {"format": FORMAT, "version": VERSION, "mean": mean, "std": std}
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(json.dumps(content).encode())
    return mean, std


def _read(path: Path) -> Statistics | None:
    """What a file of the cache holds; None if it is not there, damaged or of another version."""
    try:
        content = json.loads(path.read_text(encoding="utf8"))
        if (content["format"], content["version"]) != (FORMAT, VERSION):
            return None
        mean, std = (tuple(float(value) for value in content[name]) for name in ("mean", "std"))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    sound = len(mean) == len(std) > 0 and all(map(math.isfinite, mean)) and min(std) > 0
    return (mean, std) if sound else None
