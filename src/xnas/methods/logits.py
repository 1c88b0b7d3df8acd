"""Logits that Adam learns, in three parts that can be exchanged: most rivals are a choice of these.

A *relaxation* says how logits α become the belief u and the weights w that cells multiply by, and how
the gradient g = ∂L/∂w comes back to α. *Terms* add the gradients of regularisers, by w or by α. A
*schedule* gives one number per epoch, such as a temperature, which all of them may read.

A softmax with temperature τ, z = softmax(s/τ), comes back as

    ∂L/∂s = z ⊙ (g - ⟨z, g⟩) / τ.

The defaults are DARTS's: Adam at 3e-4 with betas (0.5, 0.999) and weight decay 1e-3, from noise of
1e-3. A user may set rate and decay (`--logits-lr`, `--logits-weight-decay`).

Departure: the weights take their step before the architecture, as in all methods here; most originals
take the architecture's first. Both draw fresh batches, so the two differ by half a round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor, nn

from xnas.errors import ConfigError
from xnas.methods.game import Game
from xnas.methods.learner import Learner, Schedule, take_over
from xnas.methods.passes import Passes
from xnas.methods.protocol import Step
from xnas.theory import softmax_gd_rewards

NOISE = 1e-3
LEARNING_RATE = 3e-4
BETAS = (0.5, 0.999)
WEIGHT_DECAY = 1e-3
AVERAGES = ("exp_avg", "exp_avg_sq")  # as Adam calls them


@dataclass(frozen=True, slots=True)
class Edges:
    """What a relaxation sees of one kind of cell; shapes are (forecasters, experts)."""

    logits: Tensor
    alive: Tensor
    level: Tensor
    """The schedule's number of the present epoch, a scalar."""
    noise: Tensor
    """What was drawn for the weights that cells last had; its leading shape is the relaxation's."""


Term = Callable[[Edges], Tensor]
"""Edges -> what a regulariser adds to a gradient (forecasters, experts)."""


class Softmax:
    """The belief is softmax(α), and cells multiply by the belief. Other relaxations change parts."""

    def belief(self, edges: Edges) -> Tensor:
        """A point of the simplex for each edge; 0 for dead experts."""
        return masked_softmax(edges.logits, edges.alive)

    def noise_shape(self, shape: torch.Size) -> torch.Size:
        """The shape of what `draw` gives for mixtures of a shape (forecasters, experts)."""
        return shape

    def draw(self, edges: Edges, generator: Generator) -> Tensor:  # noqa: ARG002 - of others
        """Random numbers of one step."""
        return edges.noise

    def weights(self, edges: Edges, step: Step) -> Tensor:  # noqa: ARG002 - of others
        """What cells multiply by in this step."""
        return self.belief(edges)

    def pull_back(self, edges: Edges, gradient: Tensor) -> Tensor:
        """∂L/∂α from the gradient by the weights of the architecture step."""
        return pull_back(self.belief(edges), gradient)

    def strengths(self, edges: Edges) -> Tensor:
        """What ranks experts and edges at the end; it need not sum to 1."""
        return self.belief(edges)


class Logits(Learner):
    """Mixtures as a relaxation of logits that Adam learns."""

    def __init__(
        self,
        name: str,
        mixtures: Mapping[str, nn.Parameter],
        game: Game,
        *,
        relaxation: Softmax | None = None,
        weight_terms: Sequence[Term] = (),
        logit_terms: Sequence[Term] = (),
        schedule: Schedule | None = None,
        learning_rate: float = LEARNING_RATE,
        betas: tuple[float, float] = BETAS,
        weight_decay: float = WEIGHT_DECAY,
        gradient_clip: float | None = None,
        start: float = 0.0,
        noise: float = NOISE,
    ) -> None:
        """Logits begin at `start`, with normal noise from the game's seed.

        The game's `logits_lr` and `logits_weight_decay` come before `learning_rate` and `weight_decay`.
        `gradient_clip` is on the norm of all gradients of the logits together.
        """
        super().__init__(name, mixtures, game, schedule)
        self.relaxation = relaxation or Softmax()
        self.weight_terms, self.logit_terms = tuple(weight_terms), tuple(logit_terms)
        self.gradient_clip = gradient_clip
        drawn = torch.Generator().manual_seed(game.seed)
        self.logits = [
            nn.Parameter(start + noise * torch.randn(m.shape, generator=drawn).to(m))
            for m in mixtures.values()
        ]
        self.drawn = {  # in place from now on: a captured step writes where the first one did
            kind: torch.zeros(self.relaxation.noise_shape(m.shape)).to(m) for kind, m in mixtures.items()
        }
        self.adam = torch.optim.Adam(
            self.logits,
            lr=learning_rate if game.logits_lr is None else game.logits_lr,
            betas=betas,
            weight_decay=weight_decay if game.logits_weight_decay is None else game.logits_weight_decay,
            capturable=self.logits[0].is_cuda,  # its count of steps is also on the device
        )
        self.write_beliefs()

    def edges(self, kind: str) -> Edges:
        """The edges of one kind of cell as they are now."""
        return Edges(self.logits_of(kind).detach(), self.masks[kind], self.level, self.drawn[kind])

    def logits_of(self, kind: str) -> nn.Parameter:
        """The logits (forecasters, experts) of one kind."""
        return self.logits[list(self.mixtures).index(kind)]

    def begin_epoch(self, epoch: int) -> None:
        """Write the number of this epoch, and the beliefs that it leads to."""
        super().begin_epoch(epoch)
        if self.schedule is not None:
            self.write_beliefs()

    @torch.no_grad()
    def step(self) -> None:
        """Descend the logits by the gradients that the mixtures hold, and write the beliefs."""
        for (kind, mixture), logits in zip(self.mixtures.items(), self.logits, strict=True):
            if mixture.grad is None:
                logits.grad = None
                continue
            edges, gradient = self.edges(kind), mixture.grad
            for term in self.weight_terms:
                gradient = gradient + term(edges)
            logits.grad = self.relaxation.pull_back(edges, gradient)
            for term in self.logit_terms:
                logits.grad += term(edges)
        if self.gradient_clip is not None:
            nn.utils.clip_grad_norm_(self.logits, self.gradient_clip)
        self.adam.step()
        self.prune()
        self.write_beliefs()

    def prune(self) -> None:
        """Nobody goes; methods that prune take experts out of `masks` here, in place."""

    def strengths(self, mixture: Tensor) -> Tensor:
        """What ranks experts and edges at the end, (forecasters, experts)."""
        return self.relaxation.strengths(self.edges(self.kind_of(mixture))).double()

    def comparable_sums(self, mixture: Tensor) -> Tensor:
        """The logits, which rank experts as sums of rewards do; dead ones come after the living."""
        edges = self.edges(self.kind_of(mixture))
        last = edges.logits.masked_fill(~edges.alive, torch.inf).amin(-1, keepdim=True)
        behind = torch.minimum(edges.logits, last)
        return torch.where(edges.alive, edges.logits, behind).double()

    def check(self) -> None:
        """Raise if a step left numbers that are not finite."""
        self.require_finite("logits", dict(zip(self.mixtures, self.logits, strict=True)))

    def state_dict(self) -> dict[str, Any]:
        """Logits and Adam's averages."""
        return {"logits": [a.detach() for a in self.logits], "adam": self.adam.state_dict()}

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume where `state_dict` was taken."""
        load_adam(self.adam, state_dict["adam"])
        for logits, saved in zip(self.logits, state_dict["logits"], strict=True):
            kept = self.adam.state.get(logits)
            shapes = {saved.shape, *(kept[name].shape for name in AVERAGES if kept)}
            if shapes != {logits.shape} or (kept and kept["step"].dim() > 0):
                raise ConfigError(
                    f"logits or averages were saved for another mixture than {tuple(logits.shape)}; "
                    "load them into a search of the same space"
                )
            logits.copy_(saved)
        self.write_beliefs()

    @torch.no_grad()
    def write_beliefs(self) -> None:
        """Bring every mixture to the belief that its logits stand for."""
        for kind, mixture in self.mixtures.items():
            mixture.copy_(self.relaxation.belief(self.edges(kind)))


class WeighedLogits(Logits):
    """Logits for which cells multiply by something else than the belief."""

    @torch.no_grad()
    def weights(self, step: Step, passes: Passes) -> dict[str, Tensor]:
        """What cells multiply by in this step, by kind: (forecasters, experts)."""
        for kind, drawn in self.drawn.items():
            drawn.copy_(self.relaxation.draw(self.edges(kind), passes.draw))
        return {kind: self.relaxation.weights(self.edges(kind), step) for kind in self.mixtures}


class PrunedLogits(Logits):
    """Logits whose masks change: they belong to the state."""

    def state_dict(self) -> dict[str, Any]:
        """Logits, Adam's averages and masks of the living."""
        return super().state_dict() | {"alive": self.masks}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume where `state_dict` was taken."""
        take_over(self.masks, state_dict["alive"], "masks of the living")
        super().load_state_dict(state_dict)


def load_adam(adam: torch.optim.Adam, saved: dict[str, Any]) -> None:
    """Take over averages, with the settings that suit this device, not the one they were saved on."""
    (own,), (group,) = adam.param_groups, saved["param_groups"]
    groups = [{**own, "params": group["params"]}]
    adam.load_state_dict(saved | {"param_groups": groups})


def masked_softmax(logits: Tensor, alive: Tensor, temperature: Tensor | float = 1.0) -> Tensor:
    """softmax(α/τ) over the living, (forecasters, experts); 0 for the dead."""
    return (logits / temperature).masked_fill(~alive, -torch.inf).softmax(-1)


def pull_back(relaxed: Tensor, gradient: Tensor, temperature: Tensor | float = 1.0) -> Tensor:
    """∂L/∂s of z = softmax(s/τ) from g = ∂L/∂z: z ⊙ (g - ⟨z, g⟩)/τ, (forecasters, experts)."""
    return -softmax_gd_rewards(relaxed, -gradient) / temperature


def gumbel(like: Tensor, generator: Generator) -> Tensor:
    """Standard Gumbel noise -log(-log U) in the shape of `like`; finite, as U keeps clear of 0 and 1."""
    info = torch.finfo(like.dtype)
    uniform = torch.rand(like.shape, dtype=like.dtype, device=like.device, generator=generator)
    return -(-uniform.clamp(info.tiny, 1 - info.eps).log()).log()


def one_hot_of(scores: Tensor) -> Tensor:
    """1 for the first expert with the highest score, 0 for the others, (forecasters, experts)."""
    chosen = scores.argmax(-1, keepdim=True)
    return torch.zeros_like(scores).scatter(-1, chosen, 1.0)
