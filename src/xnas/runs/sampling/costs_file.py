"""What trials cost, costs.jsonl: seconds, sizes, hosts. For the record: a search never reads it.

One line per result, in the order in which results came. The sums at the end leave out what is missing or
damaged, so a lost line costs nothing but itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from xnas.files import read_plain
from xnas.samplers import Result

NAME = "costs.jsonl"
MOST_BYTES = 1 << 28


class CostsFile:
    """The costs of one search; `storage_errors` explains failures of the file system."""

    def __init__(self, path: Path, storage_errors: Callable[[], AbstractContextManager[None]]) -> None:
        self.path, self.storage_errors = path, storage_errors

    def add(self, result: Result) -> None:
        """Append the cost of a result."""
        line = json.dumps({"number": result.number, **result.cost}, default=str)
        with self.storage_errors(), self.path.open("a", encoding="utf8") as file:
            file.write(line + "\n")

    def seconds(self) -> Mapping[int, float]:
        """The seconds of each trial, by number; the last line of a trial counts."""
        found: dict[int, float] = {}
        try:
            lines = read_plain(self.path, MOST_BYTES).splitlines()
        except OSError:
            return found
        for line in lines:
            try:
                cost = json.loads(line)
                found[int(cost["number"])] = float(cost["seconds"])
            except (ArithmeticError, ValueError, TypeError, LookupError, RecursionError):
                continue
        return found
