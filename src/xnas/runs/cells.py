"""The architecture that a user means by a cell, with the command that repairs a run folder's."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from xnas.errors import GenotypeError, VersionError
from xnas.space import Architecture, find_architecture
from xnas.space.architecture import Found, run_of

TRAINING_FILE = "recipe.json"
"""What a training's run folder has and a search's has not."""
LONGEST = 200
"""Characters of a name, path or JSON that config.json keeps of a cell."""


def architecture_of(cell: str | Path | Architecture | Found) -> Architecture:
    """Return the architecture of a name, a string, a file or a run folder.

    The error for a damaged file in a run folder names the command that writes it again.
    """
    try:
        return find_architecture(cell)
    except VersionError:
        raise
    except GenotypeError as error:
        run = _run_with_file(cell)
        if run is None:
            raise
        kind, command = ("training", "train") if (run / TRAINING_FILE).exists() else ("search", "search")
        raise GenotypeError(
            f"{error}; xnas {command} --resume {quote(str(cell))} writes that of a finished {kind} again"
        ) from error


def recorded_cell(cell: str | Path | Architecture | Found, key: str) -> str:
    """What config.json says of the cell: its name or path, or the run's own file of such a `key`.

    That file has what has no name, and what is too long to be one.
    """
    name = str(cell) if isinstance(cell, str | Path) else ""
    return name if 0 < len(name) <= LONGEST else f"{key}.json"


def _run_with_file(cell: str | Path | Architecture | Found) -> Path | None:
    try:
        return run_of(cell)
    except GenotypeError:  # no such file, or a folder without one
        return None
