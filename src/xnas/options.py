"""Options: each is one field of a dataclass, with its help, its bounds and its behaviour on resume.

    class DataOptions(Options):
        image_size: int | None = option(None, at_least(8))
        '''Height and width of the images.'''

The docstring under a field is the help of its flag. Classes of options are mix-ins: a command inherits
those that it understands, so that an option which several commands take is declared once. Values are
checked when an object is made, whether they come from the command line, from Python or from a file.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from reprlib import repr as brief
from types import UnionType
from typing import Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from xnas.errors import ConfigError
from xnas.words import alternatives

LARGEST = 1 << 63  # no tensor, and no generator, holds more

OnResume = Literal["fixed", "free", "change"]
"""`fixed`: says which rounds a run plays, so that a checkpoint made with another value is refused.
`free`: does not, but cannot be given when a run is resumed. `change`: may be given then."""
THE_COMMANDS = "the command's"
"""A group of `--help`: that of the command's own class, whichever mix-in declares the option."""

C = TypeVar("C", bound="Options")


@dataclass(frozen=True, slots=True)
class Bound:
    """A condition on a number; `words` complete the sentence "NAME must ..."."""

    words: str
    holds: Callable[[float], bool]


def at_least(least: int) -> Bound:
    """Numbers from `least` on."""
    return Bound(f"be at least {least}", lambda value: value >= least)


def at_most(most: int) -> Bound:
    """Numbers up to `most`."""
    return Bound(f"be at most {most:,}", lambda value: value <= most)


POSITIVE = Bound("be positive and finite", lambda value: 0 < value < math.inf)
NOT_NEGATIVE = Bound("be 0 or more and finite", lambda value: 0 <= value < math.inf)
SHARE = Bound("lie in [0, 1)", lambda value: 0 <= value < 1)


def option(
    default: Any,  # noqa: ANN401 - as `dataclasses.field`
    *bounds: Bound,
    on_resume: OnResume = "fixed",
    group: str | None = None,
) -> Any:  # noqa: ANN401
    """Declare a field of a class of options; `group` places its flag in a group of `--help`."""
    return field(default=default, metadata={"bounds": bounds, "on_resume": on_resume, "group": group})


class _Given:
    """A place for the names that options were given, which is no attribute that `vars` shows."""

    __slots__ = ("_given",)
    _given: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Options(_Given):
    """Base of all classes of options: checks every value when an object is made.

    An object remembers which options it was given, as a given value may equal the default.
    `dataclasses.replace` gives all of them; then those count that differ from their default.
    """

    GROUP: ClassVar[str] = "Options"
    """Group of `--help` for the fields that a class declares."""

    def __new__(cls, **given: Any) -> Self:  # noqa: ANN401 - options
        """Remember the names; `__init__` gets the values."""
        made = super().__new__(cls)
        defaults = {declared.name: declared.default for declared in fields(cls)}
        if given.keys() == defaults.keys():
            given = {name: value for name, value in given.items() if value != defaults[name]}
        object.__setattr__(made, "_given", frozenset(given))
        return made

    def __getstate__(self) -> tuple[dict[str, Any], frozenset[str]]:
        """Values and names, for copies and other processes."""
        return vars(self), self._given

    def __setstate__(self, state: tuple[dict[str, Any], frozenset[str]]) -> None:
        """Fill an object that is not initialised."""
        vars(self).update(state[0])
        object.__setattr__(self, "_given", state[1])

    def __post_init__(self) -> None:
        hints = self._types()
        for declared in fields(self):
            kinds, value = _kinds(hints[declared.name]), getattr(self, declared.name)
            if Path in kinds and str not in kinds and isinstance(value, str):
                value = Path(value)
                object.__setattr__(self, declared.name, value)
            if not any(_is_of(value, kind) for kind in kinds):
                wanted = kinds_in_words(hints[declared.name])
                raise ConfigError(f"{flag_name(declared.name)} must be {wanted}, got {brief(value)}")
            if isinstance(value, int) and abs(value) >= LARGEST:
                limit = "above -2^63" if value < 0 else "below 2^63"
                raise ConfigError(f"{flag_name(declared.name)} must be {limit}, got {brief(value)}")
            require_within(declared.name, value, *declared.metadata.get("bounds", ()))

    @classmethod
    def _types(cls) -> dict[str, Any]:
        """Types of the fields, by name; to override where an annotation is imported for mypy alone."""
        return get_type_hints(cls)


def require_within(name: str, value: object, *bounds: Bound) -> None:
    """Raise if a number is out of its bounds; other values, such as None, pass."""
    for bound in bounds:
        if isinstance(value, int | float) and not bound.holds(value):
            raise ConfigError(f"{flag_name(name)} must {bound.words}, got {brief(value)}")


def flag_name(name: str) -> str:
    """An option as messages and the command line name it: `--batch-size` for `batch_size`."""
    return f"--{name.replace('_', '-')}"


def names_on_resume(kind: type[Options], *behaviours: OnResume) -> list[str]:
    """Names of the options that behave so when a run is resumed, sorted."""
    return sorted(f.name for f in fields(kind) if f.metadata.get("on_resume", "fixed") in behaviours)


def fixed_settings(kind: type[Options], saved: Mapping[str, Any]) -> dict[str, Any]:
    """Of the settings that a run has saved, those that say which rounds it plays."""
    others = names_on_resume(kind, "free", "change")
    return {name: value for name, value in saved.items() if name not in others}


def saved_options(kind: type[C], saved: Mapping[str, Any], changes: Mapping[str, Any]) -> C:
    """The options that a run has saved in its config.json, with `changes` for one call alone."""
    known, free = {f.name for f in fields(kind)}, names_on_resume(kind, "change")
    for name in changes:
        if name not in free:
            fault = "a resumed run keeps its {}" if name in known else "a run has no setting {}"
            raise ConfigError(
                f"{fault.format(flag_name(name))}; leave it out: only "
                f"{', '.join(map(flag_name, free))} may change"
            )
    unknown = [name for name in saved if name not in known]
    if unknown:
        raise ConfigError(
            f"config.json has the setting {brief(unknown[0])}, which this version of xnas does not "
            "know; resume the run with the version that wrote it, or start a new one"
        )
    try:
        kind(**{name: value for name, value in saved.items() if name not in changes})
    except ConfigError as error:
        raise ConfigError(f"a setting in config.json cannot be used: {error}; restore it") from error
    return kind(**{**saved, **changes})


def given_options(options: Options) -> list[str]:
    """Names of the options that an object was given, in the order of their declaration."""
    return [declared.name for declared in fields(options) if declared.name in options._given]


def widened(kind: type[C], shared: type[Options], options: Options) -> C:
    """Options of `kind` with the values of `options` for those of `shared`, a mix-in of both."""
    made = kind(**{declared.name: getattr(options, declared.name) for declared in fields(shared)})
    object.__setattr__(made, "_given", options._given)
    return made


def changed(options: C, **changes: Any) -> C:  # noqa: ANN401 - options
    """`options` with `changes`, which do not count as given by the user."""
    made = replace(options, **changes)
    object.__setattr__(made, "_given", options._given)
    return made


def inherited(options: C, shared: type[Options], saved: Mapping[str, Any]) -> C:
    """`options` with the saved value for each of `shared` that is at its default and was not given."""
    kept = {
        declared.name: saved[declared.name]
        for declared in fields(shared)
        if declared.name in saved
        and declared.name not in options._given
        and getattr(options, declared.name) == declared.default
    }
    try:
        return changed(options, **kept)
    except ConfigError as error:
        raise ConfigError(f"a setting in config.json cannot be used: {error}; restore it") from error


def groups_of(kind: type[Options]) -> dict[str, str]:
    """The group of `--help` of each option, by name: its own, or that of the class that declares it."""
    found = {f.name: f.metadata.get("group") or owner.GROUP for owner, f in _declarations(kind)}
    return {name: kind.GROUP if group == THE_COMMANDS else group for name, group in found.items()}


def help_of(kind: type[Options]) -> dict[str, str]:
    """The help of each option, by name: the docstring under its field."""
    declared = list(_declarations(kind))
    texts = {owner: _docstrings(owner) for owner in {owner for owner, _ in declared}}
    return {f.name: texts[owner].get(f.name, "") for owner, f in declared}


def _declarations(kind: type[Options]) -> Iterator[tuple[type[Options], Field[Any]]]:
    """Each field with the class that declares it, in the order of the fields."""
    owners = [owner for owner in kind.__mro__ if issubclass(owner, Options)]
    for declared in fields(kind):
        yield next(o for o in owners if declared.name in vars(o).get("__annotations__", ())), declared


def _docstrings(kind: type) -> dict[str, str]:
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    found = {}
    statements = body.body if isinstance(body, ast.ClassDef) else []
    for statement, following in pairwise(statements):
        text = following.value if isinstance(following, ast.Expr) else None
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(text, ast.Constant)
        ):
            found[statement.target.id] = " ".join(str(text.value).split())
    return found


def kinds_in_words(hint: Any, *, unset: bool = True) -> str:  # noqa: ANN401 - any annotation
    """What an annotation allows, in words; without `unset`, None is left out."""
    kinds = (kind for kind in _kinds(hint) if unset or kind is not type(None))
    return alternatives([name for kind in kinds for name in _names_of(kind)])


def _kinds(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any annotation
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is_of(value: object, kind: Any) -> bool:  # noqa: ANN401 - any annotation
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, int | float if kind is float else get_origin(kind) or kind)


def _names_of(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 - any annotation
    if get_origin(kind) is Literal:
        return get_args(kind)
    words: dict[Any, str] = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        type(None): "None",
    }
    return (words.get(kind, getattr(kind, "__name__", str(kind))),)
