"""A whole search: settings and data in, a run folder with a genotype out.

The path to the algorithm goes on in `engine/search.py` (`play_round`), `methods/xnas.py` and `theory/`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from xnas.data import BatchSource, ImageData, halves, load_data, stream_seed
from xnas.data import rounds as rounds_per_epoch
from xnas.data.augment import Augmentation, augmentation_for
from xnas.engine import (
    Search,
    SearchSettings,
    discretization_gap,
    end_epoch,
    impossible,
    load_checkpoint,
    outlook,
    play_round,
    restore_search,
    save_checkpoint,
    search_state,
    worries,
)
from xnas.errors import ConfigError
from xnas.methods import METHODS, Game, experts_learning_rates
from xnas.optim import ExpertsOptimizer
from xnas.records import Gap, SearchEpoch, SearchResult
from xnas.runs.interrupt import Interrupted, stop_at_round
from xnas.runs.memory import memory_in_use, reset_peak
from xnas.runs.run_folder import RunFolder
from xnas.runs.search_config import (
    FEW_IMAGES,
    SearchConfig,
    parse_skip_dropout,
    pick_device,
    resolve,
)
from xnas.runs.tensorboard import Curves
from xnas.space import SPACES, Genotype, discretize, explain
from xnas.space.supernet import Supernet

PROBE_ROUNDS = 5
OUTLOOK_ROUNDS = 20


class Display(Protocol):
    """Who is told what happens."""

    def say(self, line: str) -> None:
        """Something worth knowing."""

    def warn(self, line: str) -> None:
        """Something to worry about."""

    def after_round(self, search: Search) -> None:
        """One round was played."""

    def after_epoch(self, record: SearchEpoch, epochs: int) -> None:
        """One epoch was closed."""


class Silence:
    """A display that shows nothing."""

    def say(self, line: str) -> None:
        """Nothing."""

    def warn(self, line: str) -> None:
        """Nothing."""

    def after_round(self, search: Search) -> None:
        """Nothing."""

    def after_epoch(self, record: SearchEpoch, epochs: int) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A search ready to play."""

    search: Search
    config: SearchConfig
    game: Game
    notes: list[str]


def search(
    config: SearchConfig, data: str | ImageData = "digits", *, display: Display | None = None
) -> SearchResult:
    """Search a cell for `data` (a dataset's name, a folder of class folders, or `ImageData`)."""
    images, name = _images(config, data)
    prepared = prepare(config, images)
    folder = RunFolder.create(config.out or RunFolder.next_free("search", name))
    resolved = replace(prepared.config, out=folder.path)
    folder.write_config("search", name, resolved)
    return _run(folder, prepared, images, display or Silence())


def resume_search(
    path: Path, *, data: ImageData | None = None, display: Display | None = None
) -> SearchResult:
    """Go on with a search that was stopped, from its last checkpoint or, without one, from its start."""
    folder = RunFolder.open(path)
    name, saved = folder.read_config("search")
    config = config_from_json(saved)
    if (folder.path / "genotype.json").exists():
        raise ConfigError(f"the search in {path} is finished; its cell is in genotype.json")
    images = data if data is not None else _images(config, name)[0]
    prepared = prepare(config, images)
    if folder.checkpoint.exists():
        state = load_checkpoint(folder.checkpoint, pick_device(config.device))
        restore_search(prepared.search, state)
        folder.cut_metrics(state["metrics_length"])
    else:
        folder.cut_metrics(0)
    return _run(folder, prepared, images, display or Silence(), resumed=True)


def config_from_json(saved: dict[str, Any]) -> SearchConfig:
    """Settings as a run folder keeps them."""
    paths = {name: Path(saved[name]) for name in ("out", "data_dir") if saved.get(name) is not None}
    try:
        return SearchConfig(**{**saved, **paths})
    except TypeError as error:
        raise ConfigError(
            f"the settings in config.json are of another version of xnas: {error}"
        ) from None


def prepare(config: SearchConfig, images: ImageData) -> _Prepared:
    """Build supernet, method and batches; every random choice from its own stream of the seed."""
    device = pick_device(config.device)
    train_half, valid_half = halves(images.labels, seed=stream_seed(config.seed, "split"))
    config, notes = resolve(config, examples=min(len(train_half), len(valid_half)), device=device)
    assert config.batch_size is not None  # noqa: S101 - resolved
    assert config.epochs is not None  # noqa: S101 - resolved
    supernet = build_supernet(config, images).to(device)
    rounds = rounds_per_epoch(len(valid_half), config.batch_size)
    game = Game(
        updates=config.epochs * rounds,
        examples=len(valid_half),
        epochs=config.epochs,
        batch_size=config.batch_size,
        replications=supernet.replications,
        accounting=config.accounting,
        experts_lr=config.experts_lr or "matched",
        reward_bound=config.reward_bound,
        relaxation=config.relaxation or 1.0,
        wipeout=config.wipeout,
        seed=stream_seed(config.seed, "method"),
    )

    pixels, labels = images.images.to(device), images.labels.to(device)

    def source(name: str, indices: torch.Tensor, augment: Augmentation) -> BatchSource:
        return BatchSource(
            pixels,
            labels,
            indices,
            batch_size=config.batch_size or 0,
            augment=augment,
            mean=images.mean,
            std=images.std,
            seed=config.seed,
            name=name,
        )

    settings = SearchSettings(
        epochs=config.epochs,
        rounds_per_epoch=rounds,
        accounting=config.accounting,
        skip_dropout=parse_skip_dropout(config.skip_dropout or "0"),
        autocast=config.precision == "bf16",
        seed=stream_seed(config.seed, "dropout"),
    )
    policy = "cifar10" if config.auto_augment else None
    engine = Search(
        supernet,
        METHODS[config.method](supernet.mixtures, game),
        train=source("training", train_half, augmentation_for(images, autoaugment=policy)),
        valid=source("validation", valid_half, augmentation_for(images)),
        settings=settings,
    )
    return _Prepared(engine, config, game, notes)


def build_supernet(config: SearchConfig, images: ImageData) -> Supernet:
    """The supernet of a resolved configuration, with weights from the seed's own stream."""
    space = SPACES[config.space]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream_seed(config.seed, "weights"))
        return Supernet(
            space.with_none() if config.include_none else space,
            num_classes=len(images.classes),
            in_chans=images.channels,
            cells=config.cells or 8,
            channels=config.channels or 16,
        )


def _images(config: SearchConfig, data: str | ImageData) -> tuple[ImageData, str]:
    if isinstance(data, ImageData):
        return data, data.name
    loaded = load_data(data, data_dir=config.data_dir, image_size=config.image_size)
    return loaded, data


def _run(
    folder: RunFolder,
    prepared: _Prepared,
    images: ImageData,
    display: Display,
    *,
    resumed: bool = False,
) -> SearchResult:
    """Play all rounds that are left, and write down what was found."""
    engine = prepared.search
    for line in _introduction(prepared, images, resumed=resumed):
        display.say(line)
    for line in _cautions(prepared, images):
        display.warn(line)
    told: set[str] = set()
    records = [SearchEpoch.from_json(line) for line in folder.read_metrics()]
    with stop_at_round() as stopped, Curves(folder.path) as curves:
        while engine.epoch < engine.settings.epochs:
            record = _play_epoch(prepared, folder, display, stopped)
            records.append(record)
            folder.append_metric(asdict(record))
            _save(folder, engine)
            curves.add(record)
            display.after_epoch(record, engine.settings.epochs)
            for line in worries(record, epochs=engine.settings.epochs, told=told):
                display.warn(line)
    _require_whole(prepared)
    return _conclude(folder, prepared, records)


def _play_epoch(
    prepared: _Prepared, folder: RunFolder, display: Display, stopped: Callable[[], bool]
) -> SearchEpoch:
    engine, config = prepared.search, prepared.config
    device = engine.train_batch[0].device
    if engine.round_in_epoch == 0:
        engine.begin_epoch()
    reset_peak(device)
    started, paused, first = time.perf_counter(), 0.0, engine.round_in_epoch
    rounds, last_epoch = engine.settings.rounds_per_epoch, engine.epoch + 1 == engine.settings.epochs
    gap: Gap | None = None
    while engine.round_in_epoch < rounds:
        if last_epoch and engine.round_in_epoch == rounds - 1:
            _synchronize(device)
            before = time.perf_counter()
            gap = discretization_gap(engine)  # before the last round's wipeout
            paused = time.perf_counter() - before
        play_round(engine)
        display.after_round(engine)
        if engine.rounds == PROBE_ROUNDS:
            _synchronize(device)
            display.say(_estimate(engine, time.perf_counter() - started, device))
        if engine.rounds == OUTLOOK_ROUNDS:
            _tell_outlook(prepared, display)
        if stopped():
            _save(folder, engine)
            raise Interrupted(
                f"stopped after round {engine.rounds}; go on with: xnas search --resume {folder.path}"
            )
    _synchronize(device)
    seconds = (time.perf_counter() - started - paused) * rounds / (rounds - first)
    if gap is None and (engine.epoch + 1) % config.gap_every == 0:
        gap = discretization_gap(engine)
    return end_epoch(engine, seconds=seconds, memory_bytes=memory_in_use(device), gap=gap)


def _synchronize(device: torch.device) -> None:
    """Wait for the GPU, whose rounds are only queued when `play_round` returns."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _introduction(prepared: _Prepared, images: ImageData, *, resumed: bool) -> list[str]:
    engine, game, config = prepared.search, prepared.game, prepared.config
    lines = [f"{images.name}: {images.note}"] if images.note else []
    lines += [f"chosen: {note}" for note in prepared.notes]
    weights = sum(p.numel() for p in engine.weights)
    lines.append(
        f"supernet: {weights:,} weights, {sum(m.numel() for m in engine.mixtures.values())} experts, "
        f"{game.updates} rounds on {engine.train_batch[0].device}"
    )
    if isinstance(engine.method, ExpertsOptimizer):
        for kind, mixture in engine.mixtures.items():
            rates = experts_learning_rates(mixture.shape[1], kind, game)
            told = ", ".join(f"{name} {rate:.3g}" for name, rate in rates.items())
            lines.append(f"learning rate of the {kind} mixture: {told}; used: {config.experts_lr}")
    if resumed:
        lines.append(f"going on after round {engine.rounds}")
    return lines


def _cautions(prepared: _Prepared, images: ImageData) -> list[str]:
    config, found = prepared.config, []
    if len(images.labels) < FEW_IMAGES:
        found.append(
            f"{len(images.labels)} images are few for a search; a fine-tuned pretrained model will "
            "probably serve better"
        )
    if isinstance(prepared.search.method, ExpertsOptimizer):
        line = impossible(prepared.game.epochs, prepared.game.relaxation, wipeout=config.wipeout)
        found += [line] if line else []
    if config.auto_augment:
        found.append("AutoAugment's policy was learned with labels of CIFAR-10")
    return found


def _estimate(engine: Search, seconds: float, device: torch.device) -> str:
    """Time and memory, from the first rounds; the very first is slow, so this errs on the long side."""
    left = engine.settings.epochs * engine.settings.rounds_per_epoch - engine.rounds
    memory = memory_in_use(device) / 2**20
    total = seconds / engine.rounds * left
    return f"estimate: {duration(total)} for {left} more rounds, {memory:,.0f} MiB of memory"


def duration(seconds: float) -> str:
    """Seconds as a person would say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _tell_outlook(prepared: _Prepared, display: Display) -> None:
    if isinstance(prepared.search.method, ExpertsOptimizer) and prepared.config.wipeout:
        found = outlook(
            prepared.search,
            reward_bound=prepared.game.reward_bound,
            relaxation=prepared.game.relaxation,
        )
        if found:
            display.say(found.line())


def _save(folder: RunFolder, engine: Search) -> None:
    state = search_state(engine) | {"metrics_length": folder.metrics_length()}
    save_checkpoint(folder.checkpoint, state)


def _require_whole(prepared: _Prepared) -> None:
    """Every round of the horizon was played, or nothing was left to learn."""
    engine, game = prepared.search, prepared.game
    if isinstance(engine.method, ExpertsOptimizer):
        for kind, mixture in engine.mixtures.items():
            played, horizon = engine.method.ledger(mixture).rounds, game.rounds(kind)
            settled = engine.settled_at * horizon // game.updates
            if played not in (horizon, settled):
                raise RuntimeError(
                    f"{played} rounds were played on the {kind} mixture; its horizon is {horizon}, and "
                    f"it settled at {settled}"
                )


def _conclude(folder: RunFolder, prepared: _Prepared, records: list[SearchEpoch]) -> SearchResult:
    """Discretise, and write the genotype last: its presence says that the run is finished."""
    engine = prepared.search
    method = engine.method
    given = (
        {kind: method.strengths(m) for kind, m in engine.mixtures.items()},
        {kind: method.alive(m) for kind, m in engine.mixtures.items()},
        engine.supernet.space,
        {kind: method.cumulative_rewards(m) for kind, m in engine.mixtures.items()},
    )
    genotype: Genotype = discretize(*given)  # type: ignore[arg-type]
    folder.write_json(
        "discretization.json",
        {"format": "xnas-discretization", "version": 1, "edges": [asdict(c) for c in explain(*given)]},  # type: ignore[arg-type]
    )
    ledgers = {}
    if isinstance(method, ExpertsOptimizer):
        ledgers = {kind: method.ledger(m) for kind, m in engine.mixtures.items()}
        folder.write_json(
            "ledger.json",
            {"format": "xnas-ledger", "version": 1} | {k: asdict(v) for k, v in ledgers.items()},
        )
    folder.write_text("genotype.json", genotype.to_json())
    return SearchResult(
        out=str(folder.path),
        genotype=genotype.to_json(),
        epochs=tuple(records),
        rounds=engine.rounds,
        settled_at=engine.settled_at,
        ledgers=ledgers,
    )
