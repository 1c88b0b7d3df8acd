"""The search: weights descend on one half of the images, mixtures learn from the other (Algorithm 1).

`play_round` is the algorithm's loop body. It reads no number on the host, so that on a GPU it can be
captured whole and replayed (`engine/capture.py`); what needs the host happens between epochs: rates are
tensors that it sets there, experts are deleted, metrics read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from xnas.engine.balance import Balance
from xnas.engine.distributed import ALONE, Ranks
from xnas.engine.schedules import PowerCosine
from xnas.engine.tally import Tally
from xnas.engine.temperature import best_inverse_temperature
from xnas.errors import ConfigError
from xnas.methods import Method
from xnas.nn import split_parameters
from xnas.records import EdgeChoice
from xnas.space import Genotype, SearchSpace, explain
from xnas.space.discretize import chosen_cells


class Batches(Protocol):
    """A source of batches whose position can be saved and restored."""

    @property
    def capturable(self) -> bool:
        """Whether `fill` can be part of a CUDA graph, drawing from `generator`."""

    @property
    def generator(self) -> torch.Generator:
        """Random numbers of augmentation."""

    def begin_epoch(self, epoch: int, rounds: int) -> None:
        """Lay down the order of `rounds` batches."""

    def buffers(self) -> tuple[Tensor, Tensor]:
        """Room for one batch of images and labels."""

    def fill(self, images: Tensor, labels: Tensor) -> None:
        """Put the next batch there."""

    def whole(self, limit: int | None = None, skip: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Plain batches without augmentation, for evaluation: `limit` of them after the first `skip`."""

    def state_dict(self) -> dict[str, Any]:
        """The position in the data."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a position that `state_dict` gave."""


class Searchable(Protocol):
    """What the engine asks of a supernet: mixtures by name, and experts that can be deleted."""

    @property
    def mixtures(self) -> Mapping[str, nn.Parameter]:
        """Leaf parameters (forecasters, experts) on the simplex."""

    def wipe(self, kind: str, forecaster: int, experts: list[int]) -> None:
        """Delete experts, given by their columns, from one forecaster of a mixture."""


@runtime_checkable
class Replicated(Protocol):
    """A supernet whose cells share mixtures: rewards can be separated by cell and by sample."""

    def spread(self) -> dict[str, Tensor]:
        """Each mixture copied for its cells: (replications, forecasters, experts)."""

    def identities(self, kind: str) -> Tensor:
        """Mask (forecasters, experts) of skip connections of stride 1."""

    def stages(self, kind: str) -> tuple[int, ...]:
        """The stage of the network in which each cell of a kind stands."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSettings:
    """Numbers of a search that are not the method's."""

    epochs: int
    rounds_per_epoch: int
    accounting: str = "update"
    skip_dropout: tuple[float, float] = (0.0, 0.0)
    """In the first and in the last epoch; linear between them."""
    expert_dropout: float = 0.0
    """Probability of dropping any expert in the weight step. Departure: the paper has none. Where all
    experts of an edge are always there they share one job, and one more of any is worth little; where
    some are absent each learns to do it alone."""
    best_temperature: bool = False
    """Pay rewards for the validation loss at its best temperature. Departure: the paper pays for the
    loss itself, which also falls when a network that is too confident becomes less so."""
    warmup_epochs: int = 0
    """Epochs at the start in which the weights learn alone and mixtures stay uniform. Departure: the
    paper has none. Before the weights are any good, rewards go to the operations that learn fastest."""
    absence_batches: int = 0
    """Validation batches per epoch on which the absence of edges is measured; 0 for none."""
    learning_rate: float = 0.025
    """Of the weights, at the start; DARTS's recipe, as the paper states none."""
    final_learning_rate: float = 0.001
    momentum: float = 0.9
    weight_decay: float = 3e-4
    gradient_clip: float = 5.0
    """On the norm of the weights' gradient. The paper's "gradient clipping of 1" is the reward bound."""
    autocast: bool = False
    """Compute in bfloat16 where that is safe."""
    seed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What a cell is chosen by, for each kind of cell; shapes are those of `space.discretize`."""

    strengths: dict[str, Tensor]
    alive: dict[str, Tensor]
    sums: dict[str, Tensor]
    """Comparable sums of rewards."""
    edge_costs: dict[str, Tensor] | None
    """What the absence of each edge costs; None if edges are ranked by strengths."""

    def choices(self, space: SearchSpace) -> tuple[EdgeChoice, ...]:
        """For every edge of a cell of `space`, whether it is kept and what decided it."""
        return explain(self.strengths, self.alive, space, self.sums, self.edge_costs)

    def cell(self, space: SearchSpace) -> Genotype:
        """The cell that the search would give now."""
        return chosen_cells(self.choices(space), space)


class Search:
    """A search under way: everything that changes from round to round."""

    def __init__(
        self,
        supernet: nn.Module,
        method: Method,
        *,
        train: Batches,
        valid: Batches,
        settings: SearchSettings,
        ranks: Ranks = ALONE,
        balance: Balance | None = None,
    ) -> None:
        """`supernet` is `Searchable`; its mixtures belong to `method`, all else to the weights.

        `balance` follows the losses from epoch to epoch; `train` is what reads it.
        """
        self.ranks = ranks
        self.replicated = supernet if isinstance(supernet, Replicated) else None
        if self.replicated is None and (
            settings.accounting == "sample"
            or max(*settings.skip_dropout, settings.expert_dropout) > 0
            or settings.absence_batches
        ):
            raise ConfigError(
                f"{type(supernet).__name__} does not spread its mixtures over cells, which per-sample "
                "accounting, dropout and the cost of absences need; use accounting='update', "
                "skip_dropout=(0, 0), expert_dropout=0 and absence_batches=0"
            )
        self.supernet, self.method, self.settings = supernet, method, settings
        self.train, self.valid, self.balance = train, valid, balance
        self.mixtures: Mapping[str, nn.Parameter] = supernet.mixtures  # type: ignore[assignment]
        weights, _ = split_parameters(supernet)
        mixtures = {id(m) for m in self.mixtures.values()}
        self.weights = [p for p in weights if p.requires_grad and id(p) not in mixtures]
        self.train_batch, self.valid_batch = train.buffers(), valid.buffers()
        for buffer in (*self.train_batch, *self.valid_batch):
            buffer.zero_()  # a round may be captured before the first batch
        device = self.train_batch[0].device
        self.rate = torch.tensor(settings.learning_rate, device=device)
        self.keep_chance = torch.tensor(1 - settings.skip_dropout[0], device=device)
        """Of an identity in the weight step. Like the rate a tensor, which captured rounds read anew."""
        self.weight_optimizer = torch.optim.SGD(
            self.weights,
            lr=self.rate,
            momentum=settings.momentum,
            weight_decay=settings.weight_decay,
            fused=device.type == "cuda",
        )
        self.dropout = torch.Generator(device).manual_seed(settings.seed)
        self.tally = Tally(self.mixtures, _replications(self), device)
        self.epoch, self.round_in_epoch = 0, 0
        self.settled_at = 0
        self.edge_costs = {
            kind: torch.zeros(len(m), dtype=torch.float64, device=device)
            for kind, m in self.mixtures.items()
        }
        """What the absence of each edge has cost, summed over the epochs that measured it."""
        self.deleted: list[tuple[str, int, int]] = []

    @property
    def device(self) -> torch.device:
        """Where rounds are computed."""
        return self.train_batch[0].device

    @property
    def leaves(self) -> list[Tensor]:
        """What the weight step is differentiated by: the weights, and tensors that several share."""
        return [*self.weights, *getattr(self.supernet, "packed", ())]

    @property
    def learning(self) -> bool:
        """Whether mixtures learn in this epoch: the weights are warm, and a forecaster has a choice."""
        return self.settled_at == 0 and self.epoch >= self.settings.warmup_epochs

    @property
    def rounds(self) -> int:
        """Rounds played so far."""
        return self.epoch * self.settings.rounds_per_epoch + self.round_in_epoch

    @property
    def learning_rounds(self) -> int:
        """Rounds played so far after the warm-up."""
        return max(0, self.rounds - self.settings.warmup_epochs * self.settings.rounds_per_epoch)

    def begin_epoch(self) -> None:
        """Set the rates, lay down the order of the images, clear the tally."""
        rounds = self.settings.rounds_per_epoch
        self.train.begin_epoch(self.epoch, rounds)
        self.valid.begin_epoch(self.epoch, rounds)
        self.set_rates()
        self.supernet.train()
        self.tally.clear()

    def agree(self) -> None:
        """Average over all processes what may differ: batch statistics and sums of losses and answers.

        Running statistics and sums are linear in what batches add to them, so it does not matter when,
        or how often, this is done; variances between processes are left out of the running ones.
        """
        statistics = [b for b in self.supernet.buffers() if b.is_floating_point()]
        self.ranks.average([*statistics, self.tally.train, self.tally.valid])

    def set_rates(self) -> None:
        """Write the numbers of the present epoch where rounds read them."""
        self.rate.fill_(self.learning_rate())
        self.keep_chance.fill_(1 - self.skip_dropout())

    def learning_rate(self) -> float:
        """Of the weights in the present epoch: a cosine over all epochs, which never rises."""
        s = self.settings
        final = min(s.final_learning_rate, s.learning_rate)
        return PowerCosine(top=s.learning_rate, epochs=s.epochs, lowest=final).rate(self.epoch)

    def standing(self) -> Standing:
        """What a cell is chosen by, of every mixture."""
        method = self.method
        return Standing(
            strengths={kind: method.strengths(m) for kind, m in self.mixtures.items()},
            alive={kind: method.alive(m) for kind, m in self.mixtures.items()},
            sums={kind: method.comparable_sums(m) for kind, m in self.mixtures.items()},
            edge_costs=self.edge_costs if self.settings.absence_batches else None,
        )

    def skip_dropout(self) -> float:
        """Probability of dropping an identity in the present epoch."""
        first, last = self.settings.skip_dropout
        return first + (last - first) * self.epoch / max(1, self.settings.epochs - 1)


def play_round(search: Search) -> None:
    """One round of Algorithm 1, lines 4-12."""
    draw_batches(search)
    descend_train_loss(search)  # line 4
    reveal_rewards(search)  # lines 5-12
    search.round_in_epoch += 1


def draw_batches(search: Search) -> None:
    """Take the next batch of either half."""
    search.train.fill(*search.train_batch)
    search.valid.fill(*search.valid_batch)


def descend_train_loss(search: Search) -> None:
    """Move the weights against the training loss, mixtures held fixed (line 4, first order)."""
    images, labels = search.train_batch
    search.weight_optimizer.zero_grad()
    with precision(search):
        logits = _forward(search, images, _dropped(search))
        loss = cross_entropy(logits, labels)
    loss.backward(inputs=search.leaves)  # type: ignore[no-untyped-call]
    search.ranks.average([p.grad for p in search.weights if p.grad is not None])
    nn.utils.clip_grad_norm_(search.weights, search.settings.gradient_clip)
    search.weight_optimizer.step()
    search.tally.add_train(loss, logits, labels)


def reveal_rewards(search: Search) -> None:
    """Predict, see the loss gradient, pay the experts and let the method learn (lines 5-12).

    Every expert is seen whole: no dropout here. Only the mixtures are differentiated; the weights get
    no gradient. While the weights warm up, and when each forecaster has one expert left, nothing is
    learned here, and the loss is only measured.
    """
    images, labels = search.valid_batch
    per_sample = search.settings.accounting == "sample"
    if not search.learning:
        with torch.no_grad(), precision(search):
            logits = _forward(search, images, None)
            search.tally.add_valid(cross_entropy(logits, labels), logits, labels)
        return
    mixtures = _mixtures(search, len(labels) if per_sample else 0)
    with _held_fixed(search.leaves), precision(search):
        logits = _forward(search, images, mixtures)
        reduction = "sum" if per_sample else "mean"
        loss = paid = cross_entropy(logits, labels, reduction=reduction)
        if search.settings.best_temperature:  # held fixed: at an optimum its own derivative is zero
            inverse = best_inverse_temperature(logits, labels)
            paid = cross_entropy(inverse * logits.float(), labels, reduction=reduction)
    gradients = torch.autograd.grad(paid, list(mixtures.values()))
    search.tally.add_valid(loss / len(labels) if per_sample else loss, logits, labels)
    if per_sample:  # (replications, samples, forecasters, experts)
        gradients = tuple(search.ranks.gather(gradient, 1) for gradient in gradients)
    else:
        search.ranks.average(gradients)  # before the method clips them
    for (kind, mixture), gradient in zip(search.mixtures.items(), gradients, strict=True):
        if per_sample:
            search.tally.add_rewards(kind, -gradient.sum(1) / gradient.shape[1])
            search.method.observe(mixture, -gradient.flatten(0, 1))
        else:
            replicas = gradient if gradient.dim() == 3 else gradient[None]
            search.tally.add_rewards(kind, -replicas)
            mixture.grad = replicas.sum(0)
    if not per_sample:
        search.method.step()


@contextmanager
def _held_fixed(leaves: Sequence[Tensor]) -> Iterator[None]:
    """Let forward take these for constants: autograd keeps nothing for their gradients."""
    learned = [leaf for leaf in leaves if leaf.requires_grad]
    for leaf in learned:
        leaf.requires_grad = False
    try:
        yield
    finally:
        for leaf in learned:
            leaf.requires_grad = True


def _mixtures(search: Search, samples: int) -> dict[str, Tensor]:
    """What this round is differentiated by: shared mixtures, one a cell, or one a cell and sample."""
    if search.replicated is None:
        return dict(search.mixtures)
    copies = search.replicated.spread()
    if samples:
        copies = {kind: u[:, None].expand(-1, samples, -1, -1) for kind, u in copies.items()}
    return {kind: u.clone().requires_grad_() for kind, u in copies.items()}


def _dropped(search: Search) -> dict[str, Tensor] | None:
    """Mixtures for the weight step: experts dropped by chance, those kept scaled up for it.

    Departure: a guard against collapse that the paper does not have. One draw for each edge, cell and
    step; without it the supernet leans on its skip connections, and mixtures follow. By default these
    alone are dropped. With `expert_dropout` every expert may be, by a draw of its own, an identity with
    the larger of the two probabilities.
    """
    supernet, settings = search.replicated, search.settings
    if supernet is None:
        return None
    mixtures, chance = supernet.spread(), search.keep_chance
    if max(*settings.skip_dropout, settings.expert_dropout) == 0:
        return mixtures
    for kind, u in mixtures.items():
        if settings.expert_dropout > 0:
            others = 1 - settings.expert_dropout
            keep = torch.where(supernet.identities(kind), chance.clamp(max=others), others)
            mixtures[kind] = u * (keep.expand(u.shape).bernoulli(generator=search.dropout) / keep)
            continue
        kept = chance.expand(u.shape[:2]).bernoulli(generator=search.dropout)
        scale = torch.where(supernet.identities(kind), kept[..., None] / chance, 1.0)
        mixtures[kind] = u * scale
    return mixtures


def _forward(search: Search, images: Tensor, mixtures: dict[str, Tensor] | None) -> Tensor:
    told_apart = () if search.replicated is None else (mixtures,)
    logits: Tensor = search.supernet(images, *told_apart)
    return logits.float()


def precision(search: Search) -> torch.autocast:
    """The context in which a search computes its network."""
    device = search.train_batch[0].device.type
    return torch.autocast(device, dtype=torch.bfloat16, enabled=search.settings.autocast)


def _replications(search: Search) -> dict[str, int]:
    """Cells that share each mixture, 1 for a supernet that does not tell them apart."""
    if search.replicated is None:
        return dict.fromkeys(search.mixtures, 1)
    return {kind: len(copies) for kind, copies in search.replicated.spread().items()}
