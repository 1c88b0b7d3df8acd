"""`xnas reproduce`: the paper's figures, tables, numbers and claims, into a folder."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from xnas.cli.flags import takes
from xnas.paper.options import LONG, NAMES, ReproduceConfig
from xnas.words import counted, printable

Item = Annotated[
    str, Parameter(help=f"What to make: {', '.join(NAMES)}; by default all but {', '.join(LONG)}.")
]


@takes(ReproduceConfig)
def reproduce(*items: Item, **typed: Any) -> None:  # noqa: ANN401 - options
    """Make the paper's figures and tables that can be made, with their numbers, and judge its claims."""
    # The help of the command does without torch, which these import.
    from xnas.paper import reproduce as job  # noqa: PLC0415
    from xnas.runs.progress import RunProgress  # noqa: PLC0415

    config = ReproduceConfig(**typed)
    with RunProgress("item", quiet=config.quiet) as display:
        claims = job.reproduce(items, config, display.say, advance=display.advance)
    display.say(f"{counted(len(claims), 'claim')} judged in {printable(config.out / 'claims.md')}")
