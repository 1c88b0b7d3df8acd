"""Options of `xnas reproduce` and the names of what it makes; imports nothing slow, for its help."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from xnas.options import at_least, option
from xnas.runs.options import OutputOptions

NAMES = (
    *("forecaster", "toy-3d", "toy-2d", "attenuation", "stochastic", "adam", "memory"),
    *("lower-bound", "speed", "entropy"),
    *("table-1", "table-2", "table-3", "depth-table", "params-table", "cells"),
)
"""Keys of `reproduce.ITEMS`, in their order."""
LONG = ("entropy",)
"""Those that take minutes, and are made only if they are named."""


@dataclass(frozen=True, kw_only=True)
class ReproduceConfig(OutputOptions):
    """What of the paper to reproduce, and where to."""

    GROUP: ClassVar[str] = "Reproduction"

    out: Path = option(Path("reproduction"), group="Output")
    """Folder for figures (SVG and PNG), tables (Markdown and CSV), numbers (JSON) and claims.md; it must
    be empty."""
    overwrite: bool = option(False, group="Output")
    """Replace files of the same name in the folder, which must not be that of a run."""
    runs: int = option(1000, at_least(2))
    """Monte-Carlo runs of the stochastic study."""
    rounds: int = option(1000, at_least(2))
    """Rounds of each of those runs."""
    seed: int = option(0, at_least(0))
    """Seed of the stochastic study, and first one of the searches behind entropy."""
