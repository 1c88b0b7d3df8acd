"""How a long job says how far it is: it calls an `Advance` after each of its parts."""

from __future__ import annotations

from collections.abc import Callable

Advance = Callable[[int, int], None]
"""Called with the number of parts that are done and that of all."""


def unwatched(_done: int, _total: int) -> None:
    """Show nothing."""
