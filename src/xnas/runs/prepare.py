"""Settings and images made into a search that is ready for its first round.

Every random choice comes from a named stream of the seed, so that changing one moves no other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from xnas.data import Images, halves, stream_seed
from xnas.data import rounds as rounds_per_epoch
from xnas.data.augment import augmentation_for
from xnas.engine import Search, SearchSettings
from xnas.engine.distributed import ALONE, Ranks
from xnas.methods import METHODS, Game
from xnas.process.devices import pick_device
from xnas.runs.backends import fuse_if_possible, shared_by
from xnas.runs.search_config import SearchConfig
from xnas.runs.search_plan import SearchPlan, resolve
from xnas.runs.sources import Sources
from xnas.space import SPACES, ParentNetwork

MOST_ABSENCE_BATCHES = 4
"""Per epoch. With batches of 96, 16 epochs see 6,144 images."""
ROUNDS_PER_ABSENCE_BATCH = 20
"""A batch costs a forward pass for every edge; short epochs take fewer."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A search ready to play."""

    search: Search
    plan: SearchPlan
    game: Game

    @property
    def config(self) -> SearchConfig:
        """The options with every choice filled in, as config.json records them."""
        return self.plan.config


def prepare(options: SearchConfig, images: Images, ranks: Ranks = ALONE) -> Prepared:
    """Build supernet, method and batches; every random choice from its own stream of the seed."""
    device = pick_device(options.device, ranks)
    train_half, valid_half = halves(images.labels, seed=stream_seed(options.seed, "split"))
    plan = resolve(options, examples=min(len(train_half), len(valid_half)), device=device)
    ranks.require_batch(plan.batch_size)
    supernet = build_supernet(plan, images).to(device)
    plan = fuse_if_possible(plan, supernet, device)
    plan = replace(plan, notes=(*plan.notes, *shared_by(ranks, plan.batch_size, device)))
    rounds = rounds_per_epoch(len(valid_half), plan.batch_size)
    epochs = plan.epochs - plan.warmup_epochs
    game = Game(
        updates=epochs * rounds,
        examples=len(valid_half),
        epochs=epochs,
        batch_size=plan.batch_size,
        replications=supernet.replications,
        accounting=options.accounting,
        experts_lr=plan.experts_lr,
        reward_bound=options.reward_bound,
        relaxation=plan.relaxation,
        wipeout=options.wipeout,
        seed=stream_seed(options.seed, "method"),
    )
    cuts_edges = plan.guards.edges == "absence" and SPACES[options.space].kept_edges is not None
    settings = SearchSettings(
        epochs=plan.epochs,
        rounds_per_epoch=rounds,
        accounting=options.accounting,
        skip_dropout=plan.skip_dropout_range,
        expert_dropout=plan.guards.expert_dropout,
        best_temperature=plan.guards.best_temperature,
        warmup_epochs=plan.warmup_epochs,
        absence_batches=_absence_batches(rounds) if cuts_edges else 0,
        learning_rate=options.weights_lr,
        autocast=plan.precision == "bf16",
        seed=stream_seed(options.seed, "dropout"),
    )
    sources = Sources(
        images, device, batch_size=plan.batch_size, seed=options.seed, count=2, ranks=ranks
    )
    train = augmentation_for(images, autoaugment="cifar10" if plan.auto_augment else None)
    valid = augmentation_for(images)
    engine = Search(
        supernet,
        METHODS[options.method](supernet.mixtures, game),
        train=sources.make("training", train_half, augment=train, balance=options.balance),
        valid=sources.make("validation", valid_half, augment=valid, balance=options.balance),
        settings=settings,
        ranks=ranks,
    )
    return Prepared(engine, plan, game)


def _absence_batches(rounds_per_epoch: int) -> int:
    """Validation batches per epoch on which the absence of edges is measured."""
    return max(1, min(MOST_ABSENCE_BATCHES, rounds_per_epoch // ROUNDS_PER_ABSENCE_BATCH))


def build_supernet(plan: SearchPlan, images: Images) -> ParentNetwork:
    """The supernet of a plan, with weights from the seed's own stream."""
    space = SPACES[plan.options.space]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream_seed(plan.options.seed, "weights"))
        return space.supernet(
            space.with_none() if plan.include_none else space,
            num_classes=len(images.classes),
            in_chans=images.channels,
            cells=plan.cells,
            channels=plan.channels,
        )
