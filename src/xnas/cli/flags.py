"""Flags of a command, made from the options that it takes.

`takes` gives a command one flag per option, with the option's help, in groups. cyclopts calls a command
with what was typed and nothing else, so a command knows which options the user gave, even where a value
equals the default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, TypeVar, get_type_hints

from cyclopts import Group, Parameter

from xnas.options import Options, flag_name, groups_of, help_of, names_on_resume

ORDER = (
    "Data",
    "Search",
    "Comparison",
    "Training",
    "Network",
    "Method",
    "Export",
    "Released weights",
    "Measurement",
    "Limits",
    "Reproduction",
    "Hardware",
)
GROUPS = {name: Group(name, sort_key=place) for place, name in enumerate((*ORDER, "Output"))}

JSON = Parameter(
    name="--json",
    negative="",
    help="Print one JSON document instead of text.",
    group=GROUPS["Output"],
)
"""The flag of commands whose results a script may want; its keys stay as they are."""

Command = TypeVar("Command", bound=Callable[..., None])


def takes(kind: type[Options]) -> Callable[[Command], Command]:
    """Give a command a flag for each option of `kind`; its `**typed` holds those that were typed."""

    def give(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True)
        kept = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        command.__signature__ = own.replace(parameters=[*kept, *_flags(kind)])  # type: ignore[attr-defined]
        return command

    return give


def _flags(kind: type[Options]) -> list[inspect.Parameter]:
    hints, helps, groups = get_type_hints(kind), help_of(kind), groups_of(kind)
    return [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=Annotated[
                hints[option.name],
                Parameter(help=helps[option.name], group=GROUPS[groups[option.name]]),
            ],
        )
        for option in fields(kind)
    ]


def resume_flag(kind: type[Options], what: str) -> Parameter:
    """The flag `--resume`, whose help names the options that may change."""
    *some, last = map(flag_name, names_on_resume(kind, "change"))
    text = (
        f"Resume the {what} in this run folder, with its own options and data. {', '.join(some)} and "
        f"{last} may be changed for this call."
    )
    return Parameter(help=text, group=GROUPS["Output"])


def changes(typed: dict[str, Any]) -> dict[str, Any]:
    """The options that were typed to change a resumed run; --quiet concerns the terminal alone."""
    return {name: value for name, value in typed.items() if name != "quiet"}
