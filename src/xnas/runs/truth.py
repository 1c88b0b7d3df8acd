"""What a benchmark knows of the cell that a search would give now, for the record alone."""

from __future__ import annotations

from pathlib import Path

from xnas.benchmarks import TabularBenchmark
from xnas.engine import Search
from xnas.records import Truth
from xnas.space import SearchSpace, discretize
from xnas.space.discretize import strongest_cell
from xnas.space.spaces import NONE


def load_truth(path: Path | None) -> TabularBenchmark | None:
    """The table that a search is watched by; it is read before anything is written."""
    return None if path is None else TabularBenchmark.load(path)


def space_of(engine: Search) -> SearchSpace:
    """The space that a run's supernet was built for."""
    space = getattr(engine.supernet, "space", None)
    assert isinstance(space, SearchSpace)  # noqa: S101 - runs build their supernets from spaces
    return space


def truth_of(engine: Search, benchmark: TabularBenchmark) -> Truth:
    """Look the present cell up; nothing of it goes back to the search."""
    space = space_of(engine)
    strengths, alive, sums = engine.standing()
    entry = benchmark[discretize(strengths, alive, space, sums)]
    other = benchmark[strongest_cell(strengths, alive, space)] if NONE in space.operations else None
    return Truth(
        arch=entry.arch,
        test_200=entry.test_200,
        test_12=entry.test_12,
        rank=benchmark.rank(entry.arch),
        arch_with_none=other.arch if other else None,
        test_200_with_none=other.test_200 if other else None,
    )
