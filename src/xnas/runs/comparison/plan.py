"""The plan of a comparison: every run with its settings, made and checked before anything starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from xnas.data import Images
from xnas.data_options import DataOptions
from xnas.errors import ConfigError
from xnas.options import given_options
from xnas.registry import near_names
from xnas.runs.comparison.config import CompareConfig
from xnas.runs.comparison.entries import Entry, Kind
from xnas.runs.sampling.config import SampleConfig, settings_text
from xnas.runs.sampling.evaluators import EVALUATORS
from xnas.runs.search_config import SearchConfig
from xnas.runs.train_config import TrainConfig
from xnas.space import SPACES

OURS = ("out", "seed", "quiet", "space", "truth", "cell")
"""Settings that the comparison itself sets."""
RUNS, TRAINING = "runs", "-training"
"""The folder of all run folders, and the end of the names of those that train a cell."""
Config = TypeVar("Config", SearchConfig, SampleConfig, TrainConfig)
COMMANDS = {SearchConfig: "search", SampleConfig: "sample", TrainConfig: "train"}


@dataclass(frozen=True, slots=True)
class ComparedData:
    """A dataset that is compared on."""

    label: str
    place: str | None
    """As runs load it; None if images were given in memory."""
    images: Images


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One run: a search or a sampling and, if cells are trained, the training of its cell."""

    name: str
    """Of its folder."""
    entry: str
    kind: Kind
    data: str
    space: str
    seed: int
    search: SearchConfig | SampleConfig | None
    """None for a random cell."""
    train: TrainConfig | None


def planned_runs(
    config: CompareConfig, entries: Sequence[Entry], data: Sequence[ComparedData]
) -> tuple[PlannedRun, ...]:
    """All runs: those of the first seed first, so that a comparison that is stopped has some of each."""
    return tuple(
        _planned(config, entry, one, space, seed, several=len(data) > 1)
        for seed in config.seed_numbers
        for one in data
        for space in config.spaces
        for entry in entries
    )


def _planned(
    config: CompareConfig, entry: Entry, data: ComparedData, space: str, seed: int, *, several: bool
) -> PlannedRun:
    parts = [
        entry.name,
        *([data.label] if several else []),
        *([space] if len(config.spaces) > 1 else []),
    ]
    plain = ("".join(c if c.isalnum() or c in "-_" else "-" for c in part) for part in parts)
    name = "-".join(plain).lstrip("-") or "entry"  # a leading - would be an option of a command
    common = _common(config) | {"seed": seed, "quiet": True}
    search: SearchConfig | SampleConfig | None = None
    truth = config.truths.get(space)
    if entry.kind == "method":
        given = {**config.settings_of("search"), **entry.settings}
        search = _config(SearchConfig, entry, given, common | {"space": space, "truth": truth})
    elif entry.kind == "sampler":
        given = {**config.settings_of("sample"), **entry.settings}
        if isinstance(given.get("settings"), Mapping):
            given["settings"] = settings_text(given["settings"])
        search = _config(SampleConfig, entry, given, common | {"space": space, "truth": truth})
    train = None
    if config.train is not None:
        train = _config(TrainConfig, entry, config.settings_of("train"), common)
    return PlannedRun(
        name=f"{name}-{seed}",
        entry=entry.name,
        kind=entry.kind,
        data=data.label,
        space=space,
        seed=seed,
        search=search,
        train=train,
    )


def _common(config: CompareConfig) -> dict[str, Any]:
    """Options of data and device that were given to the comparison."""
    shared = {declared.name for declared in fields(DataOptions)} | {"device"}
    common = {name: getattr(config, name) for name in given_options(config) if name in shared}
    return common if config.report else common | {"report": False}


def _config(
    kind: type[Config], entry: Entry, given: Mapping[str, Any], common: Mapping[str, Any]
) -> Config:
    """The options of a run of an entry; raises for settings that its command does not have."""
    command, known = COMMANDS[kind], [declared.name for declared in fields(kind)]
    for name in given:
        if name not in known:
            raise ConfigError(
                f"the entry {entry.name!r} has the setting {name!r}, which xnas {command} has not; "
                f"{near_names(name, known)}xnas {command} --help lists all"
            )
        if name in OURS:
            raise ConfigError(
                f"the entry {entry.name!r} has the setting {name!r}, which the comparison sets: leave "
                "it out"
            )
    try:
        return kind(**{**common, **given})
    except ConfigError as error:
        raise ConfigError(f"the entry {entry.name!r}: {error}") from error


def first_of_each(runs: Sequence[PlannedRun]) -> Iterator[PlannedRun]:
    """One run of every entry on every data set and space, to be checked."""
    seen: set[tuple[str, str, str]] = set()
    for run in runs:
        key = (run.entry, run.data, run.space)
        if key not in seen:
            seen.add(key)
            yield run


def require_spaces(config: CompareConfig) -> None:
    """Raise for a space that is not known."""
    for space in config.spaces:
        _ = SPACES[space]


def require_new_names(runs: Sequence[PlannedRun]) -> None:
    """Raise if two runs would share a folder."""
    names: dict[str, PlannedRun] = {}
    for run in runs:
        other = names.setdefault(run.name, run)
        if other is not run:
            raise ConfigError(
                f"the entries {other.entry!r} and {run.entry!r} would share the folder {run.name}; "
                "rename one of them"
            )


def asks_the_benchmark(run: PlannedRun) -> bool:
    """Whether a sampling is given the benchmark's own accuracies."""
    return isinstance(run.search, SampleConfig) and not EVALUATORS[run.search.evaluator].leaves_files


def place_in(folder: Path, run: PlannedRun) -> Path:
    """The run folder."""
    return folder / RUNS / run.name


def training_in(folder: Path, run: PlannedRun) -> Path:
    """The run folder of the training of its cell."""
    return folder / RUNS / f"{run.name}{TRAINING}"
