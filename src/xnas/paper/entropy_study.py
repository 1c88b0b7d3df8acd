"""Entropy of DARTS's mixtures against the weight decay of its logits (Fig. 2), by small searches.

Each point is a search of NAS-Bench-201's space on the digits of scikit-learn, by first-order DARTS with
a rate and a weight decay of its logits. A short search needs a larger rate than DARTS's own, so that
logits can move as far. `RATE` times the rounds is 6 or more; DARTS's 3e-4 times 13,000 is 3.9.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xnas.data import Images, load_data
from xnas.engine import Search, end_epoch, play_round
from xnas.engine.gap import discretization_gap
from xnas.records import EntropyPoint, EntropyStudy
from xnas.runs.prepare import prepare
from xnas.runs.search_config import SearchConfig

DECAYS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
DARTS_DECAY = 1e-3
RATE = 0.03
SEEDS = 2


@dataclass(frozen=True, kw_only=True)
class StudySize:
    """How large the searches are."""

    epochs: int = 10
    batch_size: int = 32
    channels: int = 4
    decays: tuple[float, ...] = DECAYS
    seeds: int = SEEDS


def entropy_study(
    seed: int, size: StudySize | None = None, report: Callable[[str], None] = lambda _: None
) -> EntropyStudy:
    """DARTS at every decay, and XNAS for comparison, with so many seeds from `seed` on."""
    size = size or StudySize()
    images = load_data("digits")
    points: list[EntropyPoint] = []
    for number in range(seed, seed + size.seeds):
        for decay in size.decays:
            points.append(_point(_darts(size, number, decay), images, decay))
            report(f"DARTS, weight decay {decay:g}, seed {number}: entropy {points[-1].entropy:.4f}")
        points.append(_point(_xnas(size, number), images, None))
        report(f"XNAS, seed {number}: entropy {points[-1].entropy:.4f}")
    return EntropyStudy(epochs=size.epochs, learning_rate=RATE, points=tuple(points))


def _darts(size: StudySize, seed: int, decay: float) -> SearchConfig:
    return SearchConfig(
        method="darts",
        space="nasbench201",
        epochs=size.epochs,
        batch_size=size.batch_size,
        cells=1,
        channels=size.channels,
        include_none=False,
        logits_lr=RATE,
        logits_weight_decay=decay,
        seed=seed,
        device="cpu",
    )


def _xnas(size: StudySize, seed: int) -> SearchConfig:
    return SearchConfig(
        space="nasbench201",
        epochs=size.epochs,
        batch_size=size.batch_size,
        cells=1,
        channels=size.channels,
        wipeout=False,
        skip_dropout="0",
        best_temperature=False,
        seed=seed,
        device="cpu",
    )


def _point(config: SearchConfig, images: Images, decay: float | None) -> EntropyPoint:
    """Play a search to its end; what it loses is measured with the supernet's weights."""
    search = prepare(config, images).search
    entropy = 1.0
    while search.epoch < search.settings.epochs:
        entropy = _play_epoch(search)
    gap = discretization_gap(search)
    assert gap is not None  # noqa: S101 - the space is registered
    assert gap.cell is not None  # noqa: S101 - nothing was deleted
    return EntropyPoint(
        method=config.method,
        weight_decay=decay,
        seed=config.seed,
        entropy=entropy,
        mixture_accuracy=gap.mixture,
        cell_accuracy=gap.cell,
    )


def _play_epoch(search: Search) -> float:
    """Play one epoch; gives the mean normalised entropy of the normal cell (eq. 55)."""
    search.begin_epoch()
    for _ in range(search.settings.rounds_per_epoch):
        play_round(search)
    return end_epoch(search).entropy["normal"]
