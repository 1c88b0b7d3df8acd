"""The evaluator `train`: a cell is worth the validation accuracy of a short training.

Split, seed and all settings are the same for every cell. A trial's folder is a run folder: what is
finished is read, what was begun is resumed, bit for bit, and anything else begins. The test images play
no part: each training tests its network once, in its folder, and nothing of that is returned.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from xnas.data import Images
from xnas.errors import (
    DamagedFileError,
    FinishedError,
    GenotypeError,
    LockedError,
    RoundError,
    XnasError,
)
from xnas.model.model_card import CARD_FILE
from xnas.options import changed, widened
from xnas.process.devices import pick_device
from xnas.process.folder import storage_errors
from xnas.process.interrupt import Interrupted, stop_at_round
from xnas.records import TrainEpoch
from xnas.runs.cell_costs import Latencies, latencies_of, network_sizes
from xnas.runs.config_file import NAME as CONFIG
from xnas.runs.displays import Silence
from xnas.runs.limits import UNLIMITED
from xnas.runs.lock import locked
from xnas.runs.run_folder import RunFolder
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.evaluators import EVALUATORS, EvaluatorKind, trial_folder
from xnas.runs.train import resume_training, train
from xnas.runs.train_config import TrainConfig, TrainOptions
from xnas.runs.train_plan import held_out_share
from xnas.samplers import Result, Trial
from xnas.space import Genotype
from xnas.space.network_size import NetworkSize, NetworkSizes
from xnas.words import counted

HELD_OUT = 0.1
"""Share of the training images that values are measured on, where neither options nor recipe say."""
PATIENCE = 1.0
"""Seconds between two questions whether a trial's folder is free."""


@dataclass
class TrainingEvaluator:
    """Trains each cell by the same `options`, on the same `images`."""

    options: TrainConfig
    images: Images
    sizes: NetworkSizes | None = None

    @property
    def line(self) -> str:
        """What is done for a cell."""
        recipe = self.options.recipe
        given = self.options.epochs
        epochs = counted(given, "epoch") if given else "the epochs of the recipe"
        return (
            f"evaluated by training: recipe {recipe}, {epochs}, validated on "
            f"{self.options.validation:.0%} of the training images"
        )

    @property
    def device(self) -> str:
        """Where trainings compute: cpu or cuda."""
        return pick_device(self.options.device).type

    def evaluate(self, trial: Trial, folder: Path) -> Result:
        """Train the cell for `budget` of the epochs, or all; waits while another process trains it."""
        try:
            records = self._trained(trial, folder)
        except RoundError as error:  # without the path of a checkpoint: ledgers of equal runs are equal
            raise RoundError(str(first_of(error))) from error
        if not records:
            raise DamagedFileError(
                f"{folder / 'metrics.jsonl'} has no epoch, though its training is finished; delete "
                f"{folder} to train the cell again"
            )
        last = records[min(trial.budget or len(records), len(records)) - 1]
        size = self.size(trial.genotype)
        return Result(
            number=trial.number,
            value=last.valid_accuracy,
            state="done",
            at=last.epoch,
            cost={"parameters": float(size.parameters), "macs": float(size.macs)},
        )

    def kept_value(self, trial: Trial, folder: Path) -> tuple[float, int] | None:
        """Return what a finished training says; None where it is not there, unfinished or unreadable."""
        if not _is_begun(folder):
            return None
        try:
            records = RunFolder.open(folder).metrics.records(TrainEpoch.from_json)
        except XnasError:
            return None
        wanted = trial.budget or (len(records) if (folder / CARD_FILE).exists() else None)
        if wanted is None or not 0 < wanted <= len(records):
            return None
        last = records[wanted - 1]
        return None if last.valid_accuracy is None else (last.valid_accuracy, last.epoch)

    def size(self, genotype: Genotype) -> NetworkSize:
        """Return the size of the network that is trained."""
        if self.sizes is None:
            self.sizes = network_sizes(self.options, genotype, self.images)
        return self.sizes.size(genotype)

    def latencies(
        self, config: SampleConfig, saved: Callable[[Latencies], Latencies] | None
    ) -> Latencies:
        """Return what the networks that are trained take."""
        sizes = network_sizes(self.options, Genotype.random(config.space, seed=0), self.images)
        return latencies_of(config, sizes, config.space, pick_device(config.device), saved)

    def _trained(self, trial: Trial, folder: Path) -> Sequence[TrainEpoch]:
        """The epochs of a trial's training, which is this process's alone.

        The lock is a file, which file systems of several machines lock on all of them: a machine that
        is only cut off may still be training the cell.
        """
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = folder.with_name(f"{folder.name}.lock")
        with stop_at_round() as asked:
            while not asked():
                try:
                    with locked(lock, lambda: storage_errors(lock)):
                        return self._play(trial, folder)
                except LockedError:
                    time.sleep(PATIENCE)
        raise Interrupted(f"stopped while another process trains in {folder}")

    def _play(self, trial: Trial, folder: Path) -> Sequence[TrainEpoch]:
        if not _is_begun(folder):
            _take_over_rung(trial, folder)
        if not _is_begun(folder):
            options = changed(self.options, cell=trial.genotype, out=folder, report=False)
            return train(options, self.images, until=trial.budget, display=Silence()).epochs
        try:
            return resume_training(
                folder, data=self.images, until=trial.budget, display=Silence()
            ).epochs
        except FinishedError:
            return RunFolder.open(folder).metrics.records(TrainEpoch.from_json)


def first_of(error: RoundError) -> RoundError:
    """The error of the round itself, if one was raised from it that says where it occurred."""
    return error.__cause__ if isinstance(error.__cause__, RoundError) else error


def _is_begun(folder: Path) -> bool:
    return (folder / CONFIG).exists()


def _take_over_rung(trial: Trial, folder: Path) -> None:
    """Begin with what the trial's parent has trained, if that is a lower rung of the same cell."""
    if trial.budget is None or trial.parent is None:
        return
    rung = trial_folder(folder.parent, trial.parent)
    try:
        same = _is_begun(rung) and Genotype.load(rung / "genotype.json") == trial.genotype
    except GenotypeError:
        same = False
    if same:
        copy = folder.with_name(f"{folder.name}.copy")
        with storage_errors(folder):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(rung, copy)
            copy.replace(folder)


def training_evaluator(config: SampleConfig, images: Images) -> TrainingEvaluator:
    """Return the evaluator of `--evaluator train`."""
    # Limits are those of cells here; a training would choose its channels by them.
    free = changed(config, **UNLIMITED)
    options = widened(TrainConfig, TrainOptions, free)
    share = held_out_share(options, images.name) or HELD_OUT
    return TrainingEvaluator(changed(options, validation=share), images)


EVALUATORS.add("train", EvaluatorKind(training_evaluator, "a training of each cell", shares=True))
