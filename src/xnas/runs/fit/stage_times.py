"""times.json: seconds by the clock that every stage of a fit has taken, of all its calls."""

from __future__ import annotations

import time
from pathlib import Path

from xnas.errors import DamagedFileError
from xnas.records.reading import value_of
from xnas.runs.config_file import read_json
from xnas.runs.run_folder import RunFolder
from xnas.words import short

FILE, FORMAT, VERSION = "times.json", "xnas-times", 1
BEGINNING = "beginning"
"""Until the first stage of a call: reading images, and measuring before the plan."""
MOST_BYTES = 1 << 20


class StageTimes:
    """Seconds by stage, added up over calls; a fit that is killed loses those since the last `save`."""

    def __init__(self, folder: RunFolder, began: float) -> None:
        """`began` is when this call did, by `time.perf_counter`; what was before is in the folder."""
        self.folder = folder
        self.seconds = read_times(folder.path / FILE)
        self.stage, self.since = BEGINNING, began

    def begin(self, stage: str) -> None:
        """A stage begins, and the one before has ended."""
        self.save()
        self.stage = stage

    def save(self) -> None:
        """Account for the time since the last call."""
        now = time.perf_counter()
        self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + now - self.since
        self.since = now
        self.folder.write_json(FILE, {"format": FORMAT, "version": VERSION, "cost": self.seconds})

    def of(self, *stages: str) -> float:
        """Seconds of some stages, as saved."""
        return sum(self.seconds.get(stage, 0.0) for stage in stages)

    @property
    def used(self) -> float:
        """Seconds of all calls until now."""
        return sum(self.seconds.values()) + time.perf_counter() - self.since


def read_times(path: Path) -> dict[str, float]:
    """Seconds by stage, as saved; none without a file."""
    if not path.exists():
        return {}
    again = "delete it, and the times of the fit are those from now on"
    saved = read_json(path, MOST_BYTES, again).get("cost")
    try:
        return value_of(dict[str, float], saved, "cost")  # type: ignore[no-any-return]  # it is what was asked for
    except TypeError as error:
        raise DamagedFileError(f"{path} is damaged ({short(error)}); {again}") from error
