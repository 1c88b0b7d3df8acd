"""A whole training: settings, a cell and data in, a run folder with a model out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

import torch
from torch import Tensor

from xnas.data import Images, StreamedImages, stream_seed
from xnas.data.streaming import StreamSource
from xnas.engine.checkpoint import load_checkpoint, save_checkpoint
from xnas.engine.evaluate import evaluate
from xnas.engine.train import Training, captured, descend, own_randomness, train_step
from xnas.errors import ConfigError, RoundError
from xnas.records import EpochCost, Evaluation, TrainEpoch
from xnas.runs.devices import pick_device, synchronize
from xnas.runs.displays import Silence, TrainDisplay
from xnas.runs.interrupt import Interrupted, stop_at_round
from xnas.runs.memory import memory_in_use, reset_peak
from xnas.runs.model import model_card, save_model
from xnas.runs.prepare_training import PreparedTraining, prepare_training, require_nothing_to_load
from xnas.runs.run_folder import RunFolder
from xnas.runs.sources import images_again, load_images, whereabouts
from xnas.runs.train_briefing import estimate, introduction
from xnas.runs.train_config import TrainConfig, resolve_images
from xnas.space import Genotype, find_genotype

PROBE_STEPS = 10
CHECKPOINT = ("xnas-train-checkpoint", 1)


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
    config: TrainConfig, data: str | Images = "digits", *, display: TrainDisplay | None = None
) -> TrainResult:
    """Train the network of a cell on `data` (a dataset's name, a folder, or images)."""
    genotype = find_genotype(config.cell)
    if isinstance(data, str):
        config = resolve_images(config, Path(whereabouts(data)).name)
        images = load_images(config, data)
    else:
        images = data
        require_nothing_to_load(config, images)
    prepared = prepare_training(config, images, genotype)
    given = whereabouts(data) if isinstance(data, str) else None
    folder = RunFolder.create(config.out or RunFolder.next_free("train", images.name), given)
    streamed = isinstance(images, StreamedImages)
    resolved = replace(prepared.config, out=folder.path, cell=str(config.cell)[:200], stream=streamed)
    with folder.locked():
        folder.write_text("genotype.json", genotype.to_json())
        folder.write_json("recipe.json", {"format": "xnas-recipe"} | asdict(prepared.recipe))
        folder.write_config("train", images.fingerprint(), resolved)
        return _run(folder, prepared, images, display or Silence())


def resume_training(
    path: Path, *, data: Images | None = None, display: TrainDisplay | None = None
) -> TrainResult:
    """Go on with a training that was stopped, from its last checkpoint or, without one, its start."""
    folder = RunFolder.open(path)
    fingerprint, saved = folder.read_config("train")
    config = train_config_from_json(saved)
    if (folder.path / "model.json").exists():
        raise ConfigError(f"the training in {path} is finished; its network is in model.safetensors")
    images = images_again(folder, config, fingerprint, data, "training")
    genotype = Genotype.load(folder.path / "genotype.json")
    with folder.locked():
        prepared = prepare_training(config, images, genotype)
        state = None
        if folder.checkpoint.exists():
            state = load_checkpoint(folder.checkpoint, pick_device(config.device))
        return _run(folder, prepared, images, display or Silence(), state=state, resumed=True)


def train_config_from_json(saved: dict[str, Any]) -> TrainConfig:
    """Settings as a run folder keeps them."""
    paths = {name: Path(saved[name]) for name in ("out", "data_dir") if saved.get(name) is not None}
    try:
        return TrainConfig(**{**saved, **paths})
    except TypeError as error:
        raise ConfigError(
            f"the settings in config.json are of another version of xnas: {error}"
        ) from None


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
    training, config = prepared.training, prepared.config
    with own_randomness(training.batch[0].device, stream_seed(config.seed, "drop path")):
        if resumed:
            folder.cut_metrics(0 if state is None else _restore(training, state))
        records = _make_steps(folder, prepared, images, display, resumed=resumed)
    return _conclude(folder, prepared, images, records)


def _make_steps(
    folder: RunFolder,
    prepared: PreparedTraining,
    images: Images,
    display: TrainDisplay,
    *,
    resumed: bool,
) -> list[TrainEpoch]:
    training = prepared.training
    for line in introduction(prepared, images, resumed=resumed):
        display.say(line)
    records = [TrainEpoch.from_json(line) for line in folder.read_metrics()]
    step: Callable[[], None] | None = None
    with stop_at_round() as stopped:
        while training.epoch < training.settings.epochs:
            if training.step_in_epoch == 0:
                training.begin_epoch()
            if step is None:
                step = executable(prepared)
            try:
                record = _train_epoch(prepared, folder, display, stopped, step)
            except RoundError as error:
                raise RoundError(f"{error}{_last_good(folder)}") from error
            records.append(record)
            folder.append_metric(asdict(record))
            _keep_best(folder, prepared, records)
            _save(folder, training)
            display.after_epoch(record, training.settings.epochs)
            if stopped() and training.epoch < training.settings.epochs:
                raise Interrupted(_how_to_go_on(folder, training))
    return records


def executable(prepared: PreparedTraining) -> Callable[[], None]:
    """The step as it will be executed: plain, or captured on a GPU."""
    training = prepared.training
    if prepared.config.backend != "fused":
        return lambda: train_step(training)
    if not isinstance(training.batches, StreamSource):
        return captured(training)
    replay = captured(training, descend)  # batches come from the host

    def streamed() -> None:
        training.batches.fill(*training.batch)
        replay()

    return streamed


def _train_epoch(
    prepared: PreparedTraining,
    folder: RunFolder,
    display: TrainDisplay,
    stopped: Callable[[], bool],
    step: Callable[[], None],
) -> TrainEpoch:
    training, s = prepared.training, prepared.training.settings
    device = training.batch[0].device
    reset_peak(device)
    started, first = time.perf_counter(), training.step_in_epoch
    while training.step_in_epoch < s.steps_per_epoch:
        if s.rate_by_step:
            training.set_rate()
        step()
        training.step_in_epoch += 1
        display.after_step(training)
        if training.steps == PROBE_STEPS:
            synchronize(device)
            a_step = (time.perf_counter() - started) / (training.step_in_epoch - first)
            display.say(estimate(training, a_step))
        if stopped() and training.step_in_epoch < s.steps_per_epoch:
            training.require_finite()
            _save(folder, training)
            raise Interrupted(_how_to_go_on(folder, training))
    synchronize(device)
    seconds = (time.perf_counter() - started) * s.steps_per_epoch / (s.steps_per_epoch - first)
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
    with _averaged(prepared.training):
        return _evaluate(prepared, prepared.valid.whole())


def _evaluate(prepared: PreparedTraining, batches: Iterable[tuple[Tensor, Tensor]]) -> Evaluation:
    training = prepared.training
    device = training.batch[0].device.type
    with torch.autocast(device, dtype=torch.bfloat16, enabled=training.settings.autocast):
        return evaluate(training.model, batches, prepared.classes)


@contextmanager
def _averaged(training: Training) -> Iterator[None]:
    """Let the model have the moving average of its weights, if there is one, and take it back."""
    if training.average is None:
        yield
        return
    training.average.swap()
    try:
        yield
    finally:
        training.average.swap()


def _keep_best(folder: RunFolder, prepared: PreparedTraining, records: list[TrainEpoch]) -> None:
    """Save the weights if no epoch before did better on the images held back."""
    answers = [r.valid_accuracy for r in records if r.valid_accuracy is not None]
    if answers and answers[-1] > max(answers[:-1], default=-1.0):
        with _averaged(prepared.training):
            model = {
                name: tensor.clone() for name, tensor in prepared.training.model.state_dict().items()
            }
        save_checkpoint(folder.path / "checkpoints" / "best.pt", {"model": model, "epoch": len(records)})


def _how_to_go_on(folder: RunFolder, training: Training) -> str:
    command = f"xnas train --resume {quote(str(folder.path))}"
    if folder.data is None:
        command = f"xnas.resume_training({str(folder.path)!r}, data=...), with the same images"
    return f"stopped after step {training.steps}; go on with: {command}"


def _last_good(folder: RunFolder) -> str:
    if not folder.checkpoint.exists():
        return "; nothing was kept, as it happened before the first checkpoint"
    return f"; what was good before it is kept in {folder.checkpoint}"


def _save(folder: RunFolder, training: Training) -> None:
    kind, version = CHECKPOINT
    state = training.state_dict() | {
        "format": kind,
        "version": version,
        "metrics_length": folder.metrics_length(),
    }
    save_checkpoint(folder.checkpoint, state)


def _restore(training: Training, state: dict[str, Any]) -> int:
    """Bring a training to the state of a checkpoint; gives the length of its metrics."""
    if not isinstance(state, dict):
        raise ConfigError("the checkpoint holds no training; delete it to begin again")
    if (state.get("format"), state.get("version")) != CHECKPOINT:
        raise ConfigError(
            f"the checkpoint is {state.get('format')} of version {state.get('version')}, this xnas "
            f"reads {CHECKPOINT[0]} of version {CHECKPOINT[1]}; resume with the version that wrote it"
        )
    try:
        training.load_state_dict(state)
        return int(state["metrics_length"])
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(
            f"the checkpoint does not fit this training ({type(error).__name__}); it is damaged, or of "
            "another"
        ) from error


def _conclude(
    folder: RunFolder, prepared: PreparedTraining, images: Images, records: list[TrainEpoch]
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
    best = folder.path / "checkpoints" / "best.pt"
    if best.exists():
        last = {name: tensor.clone() for name, tensor in training.model.state_dict().items()}
        training.model.load_state_dict(load_checkpoint(best, training.batch[0].device)["model"])
        (folder.path / "best").mkdir(exist_ok=True)
        save_model(folder.path / "best", training.model, replace(card, figures={}))
        training.model.load_state_dict(last)
    save_model(folder.path, training.model, card)
    return TrainResult(
        out=str(folder.path),
        epochs=tuple(records),
        test=test,
        parameters=prepared.parameters,
        macs=prepared.macs,
    )
