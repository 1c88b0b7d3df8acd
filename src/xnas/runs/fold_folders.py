"""Folders of sets of folds, for commands that want one run: which they are, and what to give instead."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from xnas.errors import ConfigError

NAME = "folds.json"


def is_set_of_folds(path: Path) -> bool:
    """Whether this is the folder of a set of trainings."""
    return (path / NAME).is_file()


def require_one_run(path: Path) -> None:
    """Raise for the folder of a set of folds."""
    if is_set_of_folds(path):
        raise ConfigError(
            f"{path} holds a set of folds, each in a run folder of its own; give one, such as "
            f"{path / 'fold-0'}, or resume the set with: xnas train --resume {quote(str(path))}"
        )
