"""`xnas methods`: the methods that a search can use, and what each of them does."""

from __future__ import annotations

from xnas.cli.printing import say


def methods(name: str | None = None, /) -> None:
    """List the methods of a search, or describe one of them: its rule, recipe and departures.

    Parameters
    ----------
    name
        A method, as in `xnas search --method`; without it, all methods are listed.
    """
    # The help of the command does without torch, which these import.
    from xnas.cli.method_description import method_lines, method_table  # noqa: PLC0415

    say("\n".join(method_table() if name is None else method_lines(name)))
