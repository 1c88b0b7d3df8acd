"""A whole search: settings and data in, a run folder with a genotype out.

The path to the algorithm goes on in `engine/search.py` (`play_round`), `methods/xnas.py` and `theory/`;
on a GPU the same rounds are captured and replayed (`runs/backends.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import Any

from xnas.benchmarks import TabularBenchmark
from xnas.data import Images, StreamedImages
from xnas.engine import (
    Search,
    discretization_gap,
    end_epoch,
    load_checkpoint,
    restore_search,
    save_checkpoint,
    search_state,
    worries,
)
from xnas.errors import ConfigError
from xnas.optim import ExpertsOptimizer
from xnas.records import Gap, SearchEpoch, SearchResult
from xnas.runs.backends import playable_round
from xnas.runs.briefing import cautions, estimate, forecast, introduction
from xnas.runs.devices import pick_device, synchronize
from xnas.runs.displays import SearchDisplay, Silence
from xnas.runs.interrupt import Interrupted, stop_at_round
from xnas.runs.memory import memory_in_use, reset_peak
from xnas.runs.prepare import Prepared, prepare
from xnas.runs.run_folder import RunFolder
from xnas.runs.search_config import SearchConfig
from xnas.runs.sources import images_again, load_images, whereabouts
from xnas.runs.tensorboard import Curves
from xnas.runs.truth import load_truth, space_of, truth_of
from xnas.space import discretize, explain
from xnas.space.discretize import strongest_cell

PROBE_ROUNDS = 5
OUTLOOK_ROUNDS = 20


def search(
    config: SearchConfig, data: str | Images = "digits", *, display: SearchDisplay | None = None
) -> SearchResult:
    """Search a cell for `data` (a dataset's name, a folder of class folders, or `ImageData`)."""
    truth = load_truth(config.truth)
    images = load_images(config, data) if isinstance(data, str) else data
    prepared = prepare(config, images)
    given = whereabouts(data) if isinstance(data, str) else None
    folder = RunFolder.create(config.out or RunFolder.next_free("search", images.name), given)
    whole = None if config.truth is None else config.truth.resolve()
    streamed = isinstance(images, StreamedImages)  # to be loaded alike when the run is resumed
    resolved = replace(prepared.config, out=folder.path, truth=whole, stream=streamed)
    with folder.locked():
        folder.write_config("search", images.fingerprint(), resolved)
        return _run(folder, prepared, images, display or Silence(), truth=truth)


def resume_search(
    path: Path, *, data: Images | None = None, display: SearchDisplay | None = None
) -> SearchResult:
    """Go on with a search that was stopped, from its last checkpoint or, without one, from its start."""
    folder = RunFolder.open(path)
    fingerprint, saved = folder.read_config("search")
    config = config_from_json(saved)
    if (folder.path / "genotype.json").exists():
        raise ConfigError(f"the search in {path} is finished; its cell is in genotype.json")
    images = images_again(folder, config, fingerprint, data, "search")
    truth = load_truth(config.truth)
    with folder.locked():
        prepared = prepare(config, images)
        if folder.checkpoint.exists():
            state = load_checkpoint(folder.checkpoint, pick_device(config.device))
            restore_search(prepared.search, state)
            folder.cut_metrics(state["metrics_length"])
        else:
            folder.cut_metrics(0)
        return _run(folder, prepared, images, display or Silence(), truth=truth, resumed=True)


def config_from_json(saved: dict[str, Any]) -> SearchConfig:
    """Settings as a run folder keeps them."""
    names = ("out", "data_dir", "truth")
    paths = {name: Path(saved[name]) for name in names if saved.get(name) is not None}
    try:
        return SearchConfig(**{**saved, **paths})
    except TypeError as error:
        raise ConfigError(
            f"the settings in config.json are of another version of xnas: {error}"
        ) from None


def _run(
    folder: RunFolder,
    prepared: Prepared,
    images: Images,
    display: SearchDisplay,
    *,
    truth: TabularBenchmark | None,
    resumed: bool = False,
) -> SearchResult:
    """Play all rounds that are left, and write down what was found."""
    engine = prepared.search
    for line in introduction(prepared, images, resumed=resumed):
        display.say(line)
    for line in cautions(prepared, images):
        display.warn(line)
    told: set[str] = set()
    records = [SearchEpoch.from_json(line) for line in folder.read_metrics()]
    play_round: Callable[[], None] | None = None
    with stop_at_round() as stopped, Curves(folder.path) as curves:
        while engine.epoch < engine.settings.epochs:
            if engine.round_in_epoch == 0:
                engine.begin_epoch()
            if play_round is None:
                play_round = playable_round(engine, prepared.config.backend)
            record = _play_epoch(prepared, folder, display, stopped, play_round)
            if record.deleted or engine.settled_at == engine.rounds:
                play_round = None  # what is left is another round, and a captured one has to go first
            if truth is not None:
                record = replace(record, truth=truth_of(engine, truth))
            records.append(record)
            folder.append_metric(asdict(record))
            _save(folder, engine)
            curves.add(record)
            display.after_epoch(record, engine.settings.epochs)
            if stopped() and engine.epoch < engine.settings.epochs:
                raise Interrupted(_how_to_go_on(folder, engine))
            for line in worries(record, epochs=engine.settings.epochs, told=told):
                display.warn(line)
    _require_whole(prepared)
    return _conclude(folder, prepared, records)


def _play_epoch(
    prepared: Prepared,
    folder: RunFolder,
    display: SearchDisplay,
    stopped: Callable[[], bool],
    play_round: Callable[[], None],
) -> SearchEpoch:
    engine, config = prepared.search, prepared.config
    device = engine.train_batch[0].device
    reset_peak(device)
    started, paused, first = time.perf_counter(), 0.0, engine.round_in_epoch
    rounds, last_epoch = engine.settings.rounds_per_epoch, engine.epoch + 1 == engine.settings.epochs
    gap: Gap | None = None
    while engine.round_in_epoch < rounds:
        if last_epoch and engine.round_in_epoch == rounds - 1:
            synchronize(device)
            before = time.perf_counter()
            gap = discretization_gap(engine)  # before the last round's wipeout
            paused = time.perf_counter() - before
        play_round()
        display.after_round(engine)
        if engine.rounds == PROBE_ROUNDS:
            synchronize(device)
            a_round = (time.perf_counter() - started) / (engine.round_in_epoch - first)
            display.say(estimate(engine, a_round, device))
        if engine.rounds == OUTLOOK_ROUNDS:
            line = forecast(prepared)
            if line:
                display.say(line)
        if stopped() and engine.round_in_epoch < rounds:  # a whole epoch is closed first
            _save(folder, engine)
            raise Interrupted(_how_to_go_on(folder, engine))
    synchronize(device)
    seconds = (time.perf_counter() - started - paused) * rounds / (rounds - first)
    if gap is None and (engine.epoch + 1) % config.gap_every == 0:
        gap = discretization_gap(engine)
    return end_epoch(engine, seconds=seconds, memory_bytes=memory_in_use(device), gap=gap)


def _how_to_go_on(folder: RunFolder, engine: Search) -> str:
    command = f"xnas search --resume {quote(str(folder.path))}"
    if folder.data is None:
        command = f"xnas.resume_search({str(folder.path)!r}, data=...), with the same ImageData"
    return f"stopped after round {engine.rounds}; go on with: {command}"


def _save(folder: RunFolder, engine: Search) -> None:
    state = search_state(engine) | {"metrics_length": folder.metrics_length()}
    save_checkpoint(folder.checkpoint, state)


def _require_whole(prepared: Prepared) -> None:
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


def _conclude(folder: RunFolder, prepared: Prepared, records: list[SearchEpoch]) -> SearchResult:
    """Discretise, and write the genotype last: its presence says that the run is finished."""
    engine = prepared.search
    method, space = engine.method, space_of(engine)
    strengths, alive, sums = engine.standing()
    genotype = discretize(strengths, alive, space, sums)
    edges = [asdict(choice) for choice in explain(strengths, alive, space, sums)]
    told: dict[str, object] = {"format": "xnas-discretization", "version": 1, "edges": edges}
    if space.as_string:
        told |= {"arch": genotype.arch, "arch_with_none": strongest_cell(strengths, alive, space).arch}
    folder.write_json("discretization.json", told)
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
