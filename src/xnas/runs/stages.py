"""Stages: a search whose supernet grows, loses experts or is trained anew at certain epochs.

`StageBuilder` makes the search of a stage: the first one, the next one from what the present one has
found, or, to resume, any of them. Every random choice comes from a stream of its own for each stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from xnas.data import Images, stream_seed
from xnas.engine import Batches, Search, SearchSettings
from xnas.engine.distributed import Ranks
from xnas.engine.epoch import remove_experts
from xnas.engine.restore import fitting
from xnas.engine.search import Expert
from xnas.errors import ConfigError
from xnas.methods import METHODS, Game, Method, Recipe
from xnas.methods.protocol import Wipeable
from xnas.runs.experts_rates import parse_experts_lr
from xnas.runs.method_settings import require_settings
from xnas.runs.search_plan import SearchPlan
from xnas.runs.stage_plan import StagePlan
from xnas.space import SPACES, ParentNetwork

MOST_ABSENCE_BATCHES = 4
"""Per epoch. With batches of 96, 16 epochs see 6,144 images."""
ROUNDS_PER_ABSENCE_BATCH = 20
"""A batch costs a forward pass for every edge; short epochs take fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageBuilder:
    """Makes the searches of all stages, which share plan, images and batches."""

    plan: SearchPlan
    images: Images
    device: torch.device
    train: Batches
    valid: Batches
    examples: int
    """Images that mixtures learn from."""
    rounds: int
    """In an epoch."""
    ranks: Ranks
    resumed_run: bool = False
    """Whether the options are those of a config.json."""

    def first(self, supernet: ParentNetwork) -> tuple[Search, Game]:
        """The search of the first stage, with a supernet that is on the device, and fused if wanted."""
        stage = self.plan.stages[0]
        game = self._game(supernet, stage, gone=())
        return self._search(stage, supernet, self._method(supernet, game)), game

    def following(self, before: Search) -> tuple[Search, Game] | None:
        """The search that takes over from `before` in the coming epoch; None if its stage continues."""
        number = before.settings.stage + 1
        if number >= len(self.plan.stages) or before.epoch < self.plan.stages[number].span.first:
            return None
        stage = self.plan.stages[number]
        supernet: Any = before.supernet
        if not stage.fresh_method and stage.experts is not None:
            wipe_out(before, left_out(before, stage.experts))
        gone = left_out(before, stage.experts) if stage.fresh_method else before.gone
        if stage.fresh_weights:
            supernet = build_supernet(self.plan, stage, self.images).to(self.device)
        if stage.fresh_method:
            mix_evenly(supernet, gone)
        elif stage.fresh_weights:
            for kind, mixture in before.mixtures.items():
                supernet.register_parameter(f"{kind}_mixture", mixture)
        self._fuse(supernet, fresh=stage.fresh_weights)
        game = self._game(supernet, stage, gone)
        method = self._method(supernet, game) if stage.fresh_method else before.method
        search = self._search(stage, supernet, method)
        search.epoch, search.dropout, search.gone = before.epoch, before.dropout, list(gone)
        if not stage.fresh_weights:
            search.deleted = list(before.deleted)
        if not stage.fresh_method:
            search.settled_at = before.settled_at
            gone = left_out(before, None)
        there = set(search.deleted)
        remove_experts(search, [expert for expert in gone if expert not in there])
        return search, game

    def resumed(self, state: dict[str, Any]) -> tuple[Search, Game] | None:
        """The search of the stage that a checkpoint was saved in; None if that is the first one."""
        with fitting("search"):
            number, listed = state.get("stage", 0), state.get("gone", [])
            gone = [(kind, f, e) for kind, f, e in listed]
            if type(number) is not int or not 0 <= number < len(self.plan.stages):
                raise ValueError(f"there is no stage {number}")
            if number == 0:
                return None
            stage = self.plan.stages[number]
            supernet = build_supernet(self.plan, stage, self.images).to(self.device)
            mix_evenly(supernet, gone)
            self._fuse(supernet, fresh=True)
            game = self._game(supernet, stage, gone)
            search = self._search(stage, supernet, self._method(supernet, game))
            search.gone = gone
        return search, game

    def _fuse(self, supernet: ParentNetwork, *, fresh: bool) -> None:
        if fresh and self.plan.backend == "fused":
            supernet.fuse()  # type: ignore[operator]  # as that of the first stage could be

    def _method(self, supernet: ParentNetwork, game: Game) -> Method:
        method = METHODS[self.plan.options.method](supernet.mixtures, game)
        require_settings(self.plan.options, method, resumed=self.resumed_run)
        for kind, alive in game.alive.items():
            if (method.alive(supernet.mixtures[kind]).cpu() & ~alive.cpu()).any():
                raise ConfigError(
                    f"the method {self.plan.options.method} has stages that begin with fewer experts, "
                    "but lets all live; let its alive() begin with game.alive"
                )
        return method

    def _game(self, supernet: ParentNetwork, stage: StagePlan, gone: Sequence[Expert]) -> Game:
        plan, options = self.plan, self.plan.options
        epochs = stage.game.epochs - (plan.warmup_epochs if stage.game_stage == 0 else 0)
        return Game(
            updates=epochs * self.rounds,
            examples=self.examples,
            epochs=epochs,
            batch_size=plan.batch_size,
            replications=supernet.replications,
            accounting=options.accounting,
            experts_lr=parse_experts_lr(plan.experts_lr),
            reward_bound=options.reward_bound,
            relaxation=plan.relaxation,
            wipeout=options.wipeout,
            logits_lr=options.logits_lr,
            logits_weight_decay=options.logits_weight_decay,
            seed=stream_seed(options.seed, _stream("method", stage.game_stage)),
            rounds_per_epoch=self.rounds,
            operations=supernet.space.operations,
            edges=supernet.space.edges,
            kept_edges=supernet.space.kept_edges,
            identities={kind: supernet.identities(kind) for kind in supernet.mixtures},
            alive=living(supernet, gone) if gone else {},
            stages=tuple(other.span.epochs for other in plan.stages),
            stage=stage.game_stage,
            partial_channels=stage.partial_channels,
        )

    def _search(self, stage: StagePlan, supernet: ParentNetwork, method: Method) -> Search:
        return Search(
            supernet,
            method,
            train=self.train,
            valid=self.valid,
            settings=self._settings(stage),
            ranks=self.ranks,
        )

    def _settings(self, stage: StagePlan) -> SearchSettings:
        plan, options = self.plan, self.plan.options
        cuts_edges = plan.guards.edges == "absence" and SPACES[options.space].kept_edges is not None
        most = max(1, min(MOST_ABSENCE_BATCHES, self.rounds // ROUNDS_PER_ABSENCE_BATCH))
        return SearchSettings(
            epochs=plan.epochs,
            rounds_per_epoch=self.rounds,
            accounting=options.accounting,
            skip_dropout=plan.skip_dropout_range,
            expert_dropout=plan.guards.expert_dropout,
            best_temperature=plan.guards.best_temperature,
            warmup_epochs=plan.warmup_epochs,
            absence_batches=most if cuts_edges else 0,
            learning_rate=stage.weights_lr,
            rate_epochs=(stage.rates.first, stage.rates.epochs),
            stage=stage.number,
            game_from=stage.game.first,
            joint=plan.single_level and plan.recipe.joint,
            autocast=plan.precision == "bf16",
            seed=stream_seed(options.seed, "dropout"),
            **_of_recipe(plan.recipe, stage),
        )


def build_supernet(plan: SearchPlan, stage: StagePlan, images: Images) -> ParentNetwork:
    """The supernet of a stage, with weights from the seed's own stream."""
    space = SPACES[plan.options.space]
    partial = {"partial_channels": stage.partial_channels} if stage.partial_channels > 1 else {}
    if partial and "partial_channels" not in signature(space.supernet).parameters:
        raise ConfigError(
            f"the supernet of the space {space.name} searches all channels, not "
            f"1/{stage.partial_channels} of them; use --partial-channels 1, or another --method"
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream_seed(plan.options.seed, _stream("weights", stage.number)))
        return space.supernet(
            space.with_none() if plan.include_none else space,
            num_classes=len(images.classes),
            in_chans=images.channels,
            cells=stage.cells,
            channels=stage.channels,
            **partial,
        )


def left_out(search: Search, experts: int | None) -> list[Expert]:
    """Experts that a new stage begins without: the dead, and all but so many of the strongest.

    Of equal ones the earlier columns go.
    """
    found = []
    for kind, mixture in search.mixtures.items():
        alive = search.method.alive(mixture)
        strengths = search.method.strengths(mixture).masked_fill(~alive, -torch.inf)
        order = strengths.argsort(dim=-1, stable=True).tolist()
        for forecaster, columns in enumerate(order):
            most = int(alive[forecaster].sum())
            kept = columns[len(columns) - min(most, experts or most) :]
            found += [(kind, forecaster, c) for c in sorted(set(columns) - set(kept))]
    return found


def wipe_out(search: Search, experts: Sequence[Expert]) -> None:
    """Let the method, which lives on, wipe out experts; raises if it cannot."""
    method = search.method
    if not isinstance(method, Wipeable):
        name = type(method).__name__
        raise ConfigError(
            f"a stage keeps the method {name} and begins with fewer experts, but it has no "
            "wipe(mixture, experts); give it one, or let the stage have fresh_method=True"
        )
    alive = living(search.supernet, experts)  # type: ignore[arg-type]  # built here
    for kind, mixture in search.mixtures.items():
        method.wipe(mixture, ~alive[kind].to(mixture.device))


def living(supernet: ParentNetwork, gone: Sequence[Expert]) -> dict[str, Tensor]:
    """Masks (forecasters, experts) without these experts, by kind."""
    masks = {k: torch.ones_like(m, dtype=torch.bool) for k, m in supernet.mixtures.items()}
    for kind, forecaster, expert in gone:
        masks[kind][forecaster, expert] = False
    return masks


@torch.no_grad()
def mix_evenly(supernet: ParentNetwork, gone: Sequence[Expert]) -> None:
    """Let every forecaster weigh all of its experts alike, without those that are gone."""
    masks = living(supernet, gone)
    for kind, mixture in supernet.mixtures.items():
        mixture.copy_(masks[kind] / masks[kind].sum(-1, keepdim=True))


def _of_recipe(recipe: Recipe, stage: StagePlan) -> dict[str, Any]:
    """Settings of the engine that a method's recipe gives and no option sets."""
    found = {
        "final_learning_rate": stage.final_weights_lr,
        "schedule": recipe.schedule,
        "momentum": recipe.momentum,
        "nesterov": recipe.nesterov,
        "weight_decay": recipe.weight_decay,
        "gradient_clip": recipe.gradient_clip,
    }
    return {name: value for name, value in found.items() if value is not None}


def _stream(name: str, stage: int) -> str:
    """Name of a stream of randomness; the first stage has that of a search without stages."""
    return f"{name}/{stage}" if stage else name
