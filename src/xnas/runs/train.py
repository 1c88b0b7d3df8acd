"""A whole training: settings, a cell and data in, a run folder with a model out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from xnas.data import Images, StreamedImages, load_data, stream_seed
from xnas.engine.distributed import join_ranks
from xnas.engine.evaluate import evaluate
from xnas.engine.train import Training, captured_step, own_randomness, train_step
from xnas.errors import ConfigError, FinishedError, GenotypeError, VersionError
from xnas.model.model import load_model, save_model
from xnas.model.model_card import model_card
from xnas.options import saved_options
from xnas.process.devices import pick_device, repeatable, synchronize
from xnas.process.failures import explain_failures
from xnas.process.interrupt import Interrupted, stop_at_round
from xnas.process.memory import memory_in_use, reset_peak
from xnas.process.output import explain_lost_output
from xnas.records import EpochCost, Evaluation, TrainEpoch
from xnas.runs.backends import is_captured
from xnas.runs.cells import genotype_of
from xnas.runs.displays import Listener, Silence, TrainDisplay
from xnas.runs.onlooker import folder_again, new_folder
from xnas.runs.prepare_training import PreparedTraining, prepare_training, require_nothing_to_load
from xnas.runs.run_data import inherit_data_options
from xnas.runs.run_folder import RunFolder, as_json
from xnas.runs.saver import Saver
from xnas.runs.sources import (
    data_of,
    given_data,
    images_again,
    require_config,
    whereabouts,
)
from xnas.runs.train_briefing import estimate, introduction
from xnas.runs.train_config import TrainConfig, require_cells, resolve_images
from xnas.runs.train_state import Best, better, restore, train_state
from xnas.space import Genotype
from xnas.space.zoo import run_of

PROBE_STEPS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainResult:
    """How a training ended."""

    out: str
    """The run folder."""
    epochs: tuple[TrainEpoch, ...]
    test: Evaluation | None
    """Of the last weights, on test images that nothing else has seen; None if there are none."""
    parameters: int
    macs: int


def train(
    config: TrainConfig, data: str | Path | Images | None = None, *, display: TrainDisplay | None = None
) -> TrainResult:
    """Train the network of a cell on `data` (a dataset's name, a folder, or images).

    By default on the images of the run that the cell comes from, for other cells on the embedded digits.
    On the images of that run, its data options apply unless `config` has others.

    >>> import torch
    >>> from xnas import ImageData
    >>> noise = torch.randint(0, 256, (64, 1, 8, 8), dtype=torch.uint8)
    >>> labels = torch.arange(64) % 2
    >>> data = ImageData(name="noise", images=noise, labels=labels, classes=("even", "odd"))
    >>> config = TrainConfig(cell="xnas", epochs=1, batch_size=32, cells=3, channels=2, device="cpu")
    >>> result = train(config, data)
    >>> len(result.epochs)
    1
    """
    require_config("train", TrainConfig, config)
    ranks = join_ranks()
    genotype = genotype_of(config.cell)
    run = run_of(config.cell)
    notes: list[str] = []
    data = given_data(data_of(run) if data is None else data)
    require_cells(config, genotype)
    if isinstance(data, str):
        config = resolve_images(config, Path(whereabouts(data)).name)
        config, notes = inherit_data_options(config, run, data)
        images = load_data(data, config)
    else:
        images = data
        require_nothing_to_load(config, images)
    prepared = prepare_training(config, images, genotype, ranks, notes)
    given = whereabouts(data) if isinstance(data, str) else None
    first = {
        "recipe.json": as_json({"format": "xnas-recipe"} | prepared.plan.recipe.to_json()),
        "genotype.json": genotype.to_json(),
    }
    folder = new_folder(
        ranks, lambda: config.out or RunFolder.next_free("train", images.name), given, first
    )
    streamed = isinstance(images, StreamedImages)
    resolved = replace(prepared.config, out=folder.path, cell=str(config.cell)[:200], stream=streamed)
    with folder.locked(new=True):
        for name, text in first.items():
            folder.write_text(name, text)
        folder.write_config("train", images.fingerprint(), resolved, processes=ranks.size)
        folder.settings["genotype"] = genotype.to_json()
        return _run(folder, prepared, images, display or Silence())


def resume_training(
    path: Path | str,
    *,
    data: Images | None = None,
    display: TrainDisplay | None = None,
    **changes: Any,  # noqa: ANN401 - settings
) -> TrainResult:
    """Go on with a training that was stopped, from its last checkpoint or, without one, its start.

    Its settings hold, but `backend`, `compile`, `device`, `data_dir` and `checkpoint_minutes` may be
    given anew, for this call.
    """
    ranks = join_ranks()
    folder, display = folder_again(ranks, Path(path)), (display if ranks.first else None) or Silence()
    with folder.locked():
        fingerprint, saved = folder.read_config("train")
        config = saved_options(TrainConfig, saved, changes)
        folder.changes = changes
        _require_unfinished(folder, display)
        images = images_again(folder, config, fingerprint, data, "training")
        genotype = _genotype_again(folder, config)
        prepared = prepare_training(config, images, genotype, ranks)
        folder.settings["genotype"] = genotype.to_json()
        device = pick_device(config.device, ranks)

        def fit(state: dict[str, Any]) -> None:
            with own_randomness(device, 0):  # to be left as it was: the state is restored in `_run`
                restore(folder, prepared.training, state)

        state = ranks.first_reads(lambda: folder.newest_checkpoint(device, display.warn, fit), device)
        return _run(folder, prepared, images, display, state=state, resumed=True)


def _require_unfinished(folder: RunFolder, display: Listener) -> None:
    """Raise if the model is there, written last; a damaged one is written again."""
    if not (folder.path / "model.json").exists():
        return
    try:
        _, card = load_model(folder.path)
    except VersionError as error:
        raise ConfigError(f"the training in {folder.path} is finished; {error}") from error
    except ConfigError as error:
        folder.require_checkpoint(f"the model is damaged ({error})")
        display.warn(f"the model is damaged ({error}); the end of the training is written again")
        return
    _write_damaged_genotype(folder, card.genotype, display)
    raise FinishedError(
        f"the training in {folder.path} is finished; its network is in model.safetensors"
    )


def _write_damaged_genotype(folder: RunFolder, genotype: Genotype, display: Listener) -> None:
    """Write the genotype of a finished training again, if it is damaged: its model has it, too."""
    path = folder.path / "genotype.json"
    try:
        Genotype.load(path)
    except VersionError:
        return
    except GenotypeError as error:
        display.warn(f"{path} is damaged ({error}); it is written again from model.json")
        folder.write_text(path.name, genotype.to_json())


def _genotype_again(folder: RunFolder, config: TrainConfig) -> Genotype:
    try:
        return Genotype.load(folder.path / "genotype.json")
    except GenotypeError as error:
        raise GenotypeError(
            f"{error}; the training was given the cell {config.cell}: restore the file from there"
        ) from error


def _run(
    folder: RunFolder,
    prepared: PreparedTraining,
    images: Images,
    display: TrainDisplay,
    *,
    state: dict[str, Any] | None = None,
    resumed: bool = False,
) -> TrainResult:
    """Make all steps that are left, from `state` or the start, test once, and write the model down."""
    training, config, ranks = prepared.training, prepared.config, prepared.training.ranks
    display = display if ranks.first else Silence()
    with own_randomness(training.batch[0].device, stream_seed(config.seed, "drop path")):
        best: Best | None = None
        if resumed:
            best = None if state is None else restore(folder, training, state)
            folder.metrics.restore(state, display.warn)
        start = train_state(training, best) | {"images": images.fingerprint()}
        ranks.require_same(start, "at the start", folder.kept)
        records, best = _make_steps(folder, prepared, images, display, best, resumed=resumed)
    with explain_failures(lambda: f"after the last step, {training.steps}", folder.kept):
        result = _conclude(folder, prepared, images, records, best)
    ranks.wait()  # what the first process writes is there for all
    return result


def _make_steps(
    folder: RunFolder,
    prepared: PreparedTraining,
    images: Images,
    display: TrainDisplay,
    best: Best | None,
    *,
    resumed: bool,
) -> tuple[list[TrainEpoch], Best | None]:
    training, ranks = prepared.training, prepared.training.ranks
    records = folder.metrics.records(TrainEpoch.from_json)
    minutes = prepared.config.checkpoint_minutes
    saver = Saver(folder, lambda: train_state(training, best), minutes=minutes, ranks=ranks)
    step: Callable[[], None] | None = None
    with (
        explain_lost_output(lambda: _how_to_go_on(folder, training)),
        folder.told(),
        stop_at_round() as asked,
        repeatable(training.batch[0].device),
    ):
        for line in introduction(prepared, images, resumed=resumed):
            display.say(line)
        for line in prepared.cautions:
            display.warn(line)
        stopped = ranks.agreed(asked)
        while training.epoch < training.settings.epochs:
            with explain_failures(
                lambda: f"after step {training.steps}, epoch {training.epoch + 1}", folder.kept
            ):
                if training.step_in_epoch == 0:
                    training.begin_epoch()
                if step is None:
                    captured = is_captured(training, prepared.config.backend)
                    step = captured_step(training) if captured else partial(train_step, training)
                record = _train_epoch(prepared, saver, display, stopped, step)
            records.append(record)
            best = better(prepared.training, records) or best
            saver.save(asdict(record))
            display.after_epoch(record, training.settings.epochs)
            if stopped() and training.epoch < training.settings.epochs:
                raise Interrupted(_how_to_go_on(folder, training))
    return records, best


def _train_epoch(
    prepared: PreparedTraining,
    saver: Saver,
    display: TrainDisplay,
    stopped: Callable[[], bool],
    step: Callable[[], None],
) -> TrainEpoch:
    training, s = prepared.training, prepared.training.settings
    device = training.batch[0].device
    reset_peak(device)
    started, paused, first = time.perf_counter(), 0.0, training.step_in_epoch
    while training.step_in_epoch < s.steps_per_epoch:
        step()
        display.after_step(training)
        if training.steps == PROBE_STEPS:
            synchronize(device)
            a_step = (time.perf_counter() - started) / (training.step_in_epoch - first)
            display.say(estimate(training, a_step))
        if training.step_in_epoch < s.steps_per_epoch and (stopped() or saver.due()):
            synchronize(device)
            before = time.perf_counter()
            training.agree()
            training.require_finite()
            saver.save()
            paused += time.perf_counter() - before
            if stopped():
                raise Interrupted(_how_to_go_on(saver.folder, training))
    synchronize(device)
    seconds = (time.perf_counter() - started - paused) * s.steps_per_epoch / (s.steps_per_epoch - first)
    memory = memory_in_use(device)
    drop_path = training.model.drop_path
    rates = {
        "learning_rate": float(training.rate),
        "drop_path_rate": float(drop_path.rate) if drop_path is not None else 0.0,
    }
    loss, accuracy = training.end_epoch()
    held = _validate(prepared)
    return TrainEpoch(
        epoch=training.epoch,
        steps=training.steps,
        **rates,
        train_loss=loss,
        train_accuracy=accuracy,
        valid_loss=held.loss if held else None,
        valid_accuracy=held.top1 if held else None,
        cost=EpochCost(
            seconds=seconds,
            seconds_per_round=seconds / s.steps_per_epoch,
            memory_bytes=memory,
        ),
    )


def _validate(prepared: PreparedTraining) -> Evaluation | None:
    if prepared.valid is None:
        return None
    with prepared.training.averaged():
        found = _evaluate(prepared, prepared.valid.whole())
    return prepared.training.ranks.first_does(lambda: found)  # which decides what is the best so far


def _evaluate(prepared: PreparedTraining, batches: Iterable[tuple[Tensor, Tensor]]) -> Evaluation:
    training = prepared.training
    device = training.batch[0].device.type
    with torch.autocast(device, dtype=torch.bfloat16, enabled=training.settings.autocast):
        return evaluate(training.model, batches, prepared.classes)


def _how_to_go_on(folder: RunFolder, training: Training) -> str:
    command = f"{training.ranks.command} train {folder.resumed_by}"
    if folder.data is None:
        command = f"xnas.resume_training({folder.resumed_with}), with the same images"
    return f"stopped after step {training.steps}; go on with: {command}"


def _conclude(
    folder: RunFolder,
    prepared: PreparedTraining,
    images: Images,
    records: list[TrainEpoch],
    best: Best | None,
) -> TrainResult:
    """Test the last weights, once, and write the model last: its presence says that the run is over."""
    training = prepared.training
    if training.average is not None:
        training.average.swap()
    test = None
    source = prepared.test_batches()
    if source is not None:
        test = _evaluate(prepared, source)
        folder.write_json("test.json", {"format": "xnas-test", "version": 1} | asdict(test))
    figures = {"test_accuracy": test.top1} if test else {}
    card = model_card(
        training.model,
        images,
        recipe=prepared.config.recipe,
        seed=prepared.config.seed,
        centre=prepared.seen,
        figures=figures,
    )
    if best is not None and training.ranks.first:
        last = {name: tensor.clone() for name, tensor in training.model.state_dict().items()}
        training.model.load_state_dict(best["model"])
        with folder.told():
            save_model(folder.path / "best", training.model, replace(card, figures={}))
        training.model.load_state_dict(last)
    if training.ranks.first:
        with folder.told():
            save_model(folder.path, training.model, card)
    return TrainResult(
        out=str(folder.path),
        epochs=tuple(records),
        test=test,
        parameters=prepared.parameters,
        macs=prepared.macs,
    )
