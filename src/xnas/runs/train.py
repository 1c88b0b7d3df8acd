"""A whole training: a cell and data in, a run folder with a model out.

`TrainJob.step` makes one step: `train_step` of `engine/train.py`. On a GPU the same step is captured in
a CUDA graph and replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path
from reprlib import repr as brief
from typing import Any

import torch
from torch import Tensor

from xnas.data import Images, load_data, stream_seed
from xnas.engine.distributed import Ranks, join_ranks
from xnas.engine.evaluate import evaluate, together
from xnas.engine.mistakes import Mistakes
from xnas.engine.train import captured_step, train_step
from xnas.engine.train_state import TRAIN_FORMAT, Best, better, restore_training, train_state
from xnas.errors import ConfigError, FinishedError, GenotypeError, VersionError
from xnas.model.model import load_model, save_model
from xnas.model.model_card import model_card
from xnas.options import Options
from xnas.records import EpochCost, Evaluation, TrainEpoch
from xnas.runs.backends import is_captured
from xnas.runs.cells import architecture_of, recorded_cell
from xnas.runs.config_file import as_json
from xnas.runs.displays import Callback, TrainDisplay, showing
from xnas.runs.job import Kind, Position
from xnas.runs.lifecycle import begin, resume
from xnas.runs.listing.kinds import own_file
from xnas.runs.mistakes_file import MISTAKES, MOST_MISTAKES, mistakes_file
from xnas.runs.prepare_training import (
    PreparedTraining,
    hole_side,
    prepare_training,
    require_nothing_to_load,
)
from xnas.runs.results import SampleResult, SearchResult, TrainResult
from xnas.runs.run_data import inherit_data_options
from xnas.runs.run_folder import RunFolder
from xnas.runs.saver import Clock
from xnas.runs.sources import GivenImages, data_of, given_data, settled, whereabouts
from xnas.runs.tensorboard import train_curves
from xnas.runs.train_briefing import introduction
from xnas.runs.train_config import TrainConfig, require_cells, resolve_images
from xnas.space import Architecture, Genotype, Wiring
from xnas.space.architecture import ARCHITECTURES, load_architecture, run_of
from xnas.space.zoo import genotype_file


def train(
    config: TrainConfig | str | Path | Genotype | Wiring | SearchResult | SampleResult,
    data: str | Path | GivenImages | None = None,
    *,
    display: TrainDisplay | None = None,
    callbacks: Sequence[Callback] = (),
    until: int | None = None,
    **settings: Any,  # noqa: ANN401 - of TrainConfig
) -> TrainResult:
    """Train the network of a cell on `data` (a dataset's name, a folder, or images).

    `train(result, epochs=10)` is short for `train(TrainConfig(cell=result, epochs=10))`, where `result`
    is what a search returned, or any other cell that `TrainConfig` takes.
    By default it is trained on the images of the run that the cell comes from, other cells on the
    embedded digits. On the images of that run, its data options apply unless `config` has others.

    Progress and warnings are printed, or go to `display` if there is one; with `quiet=True` nothing is.
    `callbacks` are objects of your own (`Callback`) that follow the steps.

    `until` stops after that epoch, as Ctrl-C would, with a checkpoint. The schedules are those of all
    epochs; nothing is tested, no model is written, and `resume_training` resumes.

    >>> import torch
    >>> from xnas import ImageData
    >>> noise = torch.randint(0, 256, (64, 1, 8, 8), dtype=torch.uint8)
    >>> labels = torch.arange(64) % 2
    >>> data = ImageData(name="noise", images=noise, labels=labels, classes=("even", "odd"))
    >>> small = {"epochs": 1, "batch_size": 32, "cells": 3, "channels": 2, "device": "cpu"}
    >>> result = train("xnas", data, **small, quiet=True)
    >>> len(result.epochs)
    1
    """
    if isinstance(config, Options):
        config = settled("train", TrainConfig, config, settings)
    else:
        config = settled("train", TrainConfig, None, {"cell": config} | settings)
    _require_epoch(until)
    ranks = join_ranks()
    with _showing(display, ranks, callbacks, quiet=config.quiet) as shown:
        return _train(config, data, ranks, shown, until=until)


def _train(
    config: TrainConfig,
    data: str | Path | GivenImages | None,
    ranks: Ranks,
    shown: TrainDisplay,
    *,
    until: int | None,
) -> TrainResult:
    architecture = architecture_of(config.cell)
    run = run_of(config.cell)
    notes: list[str] = []
    data = given_data(data_of(run) if data is None else data, config.out, config)
    require_cells(config, architecture)
    if isinstance(data, str):
        config = resolve_images(config, Path(whereabouts(data)).name)
        config, notes = inherit_data_options(config, run, data)
        images = load_data(data, config)
    else:
        images = data
        require_nothing_to_load(config, images)
    prepared = prepare_training(config, images, architecture, ranks, notes)
    job = TrainJob(prepared, images, architecture, shown, until=until)
    recipe = prepared.plan.recipe
    hole = hole_side(recipe.images, prepared.seen)
    pixels = {"cutout_pixels": hole} if recipe.images.cutout else {}
    first = {
        "recipe.json": as_json({"format": "xnas-recipe"} | recipe.to_json() | pixels),
        f"{architecture.key}.json": architecture.to_json(),
    }
    place = data if isinstance(data, str) else None
    return begin(TRAINING, job, images, data=place, display=shown, first=first)


def resume_training(
    path: Path | str,
    *,
    data: GivenImages | None = None,
    display: TrainDisplay | None = None,
    callbacks: Sequence[Callback] = (),
    quiet: bool = False,
    until: int | None = None,
    **changes: Any,  # noqa: ANN401 - settings
) -> TrainResult:
    """Resume a training that was stopped, from its last checkpoint or, without one, from its start.

    Its settings hold, except for `backend`, `compile`, `device`, `data_dir` and `checkpoint_minutes`,
    which may be given for this call. `until` is that of `train`; a training that is there already is
    not changed, and what it has measured is returned. It shows what `train` shows.
    """
    _require_epoch(until)
    ranks = join_ranks()
    with _showing(display, ranks, callbacks, quiet=quiet) as shown:

        def build(folder: RunFolder, config: TrainConfig, images: Images) -> TrainJob:
            architecture = _saved_architecture(folder, config)
            prepared = prepare_training(config, images, architecture, ranks)
            return TrainJob(prepared, images, architecture, shown, until=until)

        return resume(
            TRAINING, Path(path), build, data=data, changes=changes, ranks=ranks, display=shown
        )


class TrainJob:
    """A training as a run plays it: steps of gradient descent, and evaluations after epochs."""

    def __init__(
        self,
        prepared: PreparedTraining,
        images: Images,
        architecture: Architecture,
        display: TrainDisplay,
        *,
        until: int | None = None,
    ) -> None:
        """`until` is the epoch after which it pauses; None for none."""
        self.prepared, self.images, self.display, self.until = prepared, images, display, until
        self.training, self.ranks = prepared.training, prepared.training.ranks
        self.device = self.training.device
        self.seed = stream_seed(prepared.config.seed, "drop path")
        self.config = replace(
            prepared.config, cell=recorded_cell(prepared.config.cell, architecture.key)
        )
        self.identity = {architecture.key: architecture.to_json()}
        self.replay: Callable[[], None] | None = None
        self.records: list[TrainEpoch] = []
        self.best: Best | None = None

    def position(self) -> Position:
        """In steps."""
        training, s = self.training, self.training.settings
        last = s.epochs if self.until is None else min(self.until, s.epochs)
        return Position(
            epoch=training.epoch,
            epochs=s.epochs,
            step=training.step_in_epoch,
            steps=s.steps_per_epoch,
            done=training.steps,
            left=max(0, last * s.steps_per_epoch - training.steps),
            until=self.until,
        )

    def introduction(self) -> list[str]:
        """What was chosen, and how large the network is."""
        return introduction(self.prepared, self.images)

    def cautions(self) -> list[str]:
        """Warnings before the first step."""
        return self.prepared.cautions

    def begin_epoch(self) -> None:
        """Set the rates and the order of the images; capture a step where steps are replayed."""
        if self.training.step_in_epoch == 0:
            self.training.begin_epoch()
        if self.replay is None and is_captured(self.training, self.config.backend):
            self.replay = captured_step(self.training)

    def step(self, clock: Clock) -> None:  # noqa: ARG002 - nothing is left out
        """Make one step of gradient descent."""
        if self.replay is None:
            train_step(self.training)
        else:
            self.replay()

    def report_step(self) -> None:
        """Report the step."""
        self.display.after_step(self.training)

    def end_epoch(self, cost: EpochCost) -> TrainEpoch:
        """Evaluate on held-out images, if there are any, and keep the best weights."""
        training = self.training
        drop_path = training.model.drop_path
        learning_rate = float(training.rate)
        drop_path_rate = float(drop_path.rate) if drop_path is not None else 0.0
        loss, accuracy = training.end_epoch()
        held_out = self._validate()
        record = TrainEpoch(
            epoch=training.epoch,
            steps=training.steps,
            learning_rate=learning_rate,
            drop_path_rate=drop_path_rate,
            train_loss=loss,
            train_accuracy=accuracy,
            valid_loss=held_out.loss if held_out else None,
            valid_accuracy=held_out.top1 if held_out else None,
            cost=cost,
        )
        self.records.append(record)
        self.best = better(training, self.records) or self.best
        return record

    def curves(self, record: TrainEpoch) -> dict[str, float]:
        """Losses, accuracies and rates."""
        return train_curves(record)

    def warnings(self, record: TrainEpoch) -> list[str]:  # noqa: ARG002 - a protocol's signature
        """None."""
        return []

    def require_sound(self) -> None:
        """Average batch statistics over processes; raises if numbers are not finite."""
        self.training.agree()
        self.training.require_finite()

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        return train_state(self.training, self.best)

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.best = restore_training(self.training, state)

    def remember(self, records: Sequence[TrainEpoch]) -> None:
        """Compare later epochs with those before."""
        self.records = list(records)

    def conclude(self, folder: RunFolder, records: Sequence[TrainEpoch]) -> TrainResult:
        """Test the last weights, once, and write the model last: it says that the run is finished.

        Nothing of that is done after an epoch that is not the last.
        """
        training, prepared = self.training, self.prepared
        if self.position().paused:
            return self._result(folder, records, None)
        if training.average is not None:
            training.average.swap()
        batches = prepared.test_batches()
        mistakes = Mistakes(MOST_MISTAKES)
        test = None if batches is None else self._evaluate(batches, mistakes)
        if test is not None:
            folder.write_json("test.json", {"format": "xnas-test", "version": 1} | asdict(test))
            folder.write_json(MISTAKES, mistakes_file(mistakes.worst(), self.images))
        self._save_models(folder, test)
        return self._result(folder, records, test)

    def _result(
        self, folder: RunFolder, records: Sequence[TrainEpoch], test: Evaluation | None
    ) -> TrainResult:
        return TrainResult(
            out=str(folder.path),
            epochs=tuple(records),
            test=test,
            parameters=self.prepared.parameters,
            macs=self.prepared.macs,
            finished=not self.position().paused,
        )

    def _save_models(self, folder: RunFolder, test: Evaluation | None) -> None:
        if not self.ranks.first:
            return
        model, config = self.training.model, self.prepared.config
        card = model_card(
            model,
            self.images,
            recipe=config.recipe,
            seed=config.seed,
            centre=self.prepared.seen,
            figures={"test_accuracy": test.top1} if test else {},
        )
        if self.best is not None:
            last = {name: tensor.clone() for name, tensor in model.state_dict().items()}
            model.load_state_dict(self.best["model"])
            with folder.storage_errors():
                save_model(folder.path / "best", model, replace(card, figures={}))
            model.load_state_dict(last)
        with folder.storage_errors():
            save_model(folder.path, model, card)

    def _validate(self) -> Evaluation | None:
        if self.prepared.valid is None:
            return None
        with self.training.averaged():
            found = self._evaluate(self.prepared.valid.whole())
        return self.ranks.first_does(lambda: found)  # all processes compare the same accuracy

    def _evaluate(
        self, batches: Iterable[tuple[Tensor, Tensor]], mistakes: Mistakes | None = None
    ) -> Evaluation:
        autocast, follow = self.training.settings.autocast, None if mistakes is None else mistakes.add
        batches = together(batches, self.device)
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=autocast):
            return evaluate(self.training.model, batches, self.prepared.classes, follow=follow)


def _require_epoch(until: int | None) -> None:
    if until is not None and (type(until) is not int or until < 1):
        raise ConfigError(f"until must be a whole number of epochs from 1 on, got {brief(until)}")


def _showing(
    display: TrainDisplay | None, ranks: Ranks, callbacks: Sequence[Callback], *, quiet: bool
) -> AbstractContextManager[TrainDisplay]:
    def usual() -> AbstractContextManager[TrainDisplay]:
        from xnas.runs.progress import TrainProgress  # noqa: PLC0415 - imports rich

        return TrainProgress(quiet=False)

    return showing(display, usual, quiet=quiet, callbacks=callbacks, first=ranks.first)


def _require_unfinished(folder: RunFolder, warn: Callable[[str], None]) -> None:
    """Raise if there is a model, which is written last; a damaged one is written again."""
    if not (folder.path / "model.json").exists():
        return
    try:
        _, card = load_model(folder.path)
    except VersionError as error:
        raise ConfigError(f"the training in {folder.path} is finished; {error}") from error
    except ConfigError as error:
        folder.require_checkpoint(f"the model is damaged ({error})")
        warn(f"the model is damaged ({error}); the end of the training is written again")
        return
    _restore_architecture(folder, card.architecture, warn)
    raise FinishedError(
        f"the training in {folder.path} is finished; its network is in model.safetensors"
    )


def _restore_architecture(
    folder: RunFolder, architecture: Architecture, warn: Callable[[str], None]
) -> None:
    """Write the genotype of a finished training again from its model, if the file is damaged."""
    path = folder.path / f"{architecture.key}.json"
    try:
        ARCHITECTURES[architecture.key].load(path)
    except VersionError:
        return
    except GenotypeError as error:
        warn(f"{path} is damaged ({error}); it is written again from model.json")
        folder.write_text(path.name, architecture.to_json())


def _saved_architecture(folder: RunFolder, config: TrainConfig) -> Architecture:
    path = genotype_file(folder.path)
    try:
        return load_architecture(path)
    except GenotypeError as error:
        known = f"the training was given the cell {config.cell}: restore the file from there"
        remedy = "restore it from a copy" if own_file(config.cell) else known
        raise GenotypeError(f"{error}; {remedy}") from error


TRAINING = Kind(
    command="train",
    noun="training",
    unit="step",
    checkpoint=TRAIN_FORMAT,
    settings=TrainConfig,
    record=TrainEpoch.from_json,
    tests=True,
    require_unfinished=_require_unfinished,
)
