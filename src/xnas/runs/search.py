"""A whole search: settings and data in, a run folder with a genotype out.

The path to the algorithm goes on in `engine/search.py` (`play_round`), whose method is an optimizer that
`methods/xnas.py` makes: `optim/experts.py` (`step`), `optim/accounts.py` (`play`), `theory/`. On a GPU
the same rounds are captured and replayed (`runs/backends.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from xnas.benchmarks import TabularBenchmark
from xnas.data import Images, StreamedImages, load_data
from xnas.engine import (
    Search,
    captured_round,
    discretization_gap,
    end_epoch,
    play_round,
    require_sound,
    restore_search,
    search_state,
    worries,
)
from xnas.engine.checkpoint import require_version
from xnas.engine.distributed import Ranks, join_ranks
from xnas.engine.restore import require_settings
from xnas.errors import ConfigError, FinishedError, GenotypeError, RoundError, VersionError
from xnas.methods import ledgers
from xnas.options import saved_options
from xnas.process.devices import pick_device, repeatable, synchronize
from xnas.process.failures import explain_failures
from xnas.process.interrupt import Interrupted, stop_at_round
from xnas.process.memory import memory_in_use, reset_peak
from xnas.process.output import explain_lost_output
from xnas.records import Gap, SearchEpoch, SearchResult
from xnas.runs.backends import is_captured
from xnas.runs.briefing import cautions, estimate, forecast, introduction
from xnas.runs.displays import Listener, SearchDisplay, Silence
from xnas.runs.onlooker import folder_again, new_folder
from xnas.runs.prepare import Prepared, prepare
from xnas.runs.run_folder import RunFolder
from xnas.runs.saver import Saver
from xnas.runs.search_config import SearchConfig
from xnas.runs.sources import (
    EMBEDDED,
    given_data,
    images_again,
    require_config,
    whereabouts,
)
from xnas.runs.tensorboard import Curves
from xnas.runs.truth import load_truth, require_same, space_of, truth_again, truth_of
from xnas.space import Genotype, discretize, explain
from xnas.space.discretize import strongest_cell

PROBE_ROUNDS = 5
OUTLOOK_ROUNDS = 20


def search(
    config: SearchConfig, data: str | Path | Images = EMBEDDED, *, display: SearchDisplay | None = None
) -> SearchResult:
    """Search a cell for `data` (a dataset's name, a folder of class folders, or `ImageData`).

    >>> import torch
    >>> from xnas import ImageData
    >>> noise = torch.randint(0, 256, (64, 1, 8, 8), dtype=torch.uint8)
    >>> labels = torch.arange(64) % 2
    >>> data = ImageData(name="noise", images=noise, labels=labels, classes=("even", "odd"))
    >>> config = SearchConfig(epochs=1, batch_size=16, cells=3, channels=2, device="cpu")
    >>> result = search(config, data)
    >>> result.rounds
    2
    """
    require_config("search", SearchConfig, config)
    data = given_data(data)
    ranks = join_ranks()
    truth = load_truth(config.truth)
    images = load_data(data, config) if isinstance(data, str) else data
    prepared = prepare(config, images, ranks)
    given = whereabouts(data) if isinstance(data, str) else None
    folder = new_folder(ranks, lambda: config.out or RunFolder.next_free("search", images.name), given)
    whole = None if config.truth is None else config.truth.resolve()
    streamed = isinstance(images, StreamedImages)  # to be loaded alike when the run is resumed
    resolved = replace(prepared.config, out=folder.path, truth=whole, stream=streamed)
    with folder.locked(new=True):
        folder.write_config("search", images.fingerprint(), resolved, processes=ranks.size)
        return _run(folder, prepared, images, display or Silence(), truth=truth)


def resume_search(
    path: Path | str,
    *,
    data: Images | None = None,
    display: SearchDisplay | None = None,
    **changes: Any,  # noqa: ANN401 - settings
) -> SearchResult:
    """Go on with a search that was stopped, from its last checkpoint or, without one, its start.

    Its settings hold, but `backend`, `device`, `data_dir` and `checkpoint_minutes` may be given anew,
    for this call.
    """
    ranks = join_ranks()
    folder, display = folder_again(ranks, Path(path)), (display if ranks.first else None) or Silence()
    with folder.locked():
        fingerprint, saved = folder.read_config("search")
        config = saved_options(SearchConfig, saved, changes)
        folder.changes = changes
        _require_unfinished(folder, display)
        images = images_again(folder, config, fingerprint, data, "search")
        truth = truth_again(config.truth, display.warn)
        prepared, state = _restored(folder, config, images, ranks, display)
        folder.metrics.restore(state, display.warn)
        require_same(truth, folder.metrics.records(SearchEpoch.from_json))
        return _run(folder, prepared, images, display, truth=truth, resumed=state is not None)


def _restored(
    folder: RunFolder, config: SearchConfig, images: Images, ranks: Ranks, display: Listener
) -> tuple[Prepared, dict[str, Any] | None]:
    """A search at its newest checkpoint that fits, with that, or at its start."""
    device = pick_device(config.device, ranks)
    prepared, tried = prepare(config, images, ranks), False

    def restore(state: dict[str, Any]) -> None:
        nonlocal prepared, tried
        require_version(state)
        require_settings(state, folder.settings)
        if tried:  # what did not fit may have left it half-way
            prepared = prepare(config, images, ranks)
        tried = True
        restore_search(prepared.search, state)

    state = ranks.first_reads(lambda: folder.newest_checkpoint(device, display.warn, restore), device)
    if state is not None and not ranks.first:
        restore(state)
    return prepared, state


def _require_unfinished(folder: RunFolder, display: Listener) -> None:
    """Raise if the genotype is there, written last; a damaged one is concluded again."""
    path = folder.path / "genotype.json"
    if not path.exists():
        return
    try:
        Genotype.load(path)
    except VersionError as error:
        raise ConfigError(f"the search in {folder.path} is finished; {error}") from error
    except GenotypeError as error:
        folder.require_checkpoint(f"{path} is damaged ({error})")
        display.warn(f"{path} is damaged ({error}); the end of the search is written again")
        return
    raise FinishedError(f"the search in {folder.path} is finished; its cell is in genotype.json")


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
    engine, ranks = prepared.search, prepared.search.ranks
    display = display if ranks.first else Silence()
    start = search_state(engine) | {"images": images.fingerprint()}
    ranks.require_same(start, "at the start", folder.kept)
    records = folder.metrics.records(SearchEpoch.from_json)
    told: set[str] = set()
    for record in records:
        worries(record, epochs=engine.settings.epochs, told=told)  # told before the run was stopped
    minutes = prepared.config.checkpoint_minutes
    saver = Saver(folder, lambda: search_state(engine), minutes=minutes, ranks=ranks)
    replay: Callable[[], None] | None = None
    shown = folder.path if ranks.first else None
    device = engine.train_batch[0].device
    with (
        explain_lost_output(lambda: _how_to_go_on(folder, engine)),
        folder.told(),
        stop_at_round() as asked,
        Curves(shown) as curves,
        repeatable(device),
    ):
        _begin(prepared, images, display, resumed=resumed)
        stopped = ranks.agreed(asked)
        while engine.epoch < engine.settings.epochs:
            with explain_failures(
                lambda: f"after round {engine.rounds}, epoch {engine.epoch + 1}", folder.kept
            ):
                if engine.round_in_epoch == 0:
                    engine.begin_epoch()
                if replay is None and is_captured(engine, prepared.config.backend):
                    replay = captured_round(engine)
                play = replay or partial(play_round, engine)
                record = _play_epoch(prepared, saver, display, stopped, play)
            if record.deleted or engine.settled_at == engine.rounds:
                replay = None  # what is left is another round, and a captured one has to go first
            if truth is not None:
                record = replace(record, truth=truth_of(engine, truth))
            records.append(record)
            saver.save(asdict(record))
            curves.add(record)
            display.after_epoch(record, engine.settings.epochs)
            for line in worries(record, epochs=engine.settings.epochs, told=told):
                display.warn(line)
            if stopped() and engine.epoch < engine.settings.epochs:
                raise Interrupted(_how_to_go_on(folder, engine))
    _require_whole(prepared)
    with explain_failures(lambda: f"after the last round, {engine.rounds}", folder.kept):
        result = _conclude(folder, prepared, records)
    ranks.wait()  # what the first process writes is there for all
    return result


def _begin(prepared: Prepared, images: Images, display: SearchDisplay, *, resumed: bool) -> None:
    for line in introduction(prepared, images, resumed=resumed):
        display.say(line)
    for line in () if resumed else cautions(prepared, images):
        display.warn(line)


def _play_epoch(
    prepared: Prepared,
    saver: Saver,
    display: SearchDisplay,
    stopped: Callable[[], bool],
    play: Callable[[], None],
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
            paused += time.perf_counter() - before
        play()
        display.after_round(engine)
        if engine.rounds == PROBE_ROUNDS:
            synchronize(device)
            a_round = (time.perf_counter() - started) / (engine.round_in_epoch - first)
            display.say(estimate(engine, a_round, device))
        if engine.rounds == OUTLOOK_ROUNDS:
            line = forecast(prepared)
            if line:
                display.say(line)
        if engine.round_in_epoch < rounds and (
            stopped() or saver.due()
        ):  # else the epoch is closed first
            synchronize(device)
            before = time.perf_counter()
            engine.agree()
            require_sound(engine)
            saver.save()
            paused += time.perf_counter() - before
            if stopped():
                raise Interrupted(_how_to_go_on(saver.folder, engine))
    synchronize(device)
    seconds = (time.perf_counter() - started - paused) * rounds / (rounds - first)
    if gap is None and (engine.epoch + 1) % config.gap_every == 0:
        gap = discretization_gap(engine)
    return end_epoch(engine, seconds=seconds, memory_bytes=memory_in_use(device), gap=gap)


def _how_to_go_on(folder: RunFolder, engine: Search) -> str:
    command = f"{engine.ranks.command} search {folder.resumed_by}"
    if folder.data is None:
        command = f"xnas.resume_search({folder.resumed_with}), with the same ImageData"
    return f"stopped after round {engine.rounds}; go on with: {command}"


def _require_whole(prepared: Prepared) -> None:
    """Every round of the horizon was played, or nothing was left to learn."""
    engine, game = prepared.search, prepared.game
    for kind, ledger in ledgers(engine.method, engine.mixtures).items():
        horizon = game.rounds(kind)
        settled = engine.settled_at * horizon // game.updates
        if ledger.rounds not in (horizon, settled):
            raise RoundError(
                f"{ledger.rounds} rounds were played on the {kind} mixture; its horizon is {horizon}, "
                f"and it settled at {settled}: the checkpoint is damaged, or of another search"
            )


def _conclude(folder: RunFolder, prepared: Prepared, records: list[SearchEpoch]) -> SearchResult:
    """Discretise, and write the genotype last: its presence says that the run is finished."""
    engine = prepared.search
    space = space_of(engine)
    strengths, alive, sums = engine.standing()
    genotype = discretize(strengths, alive, space, sums)
    edges = [asdict(choice) for choice in explain(strengths, alive, space, sums)]
    told: dict[str, object] = {"format": "xnas-discretization", "version": 1, "edges": edges}
    if genotype.one_line is not None:
        told |= {
            "arch": genotype.one_line,
            "arch_with_none": strongest_cell(strengths, alive, space).one_line,
        }
    folder.write_json("discretization.json", told)
    books = ledgers(engine.method, engine.mixtures)
    if books:
        folder.write_json(
            "ledger.json",
            {"format": "xnas-ledger", "version": 1} | {k: asdict(v) for k, v in books.items()},
        )
    folder.write_text("genotype.json", genotype.to_json())
    return SearchResult(
        out=str(folder.path),
        genotype=genotype.to_json(),
        epochs=tuple(records),
        rounds=engine.rounds,
        settled_at=engine.settled_at,
        ledgers=books,
    )
