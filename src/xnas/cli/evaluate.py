"""`xnas evaluate`: test a trained network."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from xnas.cli.flags import JSON, takes
from xnas.cli.printing import say, say_document, watched
from xnas.report.evaluation import MOST_DRAWN, class_table, summary
from xnas.runs.model_options import EvaluateConfig
from xnas.words import printable


@takes(EvaluateConfig)
def evaluate(
    run: Path,
    data: str | None = None,
    /,
    *,
    as_json: Annotated[bool, JSON] = False,
    **typed: Any,  # noqa: ANN401 - options
) -> None:
    """Test a trained run: error, accuracy of each class, confusions, calibration.

    Parameters
    ----------
    run
        A training's run folder, or RUN/best for its best weights on held-out images. With --cell: a file
        of weights that the paper's authors released.
    data
        A dataset or a folder of class folders with the run's classes; by default the run's own data.
    """
    from xnas.runs.evaluate import evaluate_run  # noqa: PLC0415 - imports torch

    config = EvaluateConfig(**typed)
    with watched("image", quiet=config.quiet) as advance:
        done = evaluate_run(run, data, config, advance=advance)
    if as_json:
        written = [str(file) for file in done.files]
        record = asdict(done.evaluation) | {"notes": done.notes, "files": written}
        say_document("evaluate", {"data": done.data} | record)
        return
    if config.quiet:
        return
    say(f"{printable(done.data)}: {summary(done.evaluation)}\n\n{class_table(done.evaluation)}\n")
    if len(done.evaluation.classes) > MOST_DRAWN:
        say(f"note: confusions of over {MOST_DRAWN} classes are not drawn")
    for note in done.notes:
        say(f"note: {printable(note)}")
    if done.files:
        say(f"written: {', '.join(map(printable, done.files))}")
