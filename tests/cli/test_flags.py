"""Flags are made from options, and a command is called with those that were typed alone."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from cyclopts import App

from xnas import SearchConfig, TrainConfig
from xnas.cli.flags import GROUPS, changes, resume_flag, takes
from xnas.options import Options, groups_of, option


@dataclass(frozen=True, kw_only=True)
class Printing(Options):
    GROUP: ClassVar[str] = "Data"

    copies: int = option(1)
    """How many copies."""
    colour: bool = option(False, group="Output")
    """Print in colour."""


@pytest.fixture
def typed():
    app, seen = App(), {}

    @app.default
    @takes(Printing)
    def printed(page: str = "all", /, **typed: Any):
        seen.update(typed, page=page)

    def call(*words):
        seen.clear()
        app(words, exit_on_error=False, result_action="return_none")
        return dict(seen)

    return call


def test_a_command_is_called_with_what_was_typed_even_if_it_equals_the_default(typed):
    assert typed() == {"page": "all"}
    assert typed("7", "--copies", "1") == {"page": "7", "copies": 1}
    assert typed("--no-colour") == {"page": "all", "colour": False}


def test_help_has_the_options_in_their_groups(typed, capsys):
    typed("--help")
    _, data, output = capsys.readouterr().out.split("╭─")[-3:]
    assert "Data" in data
    assert "--copies" in data
    assert "How many copies. [default: 1]" in data
    assert "Output" in output
    assert "--colour --no-colour" in output


@pytest.mark.parametrize("kind", [SearchConfig, TrainConfig])
def test_every_group_of_options_has_a_place(kind):
    assert set(groups_of(kind).values()) <= GROUPS.keys()


def test_the_help_of_resume_names_what_may_change():
    help_ = resume_flag(SearchConfig, "search").help
    assert "--backend, --checkpoint-minutes, --data-dir and --device may be changed" in help_


def test_quiet_changes_no_run():
    assert changes({"quiet": True, "device": "cpu"}) == {"device": "cpu"}
