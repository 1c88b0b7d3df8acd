"""Cells that this software searched for and trained, for a row of Table 1 next to the paper's.

The numbers stand in `found_here.json`, which `experiments/write_results.py` writes from the results of
runs; there are none while those have not been made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from xnas.paper.measured_here import MeasuredHere, SearchedHere, TrainedHere

DATA_FILE = "found_here.json"
MINUTES_A_DAY = 24 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundHere:
    """All cells of one kind of search, each trained with several seeds; numbers are means over cells."""

    row: str
    searches: int
    search_minutes: float
    """Of one search that has a GPU to itself, if any had."""
    device: str
    seeds: int
    """Trainings of each cell."""
    error: float
    """Test error in percent."""
    deviation: float
    """Standard deviation of the error from cell to cell."""
    recipe: str
    network: str
    channels: int
    parameters: int
    macs: int
    depth: float

    @property
    def search_days(self) -> float:
        """Search cost as the paper's tables have it."""
        return self.search_minutes / MINUTES_A_DAY

    @property
    def note(self) -> str:
        """How the numbers were measured."""
        return (
            f"not the paper's: means over the cells of {self.searches} searches; one took "
            f"{self.search_minutes:.1f} minutes on one {self.device}; recipe {self.recipe}, "
            f"{self.seeds} trainings a cell, standard deviation between cells {self.deviation:.2f} "
            "points"
        )


@cache
def found_here() -> tuple[FoundHere, ...]:
    """Rows that runs of this software gave."""
    return tuple(FoundHere(**row) for row in _data()["rows"])


@cache
def measured_here() -> MeasuredHere:
    """Trainings of published cells, and searches by systems of the tables."""
    value = _data()
    return MeasuredHere(
        trained=tuple(TrainedHere(**row) for row in value["trained"]),
        searched=tuple(SearchedHere(**row) for row in value["searched"]),
    )


def _data() -> dict[str, Any]:
    value: dict[str, Any] = json.loads((files("xnas.paper") / DATA_FILE).read_text(encoding="utf8"))
    return value
