"""`xnas search`: find a cell for images."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from xnas.cli.display import SearchDisplay
from xnas.cli.show import show_genotype
from xnas.records import SearchResult
from xnas.runs import search as job
from xnas.runs.search_config import SearchConfig
from xnas.space import Genotype

DEFAULTS = SearchConfig()


def search(
    data: str = "digits",
    /,
    *,
    resume: Path | None = None,
    config: Annotated[SearchConfig, Parameter(name="*")] = DEFAULTS,
) -> None:
    """Search a cell for images: Algorithm 1 on a supernet.

    Parameters
    ----------
    data
        A dataset (digits, cifar10) or a folder of class folders; the embedded digits by default.
    resume
        Go on with the search in this run folder; its own settings hold.
    """
    with SearchDisplay(quiet=config.quiet) as display:
        if resume is not None:
            result = job.resume_search(resume, display=display)
        else:
            result = job.search(config, data, display=display)
    if not config.quiet:
        print(farewell(result))


def farewell(result: SearchResult) -> str:
    """The cell, what wiping out saved, where everything is, and what to type next."""
    lines = ["", show_genotype(Genotype.from_json(result.genotype)), ""]
    saved = _saving(result)
    lines += [saved] if saved else []
    lines += [
        f"run folder: {result.out} (genotype.json, discretization.json, metrics.jsonl, checkpoints/)",
        f"next: xnas show {result.out} --svg cell.svg",
    ]
    return "\n".join(lines)


def _saving(result: SearchResult) -> str:
    """When experts left and how much faster rounds became, in one line."""
    leavings = [e for e in result.epochs if e.deleted]
    if not leavings:
        return ""
    first, last = result.epochs[0], result.epochs[-1]
    ratio = first.cost.seconds_per_round / last.cost.seconds_per_round
    gone = sum(len(e.deleted) for e in leavings)
    return (
        f"{gone} experts were deleted, first after epoch {leavings[0].epoch} of {len(result.epochs)}; "
        f"the last epoch's rounds were {ratio:.1f} times as fast as the first's, with "
        f"{100 * last.weights_alive / first.weights_alive:.0f} % of the first's weights"
    )
