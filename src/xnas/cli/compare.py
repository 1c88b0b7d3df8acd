"""`xnas compare`: methods and samplers with several seeds, by one measure."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from xnas.cli.flags import JSON, changes, resume_flag, takes
from xnas.cli.printing import report_lines, report_of, say, say_document
from xnas.errors import ConfigError, XnasError
from xnas.process.interrupt import finish
from xnas.runs.comparison.config import CompareOptions
from xnas.words import counted

if TYPE_CHECKING:
    from xnas.runs.comparison.compare import CompareResult

RESUME = resume_flag(CompareOptions, "comparison")


@takes(CompareOptions)
def compare(
    *data: str,
    resume: Annotated[Path | None, RESUME] = None,
    as_json: Annotated[bool, JSON] = False,
    **typed: Any,  # noqa: ANN401 - options
) -> None:
    """Run a comparison, or resume one, and print its tables.

    Exits with status 2 if runs failed; the others are compared nevertheless.

    Parameters
    ----------
    data
        Datasets or folders of images, or a TOML file that describes the comparison; options given here
        override its settings. Default: scikit-learn's digits, if entries are named.
    """
    # The help of the command does without torch, which these import.
    from xnas.runs.comparison import compare as job  # noqa: PLC0415

    quiet = typed.get("quiet", False)
    with ExitStack() as stack:
        shown: dict[str, Any] = {}
        if as_json:  # standard output has the document alone
            from xnas.runs.comparison.display import CompareProgress  # noqa: PLC0415

            shown["display"] = stack.enter_context(CompareProgress(quiet=quiet, stderr=True))
        if resume is not None:
            if data:
                raise ConfigError(f"--resume uses the data of the comparison; leave {data[0]} out")
            result = job.resume_comparison(resume, quiet=quiet, **shown, **changes(typed))
        else:
            given = data[0] if len(data) == 1 else list(data) or None
            result = job.compare(given, **shown, **typed)
    finish()
    if as_json:
        place = {"out": result.out, "report": report_of(result.out)}
        say_document("compare", place | asdict(result.comparison))
    elif not quiet:
        say(farewell(result))
    failed = result.comparison.failed
    if failed:
        raise XnasError(
            f"{counted(failed, 'run')} of {len(result.comparison.runs)} failed, for the reasons in "
            f"{Path(result.out) / 'comparison.md'}; xnas compare --resume {quote(result.out)} tries "
            f"{'it' if failed == 1 else 'them'} again"
        )


def farewell(result: CompareResult) -> str:
    """The tables, what they say, and where they are."""
    from xnas.report.comparison import difference_table, failures, summary_table  # noqa: PLC0415
    from xnas.report.comparison_rows import verdicts  # noqa: PLC0415

    found = result.comparison
    lines = ["", summary_table(found)]
    if found.random_mean:
        means = ", ".join(f"{mean:.2f} %" for mean in found.random_mean.values())
        lines += ["", f"random cells ({found.random_words}): {means}"]
    if found.differences:
        lines += ["", f"compared with {found.reference}:", "", difference_table(found)]
    if found.test is not None:
        lines += ["", *verdicts(found), f"({found.test}; p corrected by Holm)"]
    lines += [*([""] if found.failed else []), *failures(found)]
    lines += [
        "",
        f"folder: {result.out} (comparison.md, .csv, .tex, .json, runs.csv, figures/, runs/)",
        *report_lines(result.out),
    ]
    return "\n".join(lines)
