"""Settings as the command line takes them, for the commands that messages name."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote


def flags(settings: Mapping[str, object]) -> str:
    """Flags that give these settings: `{"wipeout": False, "seed": 1}` is `--no-wipeout --seed 1`."""
    words = []
    for name, value in settings.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words.append(f"--{flag} {quote(str(value))}")
    return " ".join(words)
