"""`xnas evaluate`: how a trained network answers on test images."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from xnas.report.evaluation import MOST_DRAWN, class_table, summary
from xnas.runs.evaluate import EvaluateConfig, evaluate_run

DEFAULTS = EvaluateConfig()


def evaluate(
    run: Path,
    data: str | None = None,
    /,
    *,
    config: Annotated[EvaluateConfig, Parameter(name="*")] = DEFAULTS,
) -> None:
    """Test a trained run: error, accuracy of each class, confusions, calibration.

    Parameters
    ----------
    run
        The run folder of a training, or RUN/best, its best weights by the images held back; with --cell,
        a file of weights that the paper's authors released.
    data
        A dataset or a folder of class folders with the run's classes; by default the run's own data.
    """
    done = evaluate_run(run, data, config)
    if config.quiet:
        return
    print(f"{done.data}: {summary(done.evaluation)}\n\n{class_table(done.evaluation)}\n")
    if len(done.evaluation.classes) > MOST_DRAWN:
        print(f"note: confusions of over {MOST_DRAWN} classes are not drawn")
    for note in done.notes:
        print(f"note: {note}")
    if done.files:
        print(f"written: {', '.join(map(str, done.files))}")
