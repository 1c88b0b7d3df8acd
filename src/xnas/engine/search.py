"""The search: weights descend on one half of the images, mixtures learn from the other (Algorithm 1).

`play_round` is the algorithm's loop body. It reads no number on the host, so that on a GPU it can be
captured whole and replayed (`engine/capture.py`); what needs the host happens between epochs: rates are
tensors that it sets there, experts are deleted, metrics read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from xnas.engine.balance import Balance
from xnas.engine.distributed import ALONE, Ranks
from xnas.engine.forward import accuracy, architecture_losses, forward, held_fixed, precision
from xnas.engine.interfaces import Batches, Replicated
from xnas.engine.passes import SearchPasses
from xnas.engine.requirements import require_supernet
from xnas.engine.schedules import PowerCosine
from xnas.engine.settings import SearchSettings
from xnas.engine.tally import Tally
from xnas.engine.weighing import cell_weights, dropped, with_gradients
from xnas.methods import Correcting, EpochAware, Learning, Method, Pausing, Seen, Weighing
from xnas.nn import split_parameters
from xnas.records import EdgeChoice
from xnas.space import Genotype, SearchSpace, explain
from xnas.space.discretize import chosen_cells

Expert = tuple[str, int, int]
"""Kind of cell, forecaster and column."""


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
        require_supernet(supernet, method, settings)
        self.ranks = ranks
        self.replicated = supernet if isinstance(supernet, Replicated) else None
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
            nesterov=settings.nesterov,
            fused=device.type == "cuda",
        )
        self.dropout = torch.Generator(device).manual_seed(settings.seed)
        """Of all random numbers of a round but augmentation: dropout, and the method's own."""
        self.passes = SearchPasses(self)
        self.tally = Tally(self.mixtures, _replications(self), device)
        self.epoch, self.round_in_epoch = 0, 0
        self.settled_at = 0
        self.edge_costs = {
            kind: torch.zeros(len(m), dtype=torch.float64, device=device)
            for kind, m in self.mixtures.items()
        }
        """What the absence of each edge has cost, summed over the epochs that measured it."""
        self.deleted: list[Expert] = []
        self.gone: list[Expert] = []
        """Those of the deleted ones that were gone when the method was made."""

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
        """Whether mixtures learn in this round.

        The weights are warm, a forecaster has a choice, and the method does not rest.
        """
        if self.settled_at > 0 or self.epoch < self.settings.warmup_epochs:
            return False
        if isinstance(self.method, Pausing):
            return self.method.learns(self.game_epoch, self.round_in_epoch)
        return True

    @property
    def sees_both(self) -> bool:
        """Whether the weight step also takes the gradients by the mixtures."""
        return self.settings.joint or isinstance(self.method, Correcting)

    @property
    def game_epoch(self) -> int:
        """The present epoch as the method counts it; 0 while the weights warm up."""
        return max(0, self.epoch - max(self.settings.warmup_epochs, self.settings.game_from))

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
        if isinstance(self.method, EpochAware):
            self.method.begin_epoch(self.game_epoch)

    def learning_rate(self) -> float:
        """Of the weights in the present epoch: by default a cosine, which never rises."""
        s = self.settings
        first, epochs = s.rate_epochs or (0, s.epochs)
        final = min(s.final_learning_rate, s.learning_rate)
        if s.schedule is not None:
            share = s.schedule(self.epoch - first, epochs)
            return final + (s.learning_rate - final) * share
        return PowerCosine(top=s.learning_rate, epochs=epochs, lowest=final).rate(self.epoch - first)

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
    play_batches(search)
    search.round_in_epoch += 1


def play_batches(search: Search) -> None:
    """What a round does with its batches."""
    gradients = descend_train_loss(search)  # line 4
    if search.settings.joint:
        learn_from(search, gradients)  # lines 8-12, single-level
    else:
        reveal_rewards(search)  # lines 5-12


def draw_batches(search: Search) -> None:
    """Take the next batch of either half."""
    search.train.fill(*search.train_batch)
    if not search.settings.joint:
        search.valid.fill(*search.valid_batch)


def descend_train_loss(search: Search) -> dict[str, Tensor]:
    """Move the weights against the training loss, mixtures held fixed (line 4, first order).

    Returns the gradients by the mixtures of all cells, from the same pass, where they are needed.
    """
    images, labels = search.train_batch
    weights = cell_weights(search, "weights")
    mixtures = with_gradients(weights) if search.sees_both and weights else {}
    search.weight_optimizer.zero_grad()
    with precision(search):
        logits = forward(search, images, dropped(search, mixtures or weights))
        loss = cross_entropy(logits, labels)
    loss.backward(inputs=[*search.leaves, *mixtures.values()])  # type: ignore[no-untyped-call]
    gradients = {kind: w.grad for kind, w in mixtures.items() if w.grad is not None}
    of_weights = [p.grad for p in search.weights if p.grad is not None]
    search.ranks.average([*of_weights, *gradients.values()])
    if isinstance(search.method, Correcting):
        mean, right = loss.detach().clone(), accuracy(logits, labels)
        search.ranks.average([mean, right])
        seen = Seen(loss=mean, accuracy=right, mixtures=gradients)
        search.method.correct(seen, search.passes)
    nn.utils.clip_grad_norm_(search.weights, search.settings.gradient_clip)
    search.weight_optimizer.step()
    search.tally.add_train(loss, logits, labels)
    if search.settings.joint:
        search.tally.add_valid(loss, logits, labels)
    return gradients


def reveal_rewards(search: Search) -> None:
    """Predict, see the loss gradient, pay the experts and let the method learn (lines 5-12).

    Every expert is seen whole: no dropout here. Only the mixtures are differentiated; the weights get
    no gradient. While the weights warm up, when the method rests, and when each forecaster has one
    expert left, nothing is learned here, and the loss is only measured.
    """
    images, labels = search.valid_batch
    if not search.learning:
        measure_valid_loss(search)
        return
    if isinstance(search.method, Learning):
        search.passes.learn(search.method)
        return
    per_sample = search.settings.accounting == "sample"
    mixtures = _mixtures(search, len(labels) if per_sample else 0)
    with held_fixed(search.leaves), precision(search):
        logits = forward(search, images, mixtures)
        reduction = "sum" if per_sample else "mean"
        loss, paid = architecture_losses(search, logits, labels, reduction)
    found = torch.autograd.grad(paid, list(mixtures.values()))
    search.tally.add_valid(loss / len(labels) if per_sample else loss, logits, labels)
    if per_sample:
        gradients = {k: search.ranks.gather(g, 1) for k, g in zip(mixtures, found, strict=True)}
        observe_samples(search, gradients)
    else:
        search.ranks.average(found)  # before the method clips them
        learn_from(search, dict(zip(mixtures, found, strict=True)))


def learn_from(search: Search, gradients: Mapping[str, Tensor]) -> None:
    """Play one round with the mean loss's gradients, (replications, forecasters, experts) by kind."""
    if not search.learning:
        return
    for kind, mixture in search.mixtures.items():
        gradient = gradients[kind]
        replicas = gradient if gradient.dim() == 3 else gradient[None]
        search.tally.add_rewards(kind, -replicas)
        mixture.grad = replicas.sum(0)
    search.method.step()


def observe_samples(search: Search, gradients: Mapping[str, Tensor]) -> None:
    """Play one round per sample and cell: (replications, samples, forecasters, experts) by kind."""
    for kind, mixture in search.mixtures.items():
        gradient = gradients[kind]
        search.tally.add_rewards(kind, -gradient.sum(1) / gradient.shape[1])
        search.method.observe(mixture, -gradient.flatten(0, 1))


def measure_valid_loss(search: Search) -> None:
    """Count the loss on the validation batch, without learning from it."""
    images, labels = search.valid_batch
    weights = cell_weights(search, "rewards") if isinstance(search.method, Weighing) else None
    with torch.no_grad(), precision(search):
        logits = forward(search, images, weights)
        search.tally.add_valid(cross_entropy(logits, labels), logits, labels)


def _mixtures(search: Search, samples: int) -> dict[str, Tensor]:
    """What this round is differentiated by: shared mixtures, one a cell, or one a cell and sample."""
    weights = cell_weights(search, "rewards")
    if weights is None:
        return dict(search.mixtures)
    if samples:
        weights = {kind: w[:, None].expand(-1, samples, -1, -1) for kind, w in weights.items()}
    return with_gradients(weights)


def _replications(search: Search) -> dict[str, int]:
    """Cells that share each mixture, 1 for a supernet that does not tell them apart."""
    if search.replicated is None:
        return dict.fromkeys(search.mixtures, 1)
    return {kind: len(copies) for kind, copies in search.replicated.spread().items()}
