"""`xnas report`: the page of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from xnas.cli.printing import say, say_document, warn
from xnas.errors import ConfigError
from xnas.words import counted, printable


def report(
    run: Path,
    /,
    *,
    watch: Annotated[bool, Parameter(negative="")] = False,
    open_: Annotated[bool, Parameter(name="--open", negative="")] = False,
    figures: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Write report.html into the folder of a run, whether it is running, was stopped or is finished.

    What is damaged or missing is a warning, and the page shows what is left.

    Parameters
    ----------
    run
        The folder of a search, a training, a sampling, a fit or a comparison.
    watch
        While the run is active, rewrite the page after every epoch; an open page reloads itself.
    open_
        Open the page in a browser.
    figures
        Also write the charts and the cell into this folder, as SVG, PNG and PDF.
    as_json
        Print one JSON document instead of text: the paths that were written, kind and state of the run,
        and its faults.
    """
    from xnas.runs.reports.chart_script import HINT, chart_script  # noqa: PLC0415 - imports torch
    from xnas.runs.reports.write import watch_report, written_report  # noqa: PLC0415

    if as_json and watch:
        raise ConfigError("--json prints one document, got --watch with it; leave one out")
    written = written_report(run)
    files = _figures(run, figures)
    for fault in written.faults:
        warn(fault)
    if as_json:
        say_document(
            "report",
            {
                "run": str(run),
                "report": str(written.page),
                "kind": written.kind,
                "state": written.state,
                "faults": list(written.faults),
                "figures": [str(file) for file in files],
            },
        )
    else:
        say(f"report: {printable(written.page)}")
        if chart_script() is None:
            say(HINT)
        if figures is not None:
            say(f"written: {counted(len(files), 'figure file')} in {printable(figures)}")
    if open_:
        _open(written.page)
    if watch:
        times, state = watch_report(run)
        say(f"the run is {state}; its page was written {counted(times, 'time')}")


def _figures(run: Path, folder: Path | None) -> tuple[Path, ...]:
    if folder is None:
        return ()
    from xnas.runs.reports.figures import write_figures  # noqa: PLC0415 - imports matplotlib

    return write_figures(run, folder)


def _open(page: Path) -> None:
    import webbrowser  # noqa: PLC0415

    if not webbrowser.open(page.resolve().as_uri()):
        raise ConfigError(f"no browser could be opened; open {page} yourself")
