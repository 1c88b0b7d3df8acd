"""`xnas reproduce`: the paper's figures, numbers and claims, into a folder."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from xnas.report.tables import counted
from xnas.runs import reproduce as job
from xnas.runs.reproduce import ReproduceConfig

DEFAULTS = ReproduceConfig()


def reproduce(*items: str, config: Annotated[ReproduceConfig, Parameter(name="*")] = DEFAULTS) -> None:
    """Make the paper's figures that can be made, with their numbers, and judge its claims.

    Parameters
    ----------
    items
        What to make: forecaster, toy-3d, toy-2d, attenuation, stochastic, adam, memory; all by default.
    """
    tell = (lambda _: None) if config.quiet else print
    claims = job.reproduce(items, config, tell)
    tell(f"{counted(len(claims), 'claim')} judged in {config.out / 'claims.md'}")
