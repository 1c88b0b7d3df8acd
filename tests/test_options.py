"""Options are declared once: values are checked, shared declarations reach every command as flags."""

import copy
import inspect
import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from xnas import ConfigError, SearchConfig, TrainConfig
from xnas.cli.data import data
from xnas.cli.evaluate import evaluate
from xnas.cli.export import export
from xnas.cli.search import search
from xnas.cli.train import train
from xnas.data import DataOptions
from xnas.data_options import SourceOptions
from xnas.options import (
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    THE_COMMANDS,
    Options,
    at_least,
    at_most,
    changed,
    fixed_settings,
    given_options,
    groups_of,
    help_of,
    inherited,
    names_on_resume,
    option,
    saved_options,
    widened,
)

COMMANDS = {
    search: DataOptions,
    train: DataOptions,
    data: DataOptions,
    evaluate: SourceOptions,
    export: SourceOptions,
}
"""Commands that read images, and what they take: a trained model says itself how images are prepared."""


@dataclass(frozen=True, kw_only=True)
class Boiling(Options):
    GROUP: ClassVar[str] = "Kitchen"

    minutes: float = option(4.0, POSITIVE, on_resume="change")
    """How long, in
    minutes."""
    eggs: int | None = option(None, at_least(1), at_most(1200))
    """How many."""
    seed: int = option(0, group=THE_COMMANDS)
    """Chance."""


@dataclass(frozen=True, kw_only=True)
class Breakfast(Boiling):
    GROUP: ClassVar[str] = "Table"

    jam: Literal["plum", "none"] = "none"
    """Kind of jam."""
    place: Path | None = option(None, on_resume="free", group="Room")
    """Where."""
    salt: float = option(0.0, SHARE)
    """Share of salt."""
    name: str | Path = "mine"
    """A name."""
    loud: bool = False
    wait: float = option(0.0, NOT_NEGATIVE)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"minutes": 0.0}, "minutes must be positive and finite, got 0.0"),
        ({"minutes": math.inf}, "minutes must be positive and finite, got inf"),
        ({"minutes": math.nan}, "minutes must be positive and finite, got nan"),
        ({"minutes": True}, "minutes must be a number, got True"),
        ({"eggs": 0}, "eggs must be at least 1, got 0"),
        ({"eggs": 1201}, "eggs must be at most 1,200, got 1201"),
        ({"eggs": 1.5}, "eggs must be a whole number or None, got 1.5"),
        ({"seed": 1 << 63}, "seed must be below 2.63, got 9223"),
        ({"salt": 1.0}, r"salt must lie in \[0, 1\), got 1.0"),
        ({"wait": -1}, "wait must be 0 or more and finite, got -1"),
        ({"jam": "fig"}, "jam must be plum or none, got 'fig'"),
        ({"loud": "no"}, "loud must be true or false, got 'no'"),
        ({"place": 3}, "place must be Path or None, got 3"),
    ],
)
def test_values_out_of_their_kind_or_bounds_are_named(given, words):
    with pytest.raises(ConfigError, match=words):
        Breakfast(**given)


def test_strings_become_paths_only_where_no_string_is_meant():
    assert Breakfast(place="kitchen", name="kitchen") == Breakfast(place=Path("kitchen"), name="kitchen")
    assert isinstance(Breakfast(name="kitchen").name, str)


def test_help_is_the_docstring_under_a_field_of_the_class_that_declares_it():
    assert help_of(Breakfast)["minutes"] == "How long, in minutes."
    assert help_of(Breakfast)["jam"] == "Kind of jam."
    assert help_of(Breakfast)["loud"] == ""


def test_an_option_is_in_the_group_of_the_class_that_declares_it_or_in_its_own():
    groups = groups_of(Breakfast)
    assert (groups["minutes"], groups["jam"], groups["place"]) == ("Kitchen", "Table", "Room")
    assert (groups["seed"], groups_of(Boiling)["seed"]) == ("Table", "Kitchen")


def test_what_may_change_on_resume_is_said_by_the_option():
    assert names_on_resume(Breakfast, "change") == ["minutes"]
    assert fixed_settings(Breakfast, {"minutes": 1, "place": "x", "eggs": 2, "other": 3}) == {
        "eggs": 2,
        "other": 3,
    }
    assert saved_options(Breakfast, {"minutes": 1, "eggs": 2}, {"minutes": 3}).minutes == 3
    with pytest.raises(
        ConfigError, match="a resumed run keeps its --eggs; leave it out: only --minutes may"
    ):
        saved_options(Breakfast, {}, {"eggs": 3})
    with pytest.raises(
        ConfigError, match="a run has no setting --toast; leave it out: only --minutes may"
    ):
        saved_options(Breakfast, {}, {"toast": 3})


def test_saved_options_that_cannot_be_used_are_named():
    with pytest.raises(ConfigError, match=r"config.json has the setting 'toast', which this version"):
        saved_options(Breakfast, {"toast": 3}, {})
    with pytest.raises(ConfigError, match=r"json cannot be used: --eggs must .* 'two'; restore"):
        saved_options(Breakfast, {"eggs": "two"}, {})


def test_a_saved_value_that_is_changed_need_not_be_usable_any_more():
    assert saved_options(Breakfast, {"minutes": -1}, {"minutes": 3}).minutes == 3


def test_given_options_are_those_that_were_named_also_at_their_default():
    assert given_options(Breakfast(salt=0.0, eggs=3)) == ["eggs", "salt"]
    assert given_options(Breakfast()) == []


def test_an_option_that_was_given_is_not_inherited_even_at_its_default():
    usual = Breakfast()
    given = Breakfast(minutes=usual.minutes)
    assert given == usual
    saved = {"minutes": 7, "eggs": 2}
    for options in (
        given,
        changed(given, jam="plum"),
        copy.copy(given),
    ):
        assert inherited(options, Boiling, saved).minutes == usual.minutes
        assert inherited(options, Boiling, saved).eggs == 2
    assert inherited(widened(Boiling, Boiling, given), Boiling, saved).minutes == usual.minutes


def test_what_replace_leaves_at_its_default_is_inherited():
    assert inherited(replace(Breakfast(), jam="plum"), Boiling, {"minutes": 7}).minutes == 7


def test_options_at_their_default_are_inherited():
    saved = {"minutes": 7, "eggs": 2, "jam": "plum", "other": 1}
    meal = inherited(Breakfast(eggs=5), Boiling, saved)
    assert (meal.minutes, meal.eggs, meal.jam) == (7, 5, "none")
    assert widened(Breakfast, Boiling, meal) == Breakfast(minutes=7, eggs=5)
    with pytest.raises(ConfigError, match=r"in config.json cannot be used: --minutes must be positive"):
        inherited(Breakfast(), Boiling, {"minutes": -1})


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_every_data_option_is_a_flag_of_every_command_that_reads_images(command):
    flags = inspect.signature(command).parameters
    assert {declared.name for declared in fields(COMMANDS[command])} <= flags.keys()


@pytest.mark.parametrize("kind", [SearchConfig, TrainConfig])
def test_every_option_has_a_help(kind):
    assert [name for name, text in help_of(kind).items() if not text] == []


def test_what_a_run_may_change_on_resume():
    assert names_on_resume(SearchConfig, "change") == [
        "backend",
        "checkpoint_minutes",
        "data_dir",
        "device",
    ]
    assert names_on_resume(TrainConfig, "free") == ["cell", "out", "quiet", "report"]
