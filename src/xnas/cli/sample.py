"""`xnas sample`: find a cell by evaluating whole cells."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from xnas.cli.flags import GROUPS, changes, resume_flag, takes
from xnas.cli.printing import report_lines, say, say_document
from xnas.errors import ConfigError, FinishedError
from xnas.process.interrupt import finish
from xnas.runs.sampling.config import SampleConfig

if TYPE_CHECKING:
    from xnas.runs.results import SampleResult

RESUME = resume_flag(SampleConfig, "search")
LIST = Parameter(
    name="--list",
    negative="",
    help="List all samplers with their settings, evaluators and pools instead.",
    group=GROUPS["Search"],
)
JSON_LIST = Parameter(
    name="--json",
    negative="",
    help="With --list: print one JSON document instead of text.",
    group=GROUPS["Output"],
)


@takes(SampleConfig)
def sample(
    data: str | None = None,
    /,
    *,
    resume: Annotated[Path | None, RESUME] = None,
    parts: Annotated[bool, LIST] = False,
    as_json: Annotated[bool, JSON_LIST] = False,
    **typed: Any,  # noqa: ANN401 - options
) -> None:
    """Run a search by sampling, or resume one, and print the best cells.

    Parameters
    ----------
    data
        A folder of images (one folder per class, or a table of labels), or a dataset (`xnas data` lists
        them). Default: scikit-learn's digits. For the evaluators table and surrogate: a data set of the
        benchmark, by default cifar10.
    """
    if parts:
        _list_parts(data is not None or resume is not None or bool(typed), as_json=as_json)
        return
    if as_json:
        raise ConfigError("--json belongs to --list; a search writes ledger.jsonl and curve.json")
    # The help of the command does without torch, which these import.
    from xnas.runs.config_file import images_of  # noqa: PLC0415
    from xnas.runs.sampling import sample as job  # noqa: PLC0415
    from xnas.runs.sampling.progress import SampleProgress  # noqa: PLC0415

    quiet = typed.get("quiet", False)
    with SampleProgress(quiet=quiet) as display:
        if resume is not None:
            if data is not None:
                raise ConfigError(f"--resume uses the data of the run; leave {data} out")
            try:
                result = job.resume_sampling(resume, display=display, **changes(typed))
            except FinishedError as end:
                display.say(f"{end}; {_next(str(resume), images_of(resume))}")
                return
        else:
            result = job.sample(SampleConfig(**typed), data, display=display)
    finish()
    if not quiet:
        say(farewell(result, images_of(Path(result.out))))


def _list_parts(more: bool, *, as_json: bool) -> None:  # noqa: FBT001
    from xnas.cli.sample_description import part_lines, part_record  # noqa: PLC0415 - imports torch

    if more:
        raise ConfigError("--list prints what there is and begins no search; leave the rest out")
    if as_json:
        say_document("sample-list", part_record())
    else:
        say("\n".join(part_lines()))


def farewell(result: SampleResult, data: str | None) -> str:
    """The best cells, those that nothing beats in size and accuracy, the best one, the next command."""
    from xnas.cli.cell_description import show_genotype  # noqa: PLC0415 - imports torch
    from xnas.report.sampling import (  # noqa: PLC0415
        best_cells,
        cells_table,
        evaluations_line,
        pareto_front,
        rung_text,
    )
    from xnas.report.truths import place_text, truth_text  # noqa: PLC0415

    records = result.evaluations
    best, front = best_cells(records), pareto_front(records)
    others = [record for record in front if record not in best]
    there = " of these" if rung_text(records) else ""
    lines = ["", f"{evaluations_line(records)}; the best cells{there}:", "", cells_table(records, best)]
    if others:
        lines += ["", "the rest of the front of accuracy and size:", "", cells_table(records, others)]
    lines += ["", show_genotype(result.genotype), ""]
    if result.truth is not None:
        lines.append(f"the best cell: {truth_text(result.truth)}, {place_text(result.truth)}")
    lines += [
        f"run folder: {result.out} (genotype.json, ledger.jsonl, curve.json, figures/)",
        *report_lines(result.out),
        _next(result.out, data),
    ]
    return "\n".join(lines)


def _next(out: str, data: str | None) -> str:
    return f"next: xnas train {quote(out)} {quote(data or 'DATA')}"
