"""OLES: operations whose gradients no longer agree are frozen (Jiang et al., NeurIPS 2023).

For each operation of each cell, the cosine of its weights' gradients by the training and by the
validation batch is averaged over 20 rounds. Where the mean is below a threshold, the weights of the
operation stand still for good. The rest is first-order DARTS.

The authors' threshold of 0.4 belongs to their code's own cosine, that of g_t + g_v with g_t, because
gradients are not cleared between the two, taken along the first dimension and averaged over the rest,
with 21 values divided by 20. `partial(oles, published=True)` computes that. The default is the plain
cosine of the flattened gradients.

Departure: the threshold for plain cosines is not known. The default keeps 0.4, which freezes sooner.

Departure: the weights of frozen operations are put back after each step, so that momentum and decay do
not move them either. The validation gradient is taken after the weight step, the training one before
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from xnas.methods.game import Game
from xnas.methods.learner import take_over
from xnas.methods.logits import Logits
from xnas.methods.passes import Passes, Place, Seen
from xnas.methods.recipes import DARTS
from xnas.methods.registered import METHODS

ROUNDS = 20
THRESHOLD = 0.4


def plain_cosine(train: Tensor, valid: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """⟨g_t, g_v⟩ and both squared norms of one weight, which add up over an operation's weights."""
    return (train * valid).sum(), (train**2).sum(), (valid**2).sum()


def published_cosine(train: Tensor, valid: Tensor) -> Tensor:
    """The authors' mean cosine of one weight: of g_t + g_v with g_t, along the first dimension."""
    return torch.cosine_similarity(train + valid, train, dim=0).mean()


class Overfitting(Logits):
    """DARTS's logits, and weights of operations that may be frozen."""

    def __init__(
        self,
        name: str,
        mixtures: Mapping[str, nn.Parameter],
        game: Game,
        *,
        published: bool = False,
        threshold: float = THRESHOLD,
    ) -> None:
        super().__init__(name, mixtures, game)
        self.published, self.threshold = published, threshold
        self.frozen = self._table()
        """1 for frozen operations, by kind (replications, forecasters, experts)."""
        self.sums = self._table()
        """Of cosines since the last judgement."""
        first = next(iter(self.sums.values()))
        self.seen = torch.zeros((), device=first.device)
        self.trained: list[Tensor] = []
        """Gradients by the training batch of this round."""
        self.copies: dict[nn.Parameter, Tensor] = {}
        """The weights as they were before this round."""

    def _table(self) -> dict[str, Tensor]:
        cells = self.game.replications
        return {
            kind: torch.zeros((cells[kind], *m.shape), device=m.device)
            for kind, m in self.mixtures.items()
        }

    @torch.no_grad()
    def correct(self, seen: Seen, passes: Passes) -> None:  # noqa: ARG002 - the gradients are in place
        """Note the training gradients, and the weights before their step."""
        self.trained = [
            torch.zeros_like(w) if w.grad is None else w.grad.clone() for w in passes.weights
        ]
        self.copies = {w: w.detach().clone() for w in passes.weights}

    @torch.no_grad()
    def learn(self, passes: Passes) -> None:
        """Put frozen weights back, compare the gradients, and let the logits step."""
        for weight, place in zip(passes.weights, passes.places, strict=True):
            if place is not None and weight in self.copies:
                weight.lerp_(self.copies[weight], self._frozen_at(place).to(weight))
        seen = passes.see("valid", by="both")
        for kind, gradient in seen.mixtures.items():
            self.mixtures[kind].grad = gradient.sum(0)
        self._compare(passes.places, seen.weights)
        self.step()

    def _frozen_at(self, place: Place) -> Tensor:
        kind, cell, forecaster, expert = place
        return self.frozen[kind][cell, forecaster, expert]

    def _compare(self, places: Sequence[Place | None], valid: Sequence[Tensor]) -> None:
        """Add the cosine of every operation; after enough rounds freeze those below the threshold."""
        found: dict[Place, list[tuple[Tensor, Tensor]]] = {}
        for place, pair in zip(places, zip(self.trained, valid, strict=True), strict=True):
            if place is not None:
                found.setdefault(place, []).append(pair)
        for place, pairs in found.items():
            kind, cell, forecaster, expert = place
            self.sums[kind][cell, forecaster, expert] += self.cosine(pairs)
        self.seen += 1
        last = self.seen >= ROUNDS + self.published  # 21 values, divided by 20
        for kind, sums in self.sums.items():
            learned = torch.zeros_like(sums)
            for place in found:
                if place[0] == kind:
                    learned[place[1:]].fill_(1)  # no copy from the host, so that a round can be captured
            below = (sums / ROUNDS < self.threshold) & (learned > 0) & last
            self.frozen[kind].copy_(torch.maximum(self.frozen[kind], below.to(sums)))
            sums.mul_(~last)
        self.seen.mul_(~last)

    def cosine(self, pairs: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
        """The cosine of one operation, from the two gradients of each of its weights."""
        if self.published:
            return torch.stack([published_cosine(t, v) for t, v in pairs]).mean()
        dot, one, other = (
            torch.stack(c).sum() for c in zip(*(plain_cosine(t, v) for t, v in pairs), strict=True)
        )
        return dot / (one * other).sqrt().clamp(min=torch.finfo(dot.dtype).tiny)

    def state_dict(self) -> dict[str, Any]:
        """Logits, averages, what is frozen, and the cosines so far."""
        return super().state_dict() | {
            "frozen": self.frozen,
            "sums": self.sums,
            "seen": {"rounds": self.seen},
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume where `state_dict` was taken."""
        take_over(self.frozen, state_dict["frozen"], "frozen operations")
        take_over(self.sums, state_dict["sums"], "cosines")
        take_over({"rounds": self.seen}, state_dict["seen"], "cosines")
        super().load_state_dict(state_dict)


def oles(
    mixtures: Mapping[str, nn.Parameter],
    game: Game,
    *,
    published: bool = False,
    threshold: float = THRESHOLD,
) -> Overfitting:
    """DARTS that freezes operations by the plain cosine of their gradients, or the `published` one."""
    return Overfitting("oles", mixtures, game, published=published, threshold=threshold)


METHODS.add(
    "oles",
    oles,
    recipe=DARTS,
    summary="DARTS that freezes the weights of operations whose gradients disagree",
    paper="Jiang et al., NeurIPS 2023",
    costs="W + J",
)
