"""`xnas train`: train the network of a cell."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from xnas.cli.flags import changes, resume_flag, takes
from xnas.cli.printing import report_lines, say
from xnas.errors import ConfigError, FinishedError
from xnas.process.interrupt import finish
from xnas.runs.train_config import TrainConfig, TrainOptions

if TYPE_CHECKING:
    from xnas.runs.folds import FoldsResult
    from xnas.runs.results import TrainResult

RESUME = resume_flag(TrainOptions, "training")


@takes(TrainOptions)
def train(
    cell: str | None = None,
    data: str | None = None,
    /,
    *,
    resume: Annotated[Path | None, RESUME] = None,
    **typed: Any,  # noqa: ANN401 - options
) -> None:
    """Run a training, or resume one, and print its test error.

    Parameters
    ----------
    cell
        The run folder of a search or of another training, a genotype file, a published cell (`xnas show
        --zoo` lists them), xnas_small, xnas_medium or xnas_large. Also a wiring by file or name
        (ws-4-0.75-0: generator, parameters, seed), or a residual network (resnet-20).
    data
        A folder of images (one folder per class, or a table of labels), or a dataset (`xnas data` lists
        them). Default: the images of the run that the cell comes from; for other cells the digits.
    """
    # The help of the command does without torch, which these import.
    from xnas.engine.distributed import speaks  # noqa: PLC0415
    from xnas.runs import folds  # noqa: PLC0415
    from xnas.runs import train as job  # noqa: PLC0415
    from xnas.runs.fold_folders import is_set_of_folds  # noqa: PLC0415
    from xnas.runs.progress import TrainProgress  # noqa: PLC0415
    from xnas.runs.sources import data_of  # noqa: PLC0415
    from xnas.space.architecture import run_of  # noqa: PLC0415

    quiet = typed.get("quiet", False) or not speaks()
    if resume is not None and cell is None and is_set_of_folds(resume):
        _end(folds.resume_folds(resume, quiet=quiet, **changes(typed)), quiet=quiet)
        return
    if resume is None and cell is not None and typed.get("fold") == folds.EVERY:
        config = TrainConfig(**typed | {"quiet": quiet}, cell=cell)
        _end(folds.train_folds(config, data or data_of(run_of(cell))), quiet=quiet)
        return
    with TrainProgress(quiet=quiet) as display:
        if resume is not None:
            if cell is not None:
                raise ConfigError(f"--resume uses the cell and the images of the run; leave {cell} out")
            try:
                result = job.resume_training(resume, display=display, **changes(typed))
            except FinishedError as end:
                display.say(f"{end}; {_next(str(resume))}")
                return
        elif cell is None:
            raise ConfigError("no cell to train; give a name of `xnas show --zoo`, a file or a run")
        else:
            result = job.train(TrainConfig(**typed, cell=cell), data, display=display)
    finish()
    if not quiet:
        say(farewell(result))


def _end(result: FoldsResult, *, quiet: bool) -> None:
    finish()
    if not quiet:
        say(fold_lines(result))


def fold_lines(result: FoldsResult) -> str:
    """The mean and the spread of the test errors of all folds, and where they are."""
    each = ", ".join(f"{100 * error:.2f}" for error in result.errors)
    return (
        f"\ntest error {100 * result.mean:.2f} ± {100 * result.deviation:.2f} % (mean and standard "
        f"deviation of {len(result.errors)} folds: {each})\n"
        f"run folders: {result.out} (fold-0 to fold-{len(result.errors) - 1}, folds.json)"
    )


def farewell(result: TrainResult) -> str:
    """Test error, size, run folder, and the next command."""
    lines = [""]
    if result.test is not None:
        top5 = ""
        if result.test.top5 is not None:
            top5 = f", top-5 error {100 * (1 - result.test.top5):.2f} %"
        lines.append(
            f"test error {100 * (1 - result.test.top1):.2f} %{top5} on {result.test.images:,} images, "
            f"calibration error {100 * result.test.calibration_error:.1f} %"
        )
    best = max(result.epochs, key=lambda e: e.valid_accuracy or 0.0)  # of equals the first, as is kept
    if best.valid_accuracy is not None:
        lines.append(
            f"best weights by the held-out images: {Path(result.out) / 'best'}, of epoch {best.epoch} "
            f"with {100 * best.valid_accuracy:.2f} %; evaluate, predict and export also take that folder"
        )
    seconds = sum(epoch.cost.seconds for epoch in result.epochs)
    size = f"{result.parameters:,} parameters, {result.macs / 1e6:,.1f} M multiply-accumulates"
    lines += [
        f"{size}, {seconds:,.0f} s of training",
        f"run folder: {result.out} (model.json, model.safetensors, test.json, metrics.jsonl)",
        *report_lines(result.out),
        _next(result.out),
    ]
    return "\n".join(lines)


def _next(out: str) -> str:
    return f"next: xnas export {quote(out)}"
