"""Things found by name, which a user's code can add to.

Search spaces, operations and methods are looked up in registries, and ours are registered the way a
user's are:

    SPACES.add("mine", SearchSpace("mine", operations=("sep_conv_3x3", "skip_connect")))

    @OPERATIONS.register("swish")
    def swish(...): ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TypeVar

from xnas.errors import ConfigError, UnknownNameError
from xnas.words import alternatives

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """A mapping from names to one kind of thing. Names stay in the order in which they were added."""

    def __init__(self, kind: str) -> None:
        """`kind` is the word that messages use for an entry, as in `search space`."""
        self.kind = kind
        self._entries: dict[str, T] = {}

    def add(self, name: str, value: T, *, replace: bool = False) -> None:
        """Register `value`; `replace` an entry of that name, as when a cell of a notebook runs again."""
        if not name:
            raise ConfigError(f"a {self.kind} needs a name to be found by, got {name!r}")
        if name in self._entries and not replace:
            raise ConfigError(
                f"a {self.kind} called {name!r} is registered already; choose another name, or pass "
                "replace=True"
            )
        self._entries[name] = value

    def register(self, name: str, *, replace: bool = False) -> Callable[[T], T]:
        """Register what is decorated, and leave it as it is."""

        def keep(value: T) -> T:
            self.add(name, value, replace=replace)
            return value

        return keep

    def __getitem__(self, name: str) -> T:
        try:
            return self._entries[name]
        except KeyError:
            known = known_names(name, self._entries)
            raise UnknownNameError(f"no {self.kind} called {name!r:.100}; {known}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Registry({self.kind!r}: {', '.join(self._entries)})"


def known_names(name: str, names: Iterable[str]) -> str:
    """What to take instead of a name that is not there: the nearest ones first, then all."""
    known = tuple(names)
    return f"{near_names(name, known)}there are: {', '.join(known) or 'none yet'}"


def near_names(name: str, names: Iterable[str]) -> str:
    """A question with the nearest names; empty if none is near.

    >>> near_names("epoch", ["epochs", "channels"])
    'did you mean epochs? '
    """
    near = get_close_matches(str(name).lower(), tuple(names), n=3)
    return f"did you mean {alternatives(near)}? " if near else ""
