"""`xnas export`: write a trained network for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xnas.cli.flags import takes
from xnas.cli.printing import say, watched
from xnas.records import ExportResult
from xnas.report.tables import aligned_table
from xnas.runs.model_options import ExportConfig
from xnas.words import counted


@takes(ExportConfig)
def export(run: Path, /, **typed: Any) -> None:  # noqa: ANN401 - options
    """Write a trained run as ONNX and with torch.export, checked against PyTorch's answers.

    Parameters
    ----------
    run
        A training's run folder, or RUN/best for its best weights on held-out images.
    """
    from xnas.runs.export import export_run  # noqa: PLC0415 - imports torch

    config = ExportConfig(**typed)
    with watched("part", quiet=config.quiet) as advance:
        result = export_run(run, config, advance=advance)
    if not config.quiet:
        say(export_report(result))


def export_report(result: ExportResult) -> str:
    """What was written, how it was checked if it was, and how fast it answers, for the terminal."""
    from xnas.model.export import TOLERANCE  # noqa: PLC0415 - imports torch

    compared = any(file.difference is not None for file in result.files)
    files = [
        (
            file.path,
            f"{file.bytes / 1e6:,.2f} MB",
            *(["" if file.difference is None else f"{file.difference:.1e}"] if compared else []),
        )
        for file in result.files
    ]
    batches = sorted({entry.batch for entry in result.latencies})
    times = {(entry.runtime, entry.batch): entry for entry in result.latencies}
    rows = [
        (runtime, *(f"{times[runtime, batch].milliseconds:,.2f}" for batch in batches))
        for runtime in dict.fromkeys(entry.runtime for entry in result.latencies)
    ]
    checked = (
        f"answers compared with PyTorch's on {result.checked_on}; deviation: largest difference between "
        f"logits, divided by the largest logit (limit: {TOLERANCE:g})"
    )
    header = ("file", "size", *(["deviation"] if compared else []))
    return "\n".join(
        (
            *([aligned_table(header, files)] if files else []),
            *([checked] if compared else []),
            *([""] if files else []),
            aligned_table(("CPU, ms (median)", *(f"batch {batch}" for batch in batches)), rows),
            f"{counted(result.threads, 'thread')}; images go in standardised: model.json says how",
        )
    )
