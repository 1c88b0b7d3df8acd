"""Settings and images made into a search that is ready for its first round.

Every random choice comes from a named stream of the seed, so that changing one moves no other.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from xnas.data import Images, halves, stream_seed
from xnas.data import rounds as rounds_per_epoch
from xnas.data.augment import augmentation_for
from xnas.engine import Search, SearchSettings
from xnas.engine.distributed import ALONE, Ranks
from xnas.methods import METHODS, Game
from xnas.process.devices import pick_device
from xnas.runs.backends import choose_backend, shared_by
from xnas.runs.search_config import SearchConfig, parse_skip_dropout, resolve
from xnas.runs.sources import Sources
from xnas.space import SPACES
from xnas.space.benchmark_supernet import BenchmarkSupernet
from xnas.space.supernet import Supernet
from xnas.space.supernets import build_supernet as build


@dataclass(frozen=True, slots=True)
class Prepared:
    """A search ready to play."""

    search: Search
    config: SearchConfig
    game: Game
    notes: list[str]


def prepare(config: SearchConfig, images: Images, ranks: Ranks = ALONE) -> Prepared:
    """Build supernet, method and batches; every random choice from its own stream of the seed."""
    device = pick_device(config.device, ranks)
    train_half, valid_half = halves(images.labels, seed=stream_seed(config.seed, "split"))
    config, notes = resolve(config, examples=min(len(train_half), len(valid_half)), device=device)
    supernet = build_supernet(config, images).to(device)
    config, lines = choose_backend(config, supernet, device)
    assert config.batch_size is not None  # noqa: S101 - resolved
    ranks.require_batch(config.batch_size)
    lines += shared_by(ranks, config.batch_size, device)
    assert config.epochs is not None  # noqa: S101 - resolved
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

    sources = Sources(
        images, device, batch_size=config.batch_size, seed=config.seed, count=2, ranks=ranks
    )
    settings = SearchSettings(
        epochs=config.epochs,
        rounds_per_epoch=rounds,
        accounting=config.accounting,
        skip_dropout=parse_skip_dropout(config.skip_dropout or "0"),
        learning_rate=config.weights_lr,
        autocast=config.precision == "bf16",
        seed=stream_seed(config.seed, "dropout"),
    )
    policy = "cifar10" if config.auto_augment else None
    engine = Search(
        supernet,
        METHODS[config.method](supernet.mixtures, game),
        train=sources.make(
            "training",
            train_half,
            augment=augmentation_for(images, autoaugment=policy),
            balance=config.balance,
        ),
        valid=sources.make(
            "validation", valid_half, augment=augmentation_for(images), balance=config.balance
        ),
        settings=settings,
        ranks=ranks,
    )
    return Prepared(engine, config, game, notes + lines)


def build_supernet(config: SearchConfig, images: Images) -> Supernet | BenchmarkSupernet:
    """The supernet of a resolved configuration, with weights from the seed's own stream."""
    space = SPACES[config.space]
    assert config.cells is not None  # noqa: S101 - resolved
    assert config.channels is not None  # noqa: S101 - resolved
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream_seed(config.seed, "weights"))
        return build(
            space.with_none() if config.include_none else space,
            num_classes=len(images.classes),
            in_chans=images.channels,
            cells=config.cells,
            channels=config.channels,
        )
