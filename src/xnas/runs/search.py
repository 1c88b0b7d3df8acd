"""A whole search: settings and data in, a run folder with a genotype out.

`SearchJob.step` plays one round: `play_round` of `engine/search.py` is the loop body of Algorithm 1. Its
method is an optimizer that `methods/xnas.py` makes: `optim/experts.py` (`step`), then `theory/`. On a
GPU the same round is captured in a CUDA graph and replayed (`engine/capture.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from xnas.data import Images, load_data, stream_seed
from xnas.engine import (
    captured_round,
    discretization_gap,
    end_epoch,
    play_round,
    require_sound,
    restore_search,
    search_state,
    worries,
)
from xnas.engine.distributed import Ranks, join_ranks
from xnas.engine.search import Standing
from xnas.engine.search_state import SEARCH_FORMAT
from xnas.errors import ConfigError, FinishedError, GenotypeError, RoundError, VersionError
from xnas.methods import ledgers
from xnas.records import EdgeChoice, EpochCost, Gap, SearchEpoch
from xnas.runs.backends import is_captured
from xnas.runs.briefing import cautions, forecast, introduction, stage_line
from xnas.runs.cell_costs import first_files, saved_times
from xnas.runs.displays import Callback, SearchDisplay, showing
from xnas.runs.doubts import doubt, undecided
from xnas.runs.job import Kind, Position
from xnas.runs.lifecycle import begin, resume
from xnas.runs.prepare import Prepared, prepare
from xnas.runs.results import SearchResult
from xnas.runs.run_folder import RunFolder
from xnas.runs.saver import Clock
from xnas.runs.search_config import SearchConfig
from xnas.runs.search_limits import SearchLimits
from xnas.runs.sources import EMBEDDED, GivenImages, config_and_data, given_data
from xnas.runs.tensorboard import search_curves
from xnas.runs.train_config import TrainConfig
from xnas.runs.truth import (
    Benchmark,
    load_truth,
    require_same,
    space_of,
    truth_again,
    truth_of,
)
from xnas.space import Genotype
from xnas.space.discretize import chosen_cells, strongest_cell

OUTLOOK_ROUNDS = 20
"""Rounds after which wipeouts are forecast."""


def search(
    config: SearchConfig | str | Path | GivenImages | None = None,
    data: str | Path | GivenImages | None = None,
    *,
    display: SearchDisplay | None = None,
    callbacks: Sequence[Callback] = (),
    trained: TrainConfig | None = None,
    **settings: Any,  # noqa: ANN401 - of SearchConfig
) -> SearchResult:
    """Search a cell for `data` (a dataset's name, a folder of images, or `ImageData`); default: digits.

    `search("photos", epochs=10)` is short for `search(SearchConfig(epochs=10), "photos")`. Progress and
    warnings are printed, or go to `display` if there is one; with `quiet=True` nothing is. `callbacks`
    are objects of your own (`Callback`) that follow the rounds. Limits on the model are for the network
    that is `trained` by these options; by default for that of `train` without any.

    >>> import torch
    >>> from xnas import ImageData
    >>> noise = torch.randint(0, 256, (64, 1, 8, 8), dtype=torch.uint8)
    >>> labels = torch.arange(64) % 2
    >>> data = ImageData(name="noise", images=noise, labels=labels, classes=("even", "odd"))
    >>> small = {"epochs": 1, "batch_size": 16, "cells": 3, "channels": 2, "device": "cpu"}
    >>> result = search(data, **small, quiet=True)
    >>> result.rounds
    2
    """
    config, data = config_and_data("search", SearchConfig, config, data, settings)
    given = given_data(EMBEDDED if data is None else data, config.out, config)
    ranks = join_ranks()
    truth = load_truth(config.truth, config.space)
    with _showing(display, ranks, callbacks, quiet=config.quiet) as shown:
        images = load_data(given, config) if isinstance(given, str) else given
        prepared = prepare(config, images, ranks)
        limits = SearchLimits.of(prepared, images, trained=trained)
        job = SearchJob(prepared, images, truth, shown, limits)
        place = given if isinstance(given, str) else None
        times = first_files(None if limits is None else limits.costs)
        return begin(SEARCH, job, images, data=place, display=shown, first=times)


def resume_search(
    path: Path | str,
    *,
    data: GivenImages | None = None,
    display: SearchDisplay | None = None,
    callbacks: Sequence[Callback] = (),
    quiet: bool = False,
    trained: TrainConfig | None = None,
    **changes: Any,  # noqa: ANN401 - settings
) -> SearchResult:
    """Resume a search that was stopped, from its last checkpoint or, without one, from its start.

    Its settings hold, except for `backend`, `device`, `data_dir` and `checkpoint_minutes`, which may be
    given for this call. It shows what `search` shows; `trained` has to be what it was there.
    """
    ranks = join_ranks()
    with _showing(display, ranks, callbacks, quiet=quiet) as shown:

        @cache
        def truth(path: Path | None, space: str) -> Benchmark | None:
            return truth_again(path, space, shown.warn)

        def build(folder: RunFolder, config: SearchConfig, images: Images) -> SearchJob:
            benchmark = truth(config.truth, config.space)
            prepared = prepare(config, images, ranks, resumed=True)
            times = saved_times(folder.path) if config.max_latency is not None else None
            limits = SearchLimits.of(prepared, images, times, trained)
            return SearchJob(prepared, images, benchmark, shown, limits)

        return resume(SEARCH, Path(path), build, data=data, changes=changes, ranks=ranks, display=shown)


class SearchJob:
    """A search as a run plays it: rounds of Algorithm 1, and what is measured around them."""

    def __init__(
        self,
        prepared: Prepared,
        images: Images,
        truth: Benchmark | None,
        display: SearchDisplay,
        limits: SearchLimits | None = None,
    ) -> None:
        """`truth` is a benchmark that is asked for cells, for the record alone."""
        self.prepared, self.images, self.display = prepared, images, display
        self.limits = limits
        self.truth = None if truth is None else truth.on(images.name)
        self.search, self.ranks = prepared.search, prepared.search.ranks
        self.device = self.search.device
        self.seed = stream_seed(prepared.config.seed, "device")
        path = prepared.config.truth
        self.config = replace(prepared.config, truth=None if path is None else path.resolve())
        self.identity: dict[str, object] = {}
        self.replay: Callable[[], None] | None = None
        self.gap: Gap | None = None
        self.warned: set[str] = set()

    def position(self) -> Position:
        """In rounds."""
        search, s = self.search, self.search.settings
        return Position(
            epoch=search.epoch,
            epochs=s.epochs,
            step=search.round_in_epoch,
            steps=s.rounds_per_epoch,
            done=search.rounds,
            left=s.epochs * s.rounds_per_epoch - search.rounds,
        )

    def introduction(self) -> list[str]:
        """What was chosen, how large the search is, and which accuracies it is watched by."""
        limited = [] if self.limits is None else self.limits.lines(self.config.method)
        watched = [] if self.truth is None else [self.truth.line]
        return introduction(self.prepared, self.images) + limited + watched

    def cautions(self) -> list[str]:
        """Warnings before the first round."""
        return cautions(self.prepared, self.images)

    def begin_epoch(self) -> None:
        """Set rates, prices and the order of the images; capture a round where rounds are replayed."""
        if self.search.round_in_epoch == 0:
            self._enter_stage()
            self.search.begin_epoch()
            if self.limits is not None:
                self.limits.charge(self.prepared)
        if self.replay is None and is_captured(self.search, self.config.backend):
            self.replay = captured_round(self.search)

    def _enter_stage(self) -> None:
        """Go over to the next stage if it begins with this epoch."""
        following = self.prepared.following()
        if following is not None:
            self.replay = None
            self.prepared, self.search = following, following.search
            self.display.say(stage_line(following))

    def step(self, clock: Clock) -> None:
        """Play one round of Algorithm 1."""
        at = self.position()
        if at.left == 1:
            with clock.paused():
                self.gap = discretization_gap(self.search)  # before the last round's wipeout
        if self.replay is None:
            play_round(self.search)
        else:
            self.replay()

    def report_step(self) -> None:
        """Report the round and, once, when to expect wipeouts."""
        self.display.after_round(self.search)
        line = forecast(self.prepared) if self.search.learning_rounds == OUTLOOK_ROUNDS else None
        if line:
            self.display.say(line)

    def end_epoch(self, cost: EpochCost) -> SearchEpoch:
        """Delete wiped experts; record the present cell and what a benchmark knows of it."""
        search, gap = self.search, self.gap
        if gap is None and (search.epoch + 1) % self.config.gap_every == 0:
            gap = discretization_gap(search)
        record = end_epoch(search, seconds=cost.seconds, memory_bytes=cost.memory_bytes, gap=gap)
        warm = search.epoch == search.settings.warmup_epochs
        if record.deleted or warm or search.settled_at == search.rounds:
            self.replay = None  # the captured round is no longer the one to play; its memory is freed
        if search.epoch <= search.settings.warmup_epochs:
            return record
        if self.limits is not None:
            self.limits.follow(self.prepared)
        cell = self._cell()
        truth = None if self.truth is None else truth_of(search, self.truth, cell)
        return replace(record, cell=json.loads(cell.to_json()), truth=truth)

    def _cell(self) -> Genotype:
        """The cell that the search would give now: the strongest within the limits."""
        if self.limits is None:
            return self.search.standing().cell(space_of(self.search))
        return self.limits.strongest(self.search).genotype

    def curves(self, record: SearchEpoch) -> dict[str, float]:
        """Losses, accuracies, entropies, experts and rewards."""
        return search_curves(record)

    def warnings(self, record: SearchEpoch) -> list[str]:
        """Skips that take over, entropies that fall early."""
        return worries(record, epochs=self.search.settings.epochs, seen=self.warned)

    def require_sound(self) -> None:
        """Average batch statistics over processes; raises if numbers are not finite."""
        self.search.agree()
        require_sound(self.search)

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        limits = {} if self.limits is None else {"limits": self.limits.state()}
        return search_state(self.search) | limits

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint, in its stage."""
        self.prepared = self.prepared.resumed(state)
        self.search = self.prepared.search
        restore_search(self.search, state)
        if self.limits is not None:
            self.limits.restore(state.get("limits", {}))

    def remember(self, records: Sequence[SearchEpoch]) -> None:
        """Do not repeat warnings; raises if the benchmark is not the one of the epochs before."""
        for record in records:
            self.warnings(record)
        require_same(self.truth, records)

    def conclude(self, folder: RunFolder, records: Sequence[SearchEpoch]) -> SearchResult:
        """Discretize, and write the genotype last: its presence says that the search is finished."""
        search, space = self.search, space_of(self.search)
        self._require_whole()
        standing = search.standing()
        choices, limited = self._choices(standing)
        genotype = chosen_cells(choices, space)
        why: dict[str, object] = {"format": "xnas-discretization", "version": 1}
        why["edges"] = [choice.to_json() for choice in choices]
        if genotype.one_line is not None:
            with_none = strongest_cell(standing.strengths, standing.alive, space).one_line
            why |= {"arch": genotype.one_line, "arch_with_none": with_none}
        folder.write_json("discretization.json", why | limited)
        books = ledgers(search.method, search.mixtures)
        if books:
            head = {"format": "xnas-ledger", "version": 1}
            folder.write_json("ledger.json", head | {k: v.to_json() for k, v in books.items()})
        line, grave = doubt(choices, books)
        if line:
            (self.display.warn if grave else self.display.say)(line)
        folder.write_text("genotype.json", genotype.to_json())
        return SearchResult(
            out=str(folder.path),
            genotype=genotype,
            epochs=tuple(records),
            rounds=search.rounds,
            settled_at=search.settled_at,
            ledgers=books,
            undecided=undecided(choices, books),
        )

    def _choices(self, standing: Standing) -> tuple[Sequence[EdgeChoice], dict[str, object]]:
        """Every edge of the final cell, and what limits add to the reasons."""
        limits = self.limits
        if limits is None:
            return standing.choices(space_of(self.search)), {}
        cell = limits.strongest(self.search, measured=True)
        self.display.say(limits.cells.line(cell))
        return limits.explained(cell.choices, self.prepared), {"limits": limits.to_json(cell)}

    def _require_whole(self) -> None:
        """Raise unless every round of the horizon was played, or nothing was left to learn."""
        search, game = self.search, self.prepared.game
        for kind, ledger in ledgers(search.method, search.mixtures).items():
            horizon = game.rounds(kind)
            warmup = search.settings.warmup_epochs * search.settings.rounds_per_epoch
            settled = max(0, search.settled_at - warmup) * horizon // game.updates
            if ledger.rounds not in (horizon, settled):
                raise RoundError(
                    f"{ledger.rounds} rounds were played on the {kind} mixture; its horizon is "
                    f"{horizon}, and it settled at {settled}: the checkpoint is damaged, or of another "
                    "search"
                )


def _showing(
    display: SearchDisplay | None, ranks: Ranks, callbacks: Sequence[Callback], *, quiet: bool
) -> AbstractContextManager[SearchDisplay]:
    def usual() -> AbstractContextManager[SearchDisplay]:
        from xnas.runs.progress import SearchProgress  # noqa: PLC0415 - imports rich

        return SearchProgress(quiet=False)

    return showing(display, usual, quiet=quiet, callbacks=callbacks, first=ranks.first)


def _require_unfinished(folder: RunFolder, warn: Callable[[str], None]) -> None:
    """Raise if there is a genotype, which is written last; a damaged one is written again."""
    path = folder.path / "genotype.json"
    if not path.exists():
        return
    try:
        Genotype.load(path)
    except VersionError as error:
        raise ConfigError(f"the search in {folder.path} is finished; {error}") from error
    except GenotypeError as error:
        folder.require_checkpoint(f"{path} is damaged ({error})")
        warn(f"{path} is damaged ({error}); the end of the search is written again")
        return
    raise FinishedError(f"the search in {folder.path} is finished; its cell is in genotype.json")


SEARCH = Kind(
    command="search",
    noun="search",
    unit="round",
    checkpoint=SEARCH_FORMAT,
    settings=SearchConfig,
    record=SearchEpoch.from_json,
    tests=False,
    require_unfinished=_require_unfinished,
)
