"""Entries of a comparison: methods and samplers with their settings, and random cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as brief
from typing import Any, Literal

from xnas.errors import ConfigError
from xnas.methods import METHODS
from xnas.records import Measure
from xnas.registry import known_names
from xnas.runs.comparison.config import CompareConfig
from xnas.runs.comparison.statistics import TESTS, least_runs
from xnas.samplers import SAMPLERS
from xnas.words import counted

RANDOM = "random cells"
"""The entry of the baseline whose cells are trained."""
SAMPLER_PREFIX = "sample-"
Kind = Literal["method", "sampler", "random"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What is compared: a method or a sampler with its settings, or random cells."""

    name: str
    kind: Kind
    settings: Mapping[str, Any]


def measure_of(config: CompareConfig) -> Measure:
    """Which accuracies are compared."""
    if config.truth is not None:
        return "judged" if set(config.spaces) == {"darts"} else "true"
    return "supernet" if config.train is None else "trained"


def entries_of(config: CompareConfig) -> tuple[Entry, ...]:
    """All entries, in the order of the table; raises for unknown names and for an empty comparison."""
    found: dict[str, Entry] = {}
    for name in config.method_names:
        _ = METHODS[name]
        found[name] = Entry(name, "method", {"method": name})
    for sampler in config.sampler_names:
        _ = SAMPLERS[sampler]
        name = f"{SAMPLER_PREFIX}{sampler}"
        found[name] = Entry(name, "sampler", {"sampler": sampler})
    for name, settings in config.entries.items():
        found[name] = _own_entry(name, settings, found.get(name))
    if config.train is not None:
        if RANDOM in found:
            raise ConfigError(
                f"an entry cannot be called {RANDOM!r}, the name of the baseline; rename it"
            )
        found[RANDOM] = Entry(RANDOM, "random", {})
    if len(found) < 2:
        raise ConfigError(
            f"there is {counted(len(found), 'entry')} to compare: {', '.join(found) or 'none'}; name at "
            "least two with --methods and --samplers, or in [entries]"
        )
    return tuple(found.values())


def _own_entry(name: str, settings: object, listed: Entry | None) -> Entry:
    """An entry of `[entries]`; one of a listed name adds settings to that."""
    if not isinstance(settings, Mapping):
        raise ConfigError(f"the entry {name!r} must be a table of settings, got {brief(settings)}")
    both = {"method", "sampler"} & settings.keys()
    if len(both) > 1:
        raise ConfigError(f"the entry {name!r} names a method and a sampler; leave one of them out")
    if listed is not None and not both:
        return Entry(name, listed.kind, {**listed.settings, **settings})
    if listed is not None:
        raise ConfigError(f"the entry {name!r} is named twice; give one of them another name")
    if "sampler" in settings:
        _ = SAMPLERS[settings["sampler"]]
        return Entry(name, "sampler", dict(settings))
    _ = METHODS[settings.get("method", name)]
    return Entry(name, "method", {"method": name, **settings})


def reference_of(config: CompareConfig, entries: Sequence[Entry]) -> str:
    """The entry that others are compared with."""
    names = [entry.name for entry in entries]
    wanted = config.against
    if wanted is None:
        return "xnas" if "xnas" in names else names[0]
    if wanted not in names:
        raise ConfigError(f"--against names no entry: {wanted!r}; {known_names(wanted, names)}")
    return wanted


def require_seeds(config: CompareConfig, entries: Sequence[Entry], blocks: int) -> None:
    """Raise if a test is wanted and no difference could be more than noise with so few seeds."""
    if not config.test or measure_of(config) == "supernet":
        return
    comparisons, seeds = blocks * (len(entries) - 1), len(config.seed_numbers)
    needed = least_runs(config.test_kind, comparisons)
    if seeds >= needed:
        return
    words, other = TESTS[config.test_kind].words, ""
    if config.test_kind != "welch":
        other = ", --test-kind welch, which needs 2,"
    raise ConfigError(
        f"the {words} needs {needed} seeds to reach p = 0.05 in {counted(comparisons, 'comparison')} "
        f"after Holm's correction, got {seeds}; give --seeds 0-{needed - 1}{other} or --no-test"
    )
