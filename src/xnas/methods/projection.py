"""Projection: edges are decided by what accuracy loses without an operation (Wang et al., 2021).

After any search an undecided edge is taken at random. For each of its operations the validation
accuracy is measured with the weight of that operation set to 0 and the others as they are, and the one
whose absence hurts most is kept, alone. When all edges are decided, nodes in random order drop the
edges whose absence hurts least until two are left. Kinds of cells take turns.

With a second stage, weights and logits are trained for 5 epochs between decisions. Without one
everything is decided after the last epoch.

Departure: `none` is never kept, as in all cells here. Ties go to the first operation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.optim import Adam

from xnas.methods.game import Game
from xnas.methods.learner import take_over, whole_state
from xnas.methods.logits import PrunedLogits
from xnas.methods.passes import Looks, Passes
from xnas.methods.paths import rows_of_nodes, without_none
from xnas.methods.protocol import Step, Wipeable
from xnas.optim import ExpertsOptimizer
from xnas.records import Ledger

T = TypeVar("T")
QUICK_BATCHES = 20
BETWEEN = 5
"""Epochs from one decision to the next."""


class Projected:
    """A method whose cell is decided by measurements; until then it is the method inside."""

    def __init__(
        self,
        inner: Wipeable,
        mixtures: Mapping[str, nn.Parameter],
        game: Game,
        *,
        batches: int | None = QUICK_BATCHES,
        blank: bool = False,
    ) -> None:
        """`batches` of a measurement; None: the whole half. `blank`: the method inside rests always."""
        self.inner, self.mixtures, self.game = inner, dict(mixtures), game
        self.batches, self.blank, self.epoch = batches, blank, 0
        self.decided = {
            kind: torch.zeros(len(m), dtype=m.dtype, device=m.device) for kind, m in mixtures.items()
        }
        """1 for edges that have their operation, (forecasters,)."""
        self.kept = {kind: torch.ones_like(d) for kind, d in self.decided.items()}
        """0 for edges that were dropped, (forecasters,)."""

    def begin_epoch(self, epoch: int) -> None:
        """Note the epoch."""
        self.epoch = epoch

    def learns(self, epoch: int, round_in_epoch: int) -> bool:  # noqa: ARG002 - the protocol's
        """Always, or never."""
        return not self.blank

    def weights(self, step: Step, passes: Passes) -> dict[str, Tensor]:  # noqa: ARG002 - in both
        """The mixtures, 0 on edges that were dropped, by kind (forecasters, experts)."""
        return {kind: m.detach() * self.kept[kind][:, None] for kind, m in self.mixtures.items()}

    def step(self) -> None:
        """Let the method inside play the round."""
        self.inner.step()

    def observe(self, mixture: Tensor, rewards: Tensor) -> None:
        """Let the method inside play the rounds, (rounds, forecasters, experts)."""
        self.inner.observe(mixture, rewards)

    def alive(self, mixture: Tensor) -> Tensor:
        """The experts of the method inside; of a decided edge one, (forecasters, experts)."""
        return self.inner.alive(mixture)

    def strengths(self, mixture: Tensor) -> Tensor:
        """Before decisions those of the method inside; on decided edges 1 for what was kept, 0 else."""
        kind = next(kind for kind, m in self.mixtures.items() if m is mixture)
        table = self.inner.alive(mixture).double() * self.kept[kind][:, None]
        return torch.where(self.decided[kind][:, None] > 0, table, self.inner.strengths(mixture))

    def comparable_sums(self, mixture: Tensor) -> Tensor:
        """Those of the method inside, (forecasters, experts)."""
        return self.inner.comparable_sums(mixture)

    def check(self) -> None:
        """Raise what the method inside could not."""
        self.inner.check()

    def state_dict(self) -> dict[str, Any]:
        """That of the method inside, and the decisions."""
        return {
            "inner": self.inner.state_dict(),
            "decided": whole_state(self.decided),
            "kept": whole_state(self.kept),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume where `state_dict` was taken."""
        self.inner.load_state_dict(state_dict["inner"])
        take_over(self.decided, state_dict["decided"], "decisions")
        take_over(self.kept, state_dict["kept"], "decisions")

    @torch.no_grad()
    def close_epoch(self, looks: Looks) -> None:
        """Take the decisions that are due after this epoch."""
        for _ in range(self.due(self.epoch)):
            for kind in self.mixtures:
                self.decide(kind, looks)

    def due(self, epoch: int) -> int:
        """How many decisions of each kind come after an epoch; without a second stage all at the end."""
        total, last = self.steps, self.game.epochs - 1
        if len(self.game.stages) < 2:
            return total if epoch == last else 0
        tuning = min(self.game.stages[1], self.game.epochs)
        begin = last - tuning  # after this epoch; those of the stage before have no warm-up here
        return [max(0, begin + k) for k in decision_epochs(total, tuning)].count(epoch)

    @property
    def steps(self) -> int:
        """Decisions that a kind of cell takes: one for each edge, one for each node that drops edges."""
        edges = max(len(decided) for decided in self.decided.values())
        return edges + len(self.choosing_nodes)

    @property
    def choosing_nodes(self) -> list[list[int]]:
        """Rows of the nodes that have more edges than they keep."""
        most = self.game.kept_edges
        if most is None:
            return []
        return [rows for rows in rows_of_nodes(self.game) if len(rows) > most]

    def decide(self, kind: str, looks: Looks) -> None:
        """Decide one edge drawn at random; once all are decided, one node."""
        open_edges = (self.decided[kind] == 0).nonzero().flatten().tolist()
        if open_edges:
            self.decide_edge(kind, _picked(open_edges, looks), looks)
            return
        most = self.game.kept_edges or 0
        open_nodes = [rows for rows in self.choosing_nodes if int(self.kept[kind][rows].sum()) > most]
        if open_nodes:
            self.decide_node(kind, _picked(open_nodes, looks), looks)

    def decide_edge(self, kind: str, edge: int, looks: Looks) -> None:
        """Keep the operation of an edge whose absence hurts most."""
        mixture = self.mixtures[kind]
        choice = without_none(self.inner.alive(mixture), self.game.operations)[edge]
        losses = {}
        for expert in choice.nonzero().flatten().tolist():
            weights = self._weights()
            weights[kind][edge, expert] = 0
            losses[expert] = looks.accuracy(weights, self.batches)
        best = min(losses, key=losses.__getitem__)
        gone = self.inner.alive(mixture)
        gone[:edge], gone[edge + 1 :], gone[edge, best] = False, False, False
        self.inner.wipe(mixture, gone)
        self.decided[kind][edge] = 1

    def decide_node(self, kind: str, rows: list[int], looks: Looks) -> None:
        """Drop the edges of a node whose absence hurts least, until two are left."""
        while int(self.kept[kind][rows].sum()) > (self.game.kept_edges or 0):
            left = {}
            for row in rows:
                if self.kept[kind][row] > 0:
                    weights = self._weights()
                    weights[kind][row] = 0
                    left[row] = looks.accuracy(weights, self.batches)
            self.kept[kind][max(left, key=left.__getitem__)] = 0

    def _weights(self) -> dict[str, Tensor]:
        return {kind: m.detach() * self.kept[kind][:, None] for kind, m in self.mixtures.items()}


class ProjectedLogits(Projected):
    """The same on top of a method that learns logits."""

    inner: PrunedLogits

    @property
    def adam(self) -> Adam:
        """The optimizer of the logits."""
        return self.inner.adam


class ProjectedExperts(Projected):
    """The same on top of a method of expert advice, whose ledgers it shows."""

    inner: ExpertsOptimizer

    def ledger(self, mixture: Tensor) -> Ledger:
        """The accounts of one mixture so far."""
        return self.inner.ledger(mixture)

    def wipe(self, mixture: Tensor, experts: Tensor) -> None:
        """Wipe out the experts of a mask (forecasters, experts) without playing a round."""
        self.inner.wipe(mixture, experts)


def decision_epochs(steps: int, epochs: int) -> list[int]:
    """Epochs of the second stage before which decisions are taken: 0, 5, 10 ..., the last at its end.

    More or fewer epochs than the decisions need stretch or shorten what is between them.
    """
    published = BETWEEN * (steps - 1) + 1
    return [min(math.ceil(k * BETWEEN * epochs / published), epochs - 1) for k in range(steps)]


def _picked(candidates: list[T], looks: Looks) -> T:
    """One of several, drawn by the search's generator."""
    draw = looks.draw
    return candidates[int(torch.randint(len(candidates), (), generator=draw, device=draw.device))]
