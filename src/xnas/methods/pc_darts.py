"""PC-DARTS: a part of the channels is searched, and edges have weights of their own (Xu et al., 2020).

Of C channels the first C/4 pass the experts, the others go by. A node adds Σ_e β_e · edge_e with β the
softmax of edge logits b over the edges into the node, so cells multiply by w_ei = β_e u_ei, and what
goes by counts β_e. The gradients are, with s_e = ⟨u_e, g_e⟩,

    ∂α_e = β_e u_e ⊙ (g_e - s_e),   ∂b = β ⊙ (s - ⟨β, s⟩) for each node.

Both kinds of logits learn by one Adam at 6e-4 and rest for the first 15 of 50 epochs. In *gaea-pc* u
and β are mixtures that learn by exponentiated gradient, β from 1/inputs and without a floor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from xnas.methods.gaea import LEARNING_RATE as EG_RATE
from xnas.methods.gaea import PAPER as GAEA_PAPER
from xnas.methods.gaea import ExponentiatedGradient
from xnas.methods.game import Game
from xnas.methods.learner import take_over, whole_state
from xnas.methods.logits import NOISE, Logits
from xnas.methods.passes import Passes
from xnas.methods.protocol import Step
from xnas.methods.recipes import DARTS
from xnas.methods.registered import METHODS

LEARNING_RATE = 6e-4
EPOCHS, REST = 50, 15


class Nodes:
    """Which edges lead into one node: sums and softmaxes over them, (forecasters,)."""

    def __init__(self, game: Game, edges: int, device: torch.device) -> None:
        ends = [node for _, node in game.edges] or [0] * edges
        self.ends = torch.tensor(ends, device=device)
        self.together = self.ends[:, None] == self.ends
        """Mask (forecasters, forecasters) of edges into one node."""

    def softmax(self, scores: Tensor) -> Tensor:
        """exp(b) divided by its sum over the edges of the same node."""
        table = scores.expand_as(self.together).masked_fill(~self.together, -torch.inf)
        return table.softmax(-1).diagonal().clone()

    def sum(self, values: Tensor) -> Tensor:
        """The sum over the edges of the same node, for each edge."""
        return self.together.to(values) @ values


def edge_gradient(
    edge_weights: Tensor, belief: Tensor, gradient: Tensor, nodes: Nodes
) -> tuple[Tensor, Tensor]:
    """∂L/∂u, (forecasters, experts), and ∂L/∂b, (forecasters,), from g = ∂L/∂w."""
    earned = (belief * gradient).sum(-1)
    by_edge = edge_weights * (earned - nodes.sum(edge_weights * earned))
    return edge_weights[:, None] * gradient, by_edge


class PartialDarts(Logits):
    """Logits of experts and of edges."""

    def __init__(self, mixtures: Mapping[str, nn.Parameter], game: Game) -> None:
        super().__init__("pc-darts", mixtures, game, learning_rate=LEARNING_RATE)
        drawn = torch.Generator().manual_seed(game.seed + 1)
        self.nodes = Nodes(game, len(self.logits[0]), self.logits[0].device)
        self.edge_logits = {
            kind: nn.Parameter(NOISE * torch.randn(len(m), generator=drawn).to(m))
            for kind, m in mixtures.items()
        }
        self.adam.param_groups[0]["params"].extend(self.edge_logits.values())

    def learns(self, epoch: int, round_in_epoch: int) -> bool:  # noqa: ARG002 - all rounds alike
        """Whether the rest at the start is over."""
        return epoch * EPOCHS >= REST * self.game.epochs

    def edge_weights(self, kind: str) -> Tensor:
        """β, (forecasters,)."""
        return self.nodes.softmax(self.edge_logits[kind].detach())

    @torch.no_grad()
    def weights(self, step: Step, passes: Passes) -> dict[str, Tensor]:  # noqa: ARG002 - in both
        """β_e u_ei by kind, (forecasters, experts)."""
        return {k: self.edge_weights(k)[:, None] * m.detach() for k, m in self.mixtures.items()}

    @torch.no_grad()
    def step(self) -> None:
        """Bring the gradients to both kinds of logits, and descend."""
        for kind, mixture in self.mixtures.items():
            if mixture.grad is not None:
                beta, belief = self.edge_weights(kind), mixture.detach()
                mixture.grad, self.edge_logits[kind].grad = edge_gradient(
                    beta, belief, mixture.grad, self.nodes
                )
        super().step()

    def strengths(self, mixture: Tensor) -> Tensor:
        """β_e u_ei, (forecasters, experts)."""
        beta = self.edge_weights(self.kind_of(mixture))
        return beta[:, None].double() * super().strengths(mixture)

    def check(self) -> None:
        """Raise if a step left numbers that are not finite."""
        super().check()
        self.require_finite("edge logits", self.edge_logits)

    def state_dict(self) -> dict[str, Any]:
        """Logits of experts and edges, and Adam's averages of both."""
        return super().state_dict() | {"edges": whole_state(self.edge_logits)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume where `state_dict` was taken."""
        take_over(self.edge_logits, state_dict["edges"], "edge logits")
        super().load_state_dict(state_dict)


class PartialGaea(ExponentiatedGradient):
    """Mixtures of experts and of edges by exponentiated gradient."""

    def __init__(self, mixtures: Mapping[str, nn.Parameter], game: Game) -> None:
        super().__init__("gaea-pc", mixtures, game)
        first = next(iter(mixtures.values()))
        self.nodes = Nodes(game, len(first), first.device)
        self.edge_mixtures = {
            kind: self.nodes.softmax(m.new_zeros(len(m))) for kind, m in mixtures.items()
        }
        """β, (forecasters,); 1 in sum for each node."""

    @torch.no_grad()
    def weights(self, step: Step, passes: Passes) -> dict[str, Tensor]:  # noqa: ARG002 - in both
        """β_e u_ei by kind, (forecasters, experts)."""
        return {k: self.edge_mixtures[k][:, None] * m.detach() for k, m in self.mixtures.items()}

    @torch.no_grad()
    def step(self) -> None:
        """Bring the gradients to both kinds of mixtures, and multiply."""
        for kind, mixture in self.mixtures.items():
            if mixture.grad is not None:
                beta, given = self.edge_mixtures[kind], mixture.grad
                earned = (mixture * given).sum(-1)
                mixture.grad = beta[:, None] * given
                beta.copy_(self.nodes.softmax(beta.log() - EG_RATE * earned))
        super().step()

    def strengths(self, mixture: Tensor) -> Tensor:
        """β_e u_ei, (forecasters, experts)."""
        beta = self.edge_mixtures[self.kind_of(mixture)]
        return beta[:, None].double() * super().strengths(mixture)

    def check(self) -> None:
        """Raise if a step left numbers that are not finite."""
        super().check()
        self.require_finite("edge weights", self.edge_mixtures)

    def state_dict(self) -> dict[str, Any]:
        """Mixtures of experts and of edges."""
        return super().state_dict() | {"edges": whole_state(self.edge_mixtures)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume where `state_dict` was taken."""
        take_over(self.edge_mixtures, state_dict["edges"], "edge weights")
        super().load_state_dict(state_dict)


RECIPE = replace(DARTS, batch_size=256, weights_lr=0.1, final_weights_lr=0.0, partial_channels=4)

METHODS.add(
    "pc-darts",
    PartialDarts,
    recipe=RECIPE,
    summary="DARTS on a quarter of the channels, with weights for edges",
    paper="Xu et al., 2020, arXiv:1907.05737",
    costs="less than W + M",
)
METHODS.add(
    "gaea-pc",
    PartialGaea,
    recipe=RECIPE,
    summary="gaea on a quarter of the channels, with weights for edges",
    paper=GAEA_PAPER,
    costs="less than W + M",
)
