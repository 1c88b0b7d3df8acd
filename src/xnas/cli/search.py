"""`xnas search`: find a cell for images."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from xnas.cli.flags import changes, resume_flag, takes
from xnas.cli.printing import report_lines, say
from xnas.errors import ConfigError, FinishedError
from xnas.process.interrupt import finish
from xnas.runs.search_config import SearchConfig

if TYPE_CHECKING:
    from xnas.runs.results import SearchResult

RESUME = resume_flag(SearchConfig, "search")


@takes(SearchConfig)
def search(
    data: str | None = None,
    /,
    *,
    resume: Annotated[Path | None, RESUME] = None,
    **typed: Any,  # noqa: ANN401 - options
) -> None:
    """Run a search, or resume one, and print the cell.

    Parameters
    ----------
    data
        A folder of images (one folder per class, or a table of labels), or a dataset (`xnas data` lists
        them). Default: scikit-learn's digits.
    """
    # The help of the command does without torch, which these import.
    from xnas.engine.distributed import speaks  # noqa: PLC0415
    from xnas.runs import search as job  # noqa: PLC0415
    from xnas.runs.config_file import images_of  # noqa: PLC0415
    from xnas.runs.progress import SearchProgress  # noqa: PLC0415
    from xnas.runs.sources import EMBEDDED  # noqa: PLC0415

    quiet = typed.get("quiet", False) or not speaks()
    with SearchProgress(quiet=quiet) as display:
        if resume is not None:
            if data is not None:
                raise ConfigError(f"--resume uses the images of the run; leave {data} out")
            try:
                result = job.resume_search(resume, display=display, **changes(typed))
            except FinishedError as end:
                display.say(f"{end}; {_next(str(resume), images_of(resume))}")
                return
            given = images_of(resume)
        else:
            given = data or EMBEDDED
            result = job.search(SearchConfig(**typed), given, display=display)
    finish()
    if not quiet:
        say(farewell(result, given))


def farewell(result: SearchResult, data: str | None) -> str:
    """The cell, how much faster wipeout made the search, the run folder, and the next command."""
    from xnas.cli.cell_description import show_genotype  # noqa: PLC0415 - imports torch

    lines = ["", show_genotype(result.genotype), ""]
    saved = _saving(result)
    lines += [saved] if saved else []
    lines += [
        f"run folder: {result.out} (genotype.json, discretization.json, metrics.jsonl, checkpoints/)",
        "the cell is the result: a network built from it is trained from scratch",
        *report_lines(result.out),
        _next(result.out, data),
    ]
    return "\n".join(lines)


def _next(out: str, data: str | None) -> str:
    return f"next: xnas train {quote(out)} {quote(data or 'DATA')}"


def _saving(result: SearchResult) -> str:
    """When operations were removed, and how much faster rounds became, in one line."""
    leavings = [e for e in result.epochs if e.deleted]
    if not leavings:
        return ""
    first, last = leavings[0], result.epochs[-1]
    if first is last:
        return ""
    ratio = first.cost.seconds_per_round / last.cost.seconds_per_round
    gone = sum(len(e.deleted) for e in leavings)
    left = sum(result.epochs[-2].experts_alive.values())
    return (
        f"{gone} experts were deleted, first after epoch {first.epoch} of {len(result.epochs)}; the "
        f"last epoch's rounds, with {left} of {gone + sum(last.experts_alive.values())} experts, were "
        f"{ratio:.1f} times as fast as those of epoch {first.epoch}"
    )
