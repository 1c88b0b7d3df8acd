"""What a benchmark knows of the cell that a search would give now, for the record alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from xnas.benchmarks import TabularBenchmark
from xnas.engine import Search
from xnas.errors import DatasetError
from xnas.records import SearchEpoch, Truth
from xnas.space import SearchSpace
from xnas.space.discretize import strongest_cell
from xnas.space.spaces import NONE


def load_truth(path: Path | None) -> TabularBenchmark | None:
    """The table that a search is watched by; it is read before anything is written."""
    return None if path is None else TabularBenchmark.load(path)


def truth_again(path: Path | None, warn: Callable[[str], None]) -> TabularBenchmark | None:
    """The table of a run that is resumed, or none if that is gone."""
    if path is not None and not path.exists():
        warn(f"the benchmark {path} is gone; the search continues without true accuracies")
        return None
    return load_truth(path)


def require_same(benchmark: TabularBenchmark | None, records: Sequence[SearchEpoch]) -> None:
    """Raise unless the table has the accuracy that the last epoch with one recorded."""
    last = next((record.truth for record in reversed(records) if record.truth is not None), None)
    if benchmark is None or last is None:
        return
    known = benchmark[last.arch].test_200
    if known != last.test_200:
        raise DatasetError(
            f"the benchmark is not the one that the run began with: it has {known:g} for {last.arch}, "
            f"which had {last.test_200:g}; restore that table, or remove it"
        )


def space_of(engine: Search) -> SearchSpace:
    """The space that a run's supernet was built for."""
    space = getattr(engine.supernet, "space", None)
    assert isinstance(space, SearchSpace)  # noqa: S101 - runs build their supernets from spaces
    return space


def truth_of(engine: Search, benchmark: TabularBenchmark) -> Truth:
    """Look the present cell up; nothing of it goes back to the search."""
    space = space_of(engine)
    standing = engine.standing()
    entry = benchmark[standing.cell(space)]
    other = None
    if NONE in space.operations:
        other = benchmark[strongest_cell(standing.strengths, standing.alive, space)]
    return Truth(
        arch=entry.arch,
        test_200=entry.test_200,
        test_12=entry.test_12,
        rank=benchmark.rank(entry.arch),
        arch_with_none=other.arch if other else None,
        test_200_with_none=other.test_200 if other else None,
    )
