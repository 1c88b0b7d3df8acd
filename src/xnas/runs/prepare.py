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
from xnas.engine import Search
from xnas.engine.distributed import ALONE, Ranks
from xnas.methods import Game
from xnas.process.devices import pick_device
from xnas.runs.backends import fuse_if_possible, shared_by
from xnas.runs.method_settings import recorded
from xnas.runs.search_config import SearchConfig
from xnas.runs.search_plan import SearchPlan, is_single_level, resolve
from xnas.runs.sources import Sources
from xnas.runs.stages import StageBuilder, build_supernet


@dataclass(frozen=True, slots=True)
class Prepared:
    """A search ready to play, in one of its stages."""

    search: Search
    plan: SearchPlan
    game: Game
    builder: StageBuilder

    @property
    def config(self) -> SearchConfig:
        """The options with every choice filled in, as config.json records them."""
        return recorded(self.plan.config, self.search.method)

    def following(self) -> Prepared | None:
        """The next stage, if it begins with the coming epoch."""
        return self._with(self.builder.following(self.search))

    def resumed(self, state: dict[str, Any]) -> Prepared:
        """The stage of a checkpoint, ready to be restored."""
        return self._with(self.builder.resumed(state)) or self

    def _with(self, built: tuple[Search, Game] | None) -> Prepared | None:
        return None if built is None else replace(self, search=built[0], game=built[1])


def prepare(
    options: SearchConfig, images: Images, ranks: Ranks = ALONE, *, resumed: bool = False
) -> Prepared:
    """Build supernet, method and batches; every random choice from its own stream of the seed.

    With `resumed` the options are those of a config.json.
    """
    device = pick_device(options.device, ranks)
    train_half, valid_half = _halves(options, images)
    plan = resolve(options, examples=min(len(train_half), len(valid_half)), device=device)
    ranks.require_batch(plan.batch_size)
    supernet = build_supernet(plan, plan.stages[0], images).to(device)
    plan = fuse_if_possible(plan, supernet, device)
    plan = replace(plan, notes=(*plan.notes, *shared_by(ranks, plan.batch_size, device)))
    sources = Sources(
        images, device, batch_size=plan.batch_size, seed=options.seed, count=2, ranks=ranks
    )
    train = augmentation_for(
        images, autoaugment=options.auto_augment_policy if plan.auto_augment else None
    )
    valid = augmentation_for(images)
    builder = StageBuilder(
        plan=plan,
        images=images,
        device=device,
        train=sources.make("training", train_half, augment=train, balance=options.balance),
        valid=sources.make("validation", valid_half, augment=valid, balance=options.balance),
        examples=len(valid_half),
        rounds=rounds_per_epoch(len(valid_half), plan.batch_size),
        ranks=ranks,
        resumed_run=resumed,
    )
    search, game = builder.first(supernet)
    return Prepared(search, plan, game, builder)


def _halves(options: SearchConfig, images: Images) -> tuple[Tensor, Tensor]:
    """Indices of the images that weights and mixtures learn from: two halves, or all of them twice."""
    if is_single_level(options):
        every = torch.arange(len(images.labels))
        return every, every
    return halves(images.labels, seed=stream_seed(options.seed, "split"))
