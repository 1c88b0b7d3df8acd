"""The protocol between a search and a method that learns its mixtures.

A mixture u is the leaf of autograd for every method, so each gets the same thing to learn from, the
reward R = -∂ℓ/∂u, and leaves the mixture of the next round in the parameter. A method that learns
logits behind a softmax turns R into their gradient itself (eq. 6).

Between rounds a mixture always lies on the simplex: entropy, the skip share and checkpoints read it.
What cells multiply by may be something else, such as a sampled path: the hook `weights` returns that.

`Method` is required. Every hook is a protocol of its own with one function, and optional: a method has
those that it needs. A search asks for them with `isinstance`.

Hooks marked "captured" become part of a CUDA graph. Nothing in them may be read on the host: no
`.item()`, no Python branch on a tensor, no mask as an index, no `torch.multinomial`. Sample by the
argmax of logits with Gumbel noise, choose by `torch.where`. Every draw comes from `passes.draw`. State
keeps its tensors, and those that come later begin as zeros. Captures are rehearsed: what changes and is
not among the tensors of `state_dict` (in dictionaries and lists) stays as the rehearsal left it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, runtime_checkable

from torch import Tensor
from torch.optim import Adam

from xnas.methods.passes import Looks, Passes, Seen
from xnas.records import Ledger

Step = Literal["weights", "rewards"]
"""The two halves of a round: the step of the network's weights, and the one of the architecture."""


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
class Wipeable(Method, Protocol):
    """A method whose experts can be taken out one by one, by a stage or by measurements."""

    def wipe(self, mixture: Tensor, experts: Tensor) -> None:
        """Take out the experts of a mask (forecasters, experts), for good."""


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


@runtime_checkable
class Charging(ExpertAdvice, Protocol):
    """Lets experts pay prices, so that limits on the model have a say in what is learned.

    `ExpertsOptimizer` is one. With other methods a limit only narrows the choice of the final cell.
    """

    def charge(self, mixture: Tensor, prices: Tensor) -> None:
        """Take prices (forecasters, experts) from the rewards of every round from now on.

        The tensors that a captured step reads have to stay the same from the first call on.
        """

    def cumulative_rewards(self, mixture: Tensor) -> Tensor:
        """Return each expert's sum of rewards (forecasters, experts) after prices."""


@runtime_checkable
class LearnsLogits(Protocol):
    """A method whose logits Adam learns, at the `logits_lr` and `logits_weight_decay` of a `Game`."""

    @property
    def adam(self) -> Adam:
        """The optimizer of the logits."""


@runtime_checkable
class Weighing(Protocol):
    """Lets cells multiply by something else than the mixture: a sample, gates, a perturbed mixture."""

    def weights(self, step: Step, passes: Passes) -> Mapping[str, Tensor] | None:
        """Return what cells multiply by in this step; asked once before each of the two. Captured.

        By kind of cell (forecasters, experts), or (replications, forecasters, experts) with weights for
        each cell. Any real numbers; 0 for experts that are gone. None stands for the mixtures. In
        `step` the gradient of a mixture is then that by these weights, summed over cells.
        """


@runtime_checkable
class EpochAware(Protocol):
    """Follows a schedule: a temperature, or the strength of a regulariser."""

    def begin_epoch(self, epoch: int) -> None:
        """Write the numbers of an epoch, from 0 to `game.epochs` - 1, into tensors that steps read.

        Called before the first round of an epoch, and after a restore in the middle of one. So it has
        to be a function of the epoch alone.
        """


@runtime_checkable
class Pausing(Protocol):
    """Rests in some rounds, in which the validation loss is only measured."""

    def learns(self, epoch: int, round_in_epoch: int) -> bool:
        """Whether the coming round has an architecture step; a function of its arguments alone."""


@runtime_checkable
class Learning(Protocol):
    """Makes the whole architecture step itself, because it needs more than one gradient."""

    def learn(self, passes: Passes) -> None:
        """Do what `step` does, with as many passes as it takes. Captured; `step` is not called then.

        Without the hook `Weighing`, `step` of such a method may raise.
        """


@runtime_checkable
class Correcting(Protocol):
    """Changes the gradient of the network's weights."""

    def correct(self, seen: Seen, passes: Passes) -> None:
        """Change `p.grad` of `passes.weights`, between backward and clipping. Captured.

        `seen` is the pass on the training batch, with the gradients by the mixtures of all cells.
        """


@runtime_checkable
class EpochClosing(Protocol):
    """Decides at the end of an epoch, for which it may measure the supernet."""

    def close_epoch(self, looks: Looks) -> None:
        """Change mixtures, `alive` and `strengths`, before experts that are not alive are deleted.

        Not captured. Runs before the epoch's checkpoint is written.
        """
