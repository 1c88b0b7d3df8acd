"""Settings as the command line takes them, for the commands that messages name."""

from __future__ import annotations

from collections.abc import Mapping

from xnas.options import flag_name
from xnas.words import shell_word


def flags(settings: Mapping[str, object]) -> str:
    """Flags that give these settings: `{"wipeout": False, "seed": 1}` is `--no-wipeout --seed 1`."""
    words = []
    for name, value in settings.items():
        flag = flag_name(name)
        if isinstance(value, bool):
            words.append(flag if value else flag_name(f"no_{name}"))
        else:
            words.append(f"{flag} {shell_word(str(value))}")
    return " ".join(words)
