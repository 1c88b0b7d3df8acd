"""`xnas methods`: the methods that a search can use, and what each of them does."""

from __future__ import annotations

from typing import Annotated

from xnas.cli.flags import JSON
from xnas.cli.printing import say, say_document


def methods(name: str | None = None, /, *, as_json: Annotated[bool, JSON] = False) -> None:
    """List the search methods, or describe one: its rule, recipe and departures.

    Parameters
    ----------
    name
        A method, as in `xnas search --method`; without it, all methods are listed.
    """
    # The help of the command does without torch, which these import.
    from xnas.cli.method_description import method_lines, method_table  # noqa: PLC0415
    from xnas.cli.method_record import method_list, method_record  # noqa: PLC0415

    if as_json:
        say_document("methods", method_list() if name is None else method_record(name))
    else:
        say("\n".join(method_table() if name is None else method_lines(name)))
