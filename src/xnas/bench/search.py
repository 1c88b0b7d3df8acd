"""Cost of a round of a search, plain and fused, with all, some or one of the experts on each edge.

On a GPU the fused backend is timed with fewer and fewer experts, and the plain one with all of them for
comparison. On a CPU the two change places. Each case runs in a process of its own, so that its peak
of memory is measured alone. Images are noise, as the time of a round does not depend on them. Times
of one machine compare only within one run, so the table has ratios.
"""

from __future__ import annotations

import multiprocessing
import statistics
from functools import partial

import torch

from xnas.bench.measuring import median_and_spread, milliseconds, noise
from xnas.bench.options import Backend, BenchSearchConfig
from xnas.engine import Search, captured_round, play_round
from xnas.engine.epoch import remove_experts
from xnas.methods import ExpertAdvice
from xnas.process.advance import Advance, unwatched
from xnas.process.devices import pick_device, repeatable, synchronize
from xnas.process.memory import peak_of_process, reset_peak
from xnas.records import RoundCost
from xnas.runs.backends import is_captured
from xnas.runs.prepare import prepare
from xnas.space import SPACES, ParentNetwork

CASES: dict[str, dict[str, tuple[str, ...]]] = {
    "darts": {
        "all experts": (),
        "four an edge": ("sep_conv_3x3", "dil_conv_3x3", "skip_connect", "max_pool_3x3"),
        "one an edge": ("sep_conv_3x3",),
    },
    "nasbench201": {
        "all experts": (),
        "two an edge": ("nor_conv_3x3", "skip_connect"),
        "one an edge": ("nor_conv_3x3",),
    },
}
"""Experts that are left on every edge, by space; an empty list means all."""


def bench_search(config: BenchSearchConfig, *, advance: Advance = unwatched) -> list[RoundCost]:
    """Time the cases one after another."""
    spawn, cases = multiprocessing.get_context("spawn"), planned(config)
    costs: list[RoundCost] = []
    for backend, case in cases:
        with spawn.Pool(1) as pool:
            costs.append(pool.apply(measure_case, (case, config, backend)))
        advance(len(costs), len(cases))
    return costs


def planned(config: BenchSearchConfig) -> list[tuple[Backend, str]]:
    """The cases to time. The plain round with all experts, which ratios refer to, is the first."""
    every, *fewer = CASES[config.space]
    fusable = hasattr(SPACES[config.space].supernet, "fuse")
    if fusable and pick_device(config.device).type == "cuda":
        return [("reference", every), ("fused", every), *(("fused", case) for case in fewer)]
    plain: list[tuple[Backend, str]] = [("reference", case) for case in (every, *fewer)]
    return [*plain, ("fused", every)] if fusable else plain


def measure_case(case: str, config: BenchSearchConfig, backend: Backend = "reference") -> RoundCost:
    """Build a search, leave only the case's experts, and time rounds. Runs in its own process."""
    with repeatable(pick_device(config.device)):
        return _measured(case, config, backend)


def _measured(case: str, config: BenchSearchConfig, backend: Backend) -> RoundCost:
    before = peak_of_process()
    images = 2 * config.batch_size * (config.rounds + 2)  # an epoch of all rounds
    prepared = prepare(config.search_config(backend), noise(images, config.image_size))
    search = prepared.search
    keep_experts(search, CASES[config.space][case])
    search.begin_epoch()
    device = search.train_batch[0].device
    cuda = device.type == "cuda"
    captured = is_captured(search, backend)
    play = captured_round(search) if captured else partial(play_round, search)
    for _ in range(2):
        play()
    synchronize(device)
    reset_peak(device)
    times = [milliseconds(play, device) for _ in range(config.rounds)]
    memory = torch.cuda.max_memory_reserved(device) if cuda else peak_of_process() - before
    middle, spread = median_and_spread(times)
    share = None
    if not (cuda and backend == "fused"):  # a step of its own is not what a captured round makes
        steps = [milliseconds(search.method.step, device) for _ in range(config.rounds)]
        share = statistics.median(steps) / middle
    return RoundCost(
        case=case,
        backend=backend,
        precision=str(prepared.config.precision),
        device=torch.cuda.get_device_name(device) if cuda else "CPU",
        experts=sum(int(search.method.alive(m).sum()) for m in search.mixtures.values()),
        weights=sum(p.numel() for p in search.weights),
        milliseconds=middle,
        spread=spread,
        memory_bytes=memory,
        method_share=share,
    )


def keep_experts(search: Search, names: tuple[str, ...]) -> None:
    """Leave only the named experts on every edge, as if the others had been wiped out."""
    assert isinstance(search.supernet, ParentNetwork)  # noqa: S101 - the configuration's
    operations = search.supernet.space.operations
    doomed = [i for i, name in enumerate(operations) if names and name not in names]
    remove_experts(
        search,
        [(kind, f, e) for kind, m in search.mixtures.items() for f in range(len(m)) for e in doomed],
    )
    assert isinstance(search.method, ExpertAdvice)  # noqa: S101 - the configuration's
    for mixture in search.mixtures.values():
        wiped = torch.zeros_like(mixture, dtype=torch.bool)
        wiped[:, doomed] = True
        search.method.wipe(mixture, wiped)
