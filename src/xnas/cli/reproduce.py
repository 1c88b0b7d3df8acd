"""`xnas reproduce`: the paper's figures, tables, numbers and claims, into a folder."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from xnas.cli.flags import takes
from xnas.cli.printing import say
from xnas.paper.options import NAMES, ReproduceConfig
from xnas.words import counted, printable

Item = Annotated[str, Parameter(help=f"What to make: {', '.join(NAMES)}; all by default.")]


@takes(ReproduceConfig)
def reproduce(*items: Item, **typed: Any) -> None:  # noqa: ANN401 - options
    """Make the paper's figures and tables that can be made, with their numbers, and judge its claims."""
    from xnas.paper import reproduce as job  # noqa: PLC0415 - imports torch

    config = ReproduceConfig(**typed)
    report = (lambda _: None) if config.quiet else say
    claims = job.reproduce(items, config, report)
    report(f"{counted(len(claims), 'claim')} judged in {printable(config.out / 'claims.md')}")
