"""DrNAS: mixtures drawn from a Dirichlet distribution that is learned (Chen, Wang et al., 2021).

The concentration is b = elu(α) + 1, and each step draws w ~ Dirichlet(b) anew. With B = Σb and F_j the
distribution function of Beta(b_j, B - b_j), of density f_j, the gradient of the sample is

    q_j = -[∂F_j/∂b_j] / [f_j (1 - w_j)] at w_j,   ∂L/∂b_j = q_j (g_j - ⟨w, g⟩),

and ∂α_j = ∂b_j · (1 if α_j > 0 else exp α_j). The belief is the mean b/B. As in the authors' code the
regulariser is Adam's decay of 1e-3; `kl` is the other one that they offer.

Departure: on the DARTS space this form has DARTS's batch and rates and searches all channels. No such
recipe was published: the authors search that space in stages, as *drnas-progressive* does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import elu

from xnas.methods.game import Game
from xnas.methods.learner import living
from xnas.methods.logits import WEIGHT_DECAY, Edges, Softmax, WeighedLogits, masked_softmax
from xnas.methods.protocol import Step
from xnas.methods.recipes import BENCHMARK, DARTS, by_space
from xnas.methods.registered import METHODS

KL_STRENGTH = 1e-3


def concentration(logits: Tensor) -> Tensor:
    """B = elu(α) + 1, above 0, (forecasters, experts)."""
    return elu(logits) + 1


def sampled(concentrations: Tensor, alive: Tensor, generator: Generator) -> Tensor:
    """W ~ Dirichlet(b) over the living experts of each edge, (forecasters, experts)."""
    gammas = torch._standard_gamma(concentrations, generator=generator)
    return living(gammas, alive)


def dirichlet_pull_back(
    drawn: Tensor, concentrations: Tensor, gradient: Tensor, alive: Tensor
) -> Tensor:
    """∂L/∂b of a sample w ~ Dirichlet(b) from g = ∂L/∂w, (forecasters, experts)."""
    total = (concentrations * alive).sum(-1, keepdim=True).expand_as(concentrations)
    q = torch._dirichlet_grad(drawn, concentrations, total)
    centred = gradient - (drawn * gradient).sum(-1, keepdim=True)
    return torch.where(alive, q * centred, 0.0)


def kl_to_uniform(concentrations: Tensor) -> Tensor:
    """KL(Dir(b) ‖ Dir(1)) of each edge, (forecasters,), from b (forecasters, experts)."""
    total, experts = concentrations.sum(-1), concentrations.shape[-1]
    ones = torch.tensor(float(experts), dtype=total.dtype, device=total.device)
    spread = (concentrations - 1) * (concentrations.digamma() - total.digamma()[..., None])
    return total.lgamma() - concentrations.lgamma().sum(-1) - ones.lgamma() + spread.sum(-1)


def kl_gradient(edges: Edges) -> Tensor:
    """The gradient of 1e-3 · KL(Dir(b) ‖ Dir(1)), summed over edges, by α, (forecasters, experts)."""
    b = concentration(edges.logits)
    total, experts = b.sum(-1, keepdim=True), b.shape[-1]
    by_b = (b - 1) * torch.polygamma(1, b) - (total - experts) * torch.polygamma(1, total)
    return KL_STRENGTH * by_b * edges.logits.clamp(max=0).exp()


class Dirichlet(Softmax):
    """The belief is the mean of Dirichlet(b); cells multiply by a sample."""

    def belief(self, edges: Edges) -> Tensor:
        """b/B over the living, (forecasters, experts)."""
        return living(concentration(edges.logits), edges.alive)

    def draw(self, edges: Edges, generator: Generator) -> Tensor:
        """The sample itself."""
        return sampled(concentration(edges.logits), edges.alive, generator)

    def weights(self, edges: Edges, step: Step) -> Tensor:  # noqa: ARG002 - drawn anew in each
        """The sample, (forecasters, experts)."""
        return edges.noise

    def pull_back(self, edges: Edges, gradient: Tensor) -> Tensor:
        """∂L/∂α of the sample."""
        by_b = dirichlet_pull_back(edges.noise, concentration(edges.logits), gradient, edges.alive)
        return by_b * edges.logits.clamp(max=0).exp()

    def strengths(self, edges: Edges) -> Tensor:
        """softmax(α), by which the authors choose."""
        return masked_softmax(edges.logits, edges.alive)


def drnas(mixtures: Mapping[str, nn.Parameter], game: Game, *, kl: bool = False) -> WeighedLogits:
    """Samples of a Dirichlet distribution, in one stage; `kl` takes the place of Adam's decay."""
    return WeighedLogits(
        "drnas",
        mixtures,
        game,
        relaxation=Dirichlet(),
        logit_terms=[kl_gradient] if kl else (),
        weight_decay=0.0 if kl else WEIGHT_DECAY,
    )


PAPER = "Chen et al., 2021, arXiv:2006.10355"

METHODS.add(
    "drnas",
    drnas,
    recipe=by_space(replace(DARTS, include_none=False), nasbench201=BENCHMARK),
    summary="mixtures drawn from a Dirichlet distribution that is learned",
    paper=PAPER,
    costs="W + M",
)
