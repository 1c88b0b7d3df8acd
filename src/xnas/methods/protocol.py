"""The protocol between a search and a method that learns its mixtures.

A mixture u is the leaf of autograd for every method, so each gets the same thing to learn from, the
reward R = -∂ℓ/∂u, and leaves the mixture of the next round in the parameter. A method that learns
logits behind a softmax turns R into their gradient itself (eq. 6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from torch import Tensor, nn

from xnas.records import Ledger
from xnas.registry import Registry

Accounting = Literal["update", "sample"]


class Method(Protocol):
    """How mixtures learn. `ExpertsOptimizer` is one as it stands."""

    def step(self) -> None:
        """Play one round with the rewards -p.grad of every mixture p (forecasters, experts)."""

    def observe(self, mixture: Tensor, rewards: Tensor) -> None:
        """Play one update of several rounds, (rounds, forecasters, experts), that share a mixture."""

    def alive(self, mixture: Tensor) -> Tensor:
        """Return a mask (forecasters, experts) of the experts that may still be chosen."""

    def strengths(self, mixture: Tensor) -> Tensor:
        """Return the mixture over all experts (forecasters, experts) that ranks edges at the end."""

    def comparable_sums(self, mixture: Tensor) -> Tensor:
        """Return what breaks ties between strengths: each expert's sum of rewards, or its logit.

        A wiped expert's is as far behind the leader as in `strengths`.
        """

    def check(self) -> None:
        """Raise what a captured step could not."""

    def state_dict(self) -> dict[str, Any]:
        """Return everything that `load_state_dict` needs to resume."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume where `state_dict` was taken."""


@runtime_checkable
class ExpertAdvice(Method, Protocol):
    """A method that plays the paper's game: a rate from the horizon, clipped rewards, wipeout.

    The settings `experts_lr`, `reward_bound`, `relaxation` and `wipeout` of a `Game` mean something to
    these methods only. `ExpertsOptimizer` is one.
    """

    def ledger(self, mixture: Tensor) -> Ledger:
        """The accounts of one mixture so far."""

    def wipe(self, mixture: Tensor, experts: Tensor) -> None:
        """Wipe out the experts of a mask (forecasters, experts) without playing a round."""


def ledgers(method: Method, mixtures: Mapping[str, Tensor]) -> dict[str, Ledger]:
    """The ledger of every mixture, by kind of cell; empty for methods that keep none."""
    if not isinstance(method, ExpertAdvice):
        return {}
    return {kind: method.ledger(mixture) for kind, mixture in mixtures.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Game:
    """The search that a method is about to play."""

    updates: int
    """Architecture steps in all: epochs x floor(d / batch)."""
    examples: int
    """Size of the validation half, d."""
    epochs: int
    batch_size: int
    replications: Mapping[str, int]
    """Cells that share a mixture, by kind: r_c."""
    accounting: Accounting = "update"
    """Count one round per update, or one per sample and replica."""
    experts_lr: Literal["paper", "matched"] | float = "matched"
    reward_bound: float = 1.0
    relaxation: float = 1.0
    wipeout: bool = True
    seed: int = 0

    def rounds(self, kind: str) -> int:
        """Rounds that the experts of one kind of cell play: their horizon T."""
        if self.accounting == "update":
            return self.updates
        return self.updates * self.batch_size * self.replications[kind]


MethodFactory = Callable[[Mapping[str, nn.Parameter], Game], Method]
METHODS: Registry[MethodFactory] = Registry("method")
"""Name -> factory (mixtures by kind, game) -> method; add your own with `METHODS.add`."""
