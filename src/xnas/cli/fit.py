"""`xnas fit`: from images and a budget of time to a compared, tested and exported model."""

from __future__ import annotations

import sys
from contextlib import ExitStack, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from xnas.cli.flags import JSON, changes, resume_flag, takes
from xnas.cli.printing import report_lines, report_of, say, say_document
from xnas.errors import ConfigError, FinishedError
from xnas.process.interrupt import finish
from xnas.runs.fit.config import FitConfig

if TYPE_CHECKING:
    from xnas.runs.results import FitResult

RESUME = resume_flag(FitConfig, "fit")


@takes(FitConfig)
def fit(
    data: str | None = None,
    /,
    *,
    resume: Annotated[Path | None, RESUME] = None,
    as_json: Annotated[bool, JSON] = False,
    **typed: Any,  # noqa: ANN401 - options
) -> None:
    """Run a fit, or resume one, and print how its networks compare.

    Parameters
    ----------
    data
        A folder of images (one folder per class, or a table of labels), or a dataset (`xnas data` lists
        them). Default: scikit-learn's digits.
    """
    # The help of the command does without torch, which these import.
    from xnas.runs.fit import fit as job  # noqa: PLC0415
    from xnas.runs.fit.progress import FitProgress  # noqa: PLC0415

    quiet = typed.get("quiet", False)
    with ExitStack() as shown:
        if as_json:  # standard output has the document alone
            shown.enter_context(redirect_stdout(sys.stderr))
        display = shown.enter_context(FitProgress(quiet=quiet))
        if resume is not None:
            if data is not None:
                raise ConfigError(f"--resume uses the images of the run; leave {data} out")
            try:
                result = job.resume_fit(resume, display=display, **changes(typed))
            except FinishedError as end:
                display.say(f"{end}; {_next(str(resume))}")
                if not as_json:
                    return
                result = _finished(resume)
        else:
            result = job.fit(FitConfig(**typed), data, display=display)
    finish()
    if as_json:
        say_document("fit-result", {**asdict(result), "report": report_of(result.out)})
    elif not quiet:
        say(farewell(result))


def _finished(out: Path) -> FitResult:
    """What the files of a finished fit say."""
    from xnas.runs.fit.plan_file import read_plan, read_summary  # noqa: PLC0415
    from xnas.runs.results import FitResult  # noqa: PLC0415 - imports torch

    summary = read_summary(out)
    seconds = sum(summary.cost.stages.values())
    return FitResult(out=str(out), plan=read_plan(out), summary=summary, seconds=seconds)


def farewell(result: FitResult) -> str:
    """The table, what it says, the test, the files and the next command."""
    from xnas.report.fitting import SECONDS, WEIGHTS, fit_table, verdict  # noqa: PLC0415
    from xnas.runs.fit.punctuality import time_line  # noqa: PLC0415

    summary, test = result.summary, result.summary.test
    lines = ["", fit_table(summary.rows, summary.missing), ""]
    lines.append(
        f"validation on {summary.images:,} images that no training saw, {WEIGHTS}, with 95 % intervals; "
        f"latency of one image on {result.winner.cost.latency.device}"
    )
    lines += [SECONDS] * any(row.name == "found" for row in summary.rows)
    lines += verdict(summary)
    if test is None:
        lines.append("there are no test images; accuracy on other images may be lower than validation")
    else:
        lines.append(f"its test accuracy: {100 * test.top1:.2f} % of {test.images:,} images")
    files = ", ".join(("model.json", "model.safetensors", *summary.files))
    lines += [
        f"{result.seconds / 60:.1f} of {result.plan.minutes:g} minutes",
        *time_line(result.plan, summary.cost.stages, result.seconds),
        f"run folder: {result.out} ({files}, plan.json, fit.json)",
        *report_lines(result.out),
        _next(result.out),
    ]
    return "\n".join(lines)


def _next(out: str) -> str:
    return f"next: xnas predict {quote(out)} IMAGE"
