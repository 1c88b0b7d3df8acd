"""Settings and images made into a search that is ready for its first round.

Every random choice comes from a named stream of the seed, so that changing one moves no other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from xnas.data import Images, halves, stream_seed
from xnas.data import rounds as rounds_per_epoch
from xnas.data.augment import augmentation_for
from xnas.engine import Search, SearchSettings
from xnas.engine.distributed import ALONE, Ranks
from xnas.methods import METHODS, Game, Recipe
from xnas.process.devices import pick_device
from xnas.runs.backends import fuse_if_possible, shared_by
from xnas.runs.search_config import SearchConfig
from xnas.runs.search_plan import SearchPlan, is_single_level, resolve
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
    train_half, valid_half = _halves(options, images)
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
        rounds_per_epoch=rounds,
        operations=supernet.space.operations,
        edges=supernet.space.edges,
        kept_edges=supernet.space.kept_edges,
        identities={kind: supernet.identities(kind) for kind in supernet.mixtures},
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
        learning_rate=plan.weights_lr,
        joint=plan.single_level and plan.recipe.joint,
        autocast=plan.precision == "bf16",
        seed=stream_seed(options.seed, "dropout"),
        **_of_recipe(plan.recipe),
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


def _halves(options: SearchConfig, images: Images) -> tuple[Tensor, Tensor]:
    """Indices of the images that weights and mixtures learn from: two halves, or all of them twice."""
    if is_single_level(options):
        every = torch.arange(len(images.labels))
        return every, every
    return halves(images.labels, seed=stream_seed(options.seed, "split"))


def _of_recipe(recipe: Recipe) -> dict[str, Any]:
    """Settings of the engine that a method's recipe gives and no option sets."""
    found = {
        "final_learning_rate": recipe.final_weights_lr,
        "schedule": recipe.schedule,
        "momentum": recipe.momentum,
        "nesterov": recipe.nesterov,
        "weight_decay": recipe.weight_decay,
        "gradient_clip": recipe.gradient_clip,
    }
    return {name: value for name, value in found.items() if value is not None}


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
