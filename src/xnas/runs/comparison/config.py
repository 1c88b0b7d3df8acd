"""Options of a comparison: what is compared, on what, with how many seeds, and by which accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from xnas.data_options import DataOptions
from xnas.errors import ConfigError
from xnas.options import at_least, at_most, option
from xnas.runs.options import DeviceOptions, OutputOptions
from xnas.runs.sampling.config import parse_settings

MOST_SEEDS = 10_000
Settings = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class CompareOptions(DataOptions, DeviceOptions, OutputOptions):
    """What a comparison takes on the command line."""

    GROUP: ClassVar[str] = "Comparison"

    methods: str | None = None
    """Methods of a search, such as xnas,darts,gaea. Default: xnas,darts,random, if no samplers are
    named."""
    samplers: str | None = None
    """Samplers, such as random,evolution; the table calls them sample-random and sample-evolution."""
    seeds: str = option("0-4", on_resume="change")
    """Seeds, such as 0-4 or 0,3,7. A resumed comparison may be given more."""
    space: str = "darts"
    """Search space, or several: darts,nasbench201."""
    truth: str | None = option(None, on_resume="change")
    """CSV file of benchmark accuracies: compare those of the cells that are found. With several spaces:
    SPACE=FILE,SPACE=FILE."""
    train: str | None = None
    """Train the cell of every run, and a random cell per seed, and compare the test accuracies: a
    recipe, or settings of xnas train such as recipe=quick,epochs=10."""
    search: str | None = None
    """Settings of every search by a method, such as epochs=20,channels=12."""
    sample: str | None = None
    """Settings of every search by sampling, such as evaluator=table,evaluations=50."""
    against: str | None = option(None, on_resume="change")
    """The entry that all others are compared with. Default: xnas, or the first."""
    test: bool = option(True, on_resume="change")
    """Test which differences are statistically significant; needs several seeds."""
    test_kind: Literal["exact", "paired", "welch"] = option("exact", on_resume="change")
    """exact: permutation test of the means. paired: permutation test of differences within seeds; needs
    more seeds. welch: Welch's t-test; needs fewer, but accuracies that are about normal."""
    random_cells: int = option(500, at_least(1), at_most(1 << 20), on_resume="change")
    """Random cells whose mean accuracy by --truth is the baseline."""
    pool: str = option("local", on_resume="change")
    """Where runs are computed: local (one after another), processes (AT_ONCE processes of this machine),
    ray (a Ray cluster), or another pool that is registered."""
    at_once: int = option(1, at_least(1), at_most(1 << 16), on_resume="change")
    """Runs that are computed in parallel, with a pool that can."""
    out: Path | None = option(None, on_resume="free", group="Output")
    """Folder of the comparison, new or empty. Default: runs/compare-DATA-NUMBER."""
    report: bool = option(True, on_resume="free", group="Output")
    """Write report.html into the folder of the comparison and of every run."""


@dataclass(frozen=True, kw_only=True)
class CompareConfig(CompareOptions):
    """Options of one comparison.

    `train`, `search` and `sample` may be dictionaries. `entries` has settings of single entries by name:
    those of a search with `method`, or of a sampling with `sampler`.

    >>> config = CompareConfig(methods="xnas,darts", seeds="0-3", search={"epochs": 20})
    >>> config.seed_numbers
    (0, 1, 2, 3)
    """

    methods: str | list[Any] | tuple[Any, ...] | None = None  # type: ignore[assignment]
    """Names, in a list or with commas."""
    samplers: str | list[Any] | tuple[Any, ...] | None = None  # type: ignore[assignment]
    """Names, in a list or with commas."""
    seeds: str | int | list[Any] | tuple[Any, ...] | range = option(  # type: ignore[assignment]
        "0-4", on_resume="change"
    )
    """Numbers, or text such as 0-4."""
    space: str | list[Any] | tuple[Any, ...] = "darts"  # type: ignore[assignment]
    """One space or several."""
    truth: str | Path | dict[str, Any] | None = option(  # type: ignore[assignment]
        None, on_resume="change"
    )
    """A file, or one per space."""
    train: str | dict[str, Any] | None = None  # type: ignore[assignment]
    """Settings of the trainings."""
    search: str | dict[str, Any] | None = None  # type: ignore[assignment]
    """Settings of every search by a method."""
    sample: str | dict[str, Any] | None = None  # type: ignore[assignment]
    """Settings of every search by sampling."""
    entries: dict[str, Any] = field(default_factory=dict)
    """Settings of single entries, by name."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.truth is not None and self.train is not None:
            raise ConfigError(
                "cells are compared by --truth or by --train, not by both; leave one of them out"
            )
        _ = self.seed_numbers, self.spaces, self.truths
        for name in ("search", "sample", "train"):
            _ = self.settings_of(name)

    @property
    def method_names(self) -> tuple[str, ...]:
        """The methods."""
        usual = ("xnas", "darts", "random")
        nothing = self.methods is None and self.samplers is None and not self.entries
        return usual if nothing else names_in(self.methods, "methods")

    @property
    def sampler_names(self) -> tuple[str, ...]:
        """The samplers."""
        return names_in(self.samplers, "samplers")

    @property
    def spaces(self) -> tuple[str, ...]:
        """The search spaces."""
        return names_in(self.space, "space")

    @property
    def seed_numbers(self) -> tuple[int, ...]:
        """The seeds, in the order given."""
        return seeds_in(self.seeds)

    @property
    def truths(self) -> dict[str, Path]:
        """The file of a benchmark for each space; empty without one."""
        if self.truth is None:
            return {}
        if isinstance(self.truth, dict):
            files = {space: Path(file) for space, file in self.truth.items()}
        elif "=" in str(self.truth) and not Path(self.truth).exists():
            files = {k: Path(str(v)) for k, v in parse_settings(str(self.truth), "--truth").items()}
        elif len(self.spaces) == 1:
            files = {self.spaces[0]: Path(self.truth)}
        else:
            raise ConfigError(
                f"--truth is one file, and there are the spaces {', '.join(self.spaces)}; give "
                f"{','.join(f'{space}=FILE' for space in self.spaces)}"
            )
        for space in (*files, *self.spaces):
            if space not in files or space not in self.spaces:
                fault = "for a space that is not compared" if space in files else "no file for the space"
                raise ConfigError(
                    f"--truth has {fault}: {space}; give one file for each of {', '.join(self.spaces)}"
                )
        return files

    def settings_of(self, name: str) -> dict[str, Any]:
        """The settings `search`, `sample` or `train` by name; of a bare word in `train`, the recipe."""
        given = getattr(self, name)
        if isinstance(given, str):
            first, comma, rest = given.partition(",")
            if name == "train" and first and "=" not in first:
                given = f"recipe={first.strip()}{comma}{rest}"
            return parse_settings(given, f"--{name}")
        return dict(given or {})


def names_in(given: object, what: str) -> tuple[str, ...]:
    """Names from `a,b` or a list; raises for one that is empty or there twice."""
    parts = given.split(",") if isinstance(given, str) else list(given or ())  # type: ignore[call-overload]
    names = tuple(part.strip() if isinstance(part, str) else part for part in parts)
    for name in names:
        if not isinstance(name, str) or not name:
            raise ConfigError(f"--{what} must be names such as a,b, got {given!r}")
        if names.count(name) > 1:
            raise ConfigError(f"--{what} names {name!r} twice, got {given!r}; give it once")
    return names


def seeds_in(given: object) -> tuple[int, ...]:
    """Seeds from `0-3`, `0,3,7`, a number or a list; raises for anything else, and for one twice."""
    fault = ConfigError(f"--seeds must be whole numbers such as 0-4 or 0,3,7, got {given!r}")
    if isinstance(given, int) and not isinstance(given, bool):
        given = [given]
    seeds: list[int] = []
    for part in given.split(",") if isinstance(given, str) else list(given):  # type: ignore[call-overload]
        if isinstance(part, int) and not isinstance(part, bool) and part >= 0:
            seeds.append(part)
            continue
        first, dash, last = str(part).strip().partition("-")
        if not first.isdecimal() or not (last or first).isdecimal() or bool(dash) != bool(last):
            raise fault
        if int(last or first) < int(first) or int(last or first) - int(first) >= MOST_SEEDS:
            raise fault
        seeds += range(int(first), int(last or first) + 1)
    if not seeds:
        raise fault
    for seed in seeds:
        if seeds.count(seed) > 1:
            raise ConfigError(f"--seeds has {seed} twice, got {given!r}; give it once")
    return tuple(seeds)
