"""Cost of a round of every method, by its own recipe, on one supernet size and one machine.

A method may rest in some rounds, or learn in every tenth one only. Rounds that learn and rounds that
rest are timed apart, and added up in the proportion of an epoch. Each method runs in a process of its
own, so that its peak of memory is measured alone; one that fails leaves a line with the reason.
"""

from __future__ import annotations

import multiprocessing
import statistics
from functools import partial

import torch

from xnas.bench.measuring import median_and_spread, milliseconds, noise
from xnas.bench.options import BenchMethodsConfig
from xnas.engine import captured_round, play_round
from xnas.methods import METHODS
from xnas.process.advance import Advance, unwatched
from xnas.process.devices import pick_device, repeatable, synchronize
from xnas.process.memory import peak_of_process, reset_peak
from xnas.records import MethodCost
from xnas.runs.backends import is_captured
from xnas.runs.prepare import Prepared, prepare

FIRST = "xnas"
"""Which method ratios refer to."""
LEAST_LEARNING = 3
MOST_ROUNDS = 10 * LEAST_LEARNING
"""Played at most, if fewer were asked for: methods that seldom learn do so in every tenth round."""
LATE = 0.6
"""Of the first stage: methods that rest at its beginning learn by then."""


def bench_methods(config: BenchMethodsConfig, *, advance: Advance = unwatched) -> list[MethodCost]:
    """Time a round of the methods one after another, `xnas` first."""
    names = config.methods or tuple(METHODS)
    for name in names:
        METHODS[name]  # raises for names that are unknown, before anything is timed
    spawn = multiprocessing.get_context("spawn")
    costs: list[MethodCost] = []
    ordered = (FIRST, *(n for n in names if n != FIRST))
    for name in ordered:
        with spawn.Pool(1) as pool:
            costs.append(pool.apply(attempt, (name, config)))
        advance(len(costs), len(ordered))
    return costs


def attempt(name: str, config: BenchMethodsConfig) -> MethodCost:
    """Measure a method; one that cannot be gives the first line of the reason."""
    try:
        with repeatable(pick_device(config.device)):
            return measure(name, config)
    except Exception as error:  # noqa: BLE001 - a method that fails must not lose the others
        reason = (str(error) or type(error).__name__).splitlines()[0]
        return MethodCost(method=name, device=device_name(pick_device(config.device)), failure=reason)


def measure(name: str, config: BenchMethodsConfig) -> MethodCost:
    """Build the first stage of a search and time rounds of an epoch late in it."""
    before = peak_of_process()
    images = 2 * config.batch_size * (1 + max(MOST_ROUNDS, config.rounds))
    prepared = prepare(config.search_config(name), noise(images, config.image_size))
    search = prepared.search
    search.epoch = late_epoch(prepared)
    search.begin_epoch()
    device = search.device
    captured = is_captured(search, prepared.plan.backend)
    play = captured_round(search) if captured else partial(play_round, search)
    play()
    synchronize(device)
    reset_peak(device)
    learned: list[float] = []
    rested: list[float] = []
    while len(learned) + len(rested) < config.rounds or not _enough(prepared, len(learned)):
        (learned if search.learning else rested).append(milliseconds(play, device))
    share = learning_share(prepared)
    cuda = device.type == "cuda"
    middle = sum(part * statistics.median(t) for part, t in ((share, learned), (1 - share, rested)) if t)
    return MethodCost(
        method=name,
        device=device_name(device),
        backend=prepared.plan.backend,
        precision=str(prepared.config.precision),
        milliseconds=middle,
        spread=median_and_spread(max(learned, rested, key=len))[1],
        learning_share=share,
        memory_bytes=torch.cuda.max_memory_reserved(device) if cuda else peak_of_process() - before,
    )


def late_epoch(prepared: Prepared) -> int:
    """An epoch of the first stage in which the method learns, if it ever does."""
    span = prepared.plan.stages[0].span
    return span.first + int(LATE * span.epochs)


def learning_share(prepared: Prepared) -> float:
    """Share of the rounds of the present epoch in which mixtures learn."""
    search = prepared.search
    at, rounds = search.round_in_epoch, search.settings.rounds_per_epoch
    learning = []
    for search.round_in_epoch in range(rounds):
        learning.append(search.learning)
    search.round_in_epoch = at
    return sum(learning) / rounds


def _enough(prepared: Prepared, learned: int) -> bool:
    """Whether rounds that learn were timed often enough, or there are no more rounds in the epoch."""
    search = prepared.search
    over = search.round_in_epoch >= search.settings.rounds_per_epoch
    return over or learned >= LEAST_LEARNING or learning_share(prepared) == 0


def device_name(device: torch.device) -> str:
    """What the table calls it."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
