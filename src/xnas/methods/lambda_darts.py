"""Λ-DARTS: the weights learn so that cells agree on what they want (Movahedi et al., 2023).

With g_l the training loss's gradient by cell l's own copy of the normal mixture, and ĝ_l its direction,
Λ is the mean of ⟨ĝ_l, ĝ_k⟩ over pairs of cells. Its gradient by g_l is

    δ_l = [2/(L(L - 1))] (I - ĝ_l ĝ_lᵀ) Σ_k ĝ_k / ‖g_l‖.

With ε = ε0/‖all δ‖ the weights' gradient gets λ [∇_w L(u - ε δ) - ∇_w L(u + ε δ)]/(2 ε), whose descent
raises Λ; λ = 0.125 e/(E - 1) over the epochs. The rest is DARTS. Clipping comes after it. For the
differences it computes in fp32, never in TF32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor, nn

from xnas.methods.darts2 import above_zero, global_norm
from xnas.methods.game import Game
from xnas.methods.learner import Schedule
from xnas.methods.logits import Logits
from xnas.methods.passes import Passes, Seen
from xnas.methods.recipes import BENCHMARK, DARTS, by_space
from xnas.methods.registered import METHODS

STRENGTH = 0.125
DIFFERENCE = 1e-3
"""ε0, as in the authors' script; their code has 1e-4."""
NORMAL = "normal"


def alignment(gradients: Tensor) -> Tensor:
    """Λ of the gradients (cells, forecasters, experts) of one kind, ()."""
    directions = _directions(gradients)
    cells = len(directions)
    total = directions.sum(0)
    return (total.dot(total) - (directions**2).sum()) / (cells * (cells - 1))


def alignment_gradient(gradients: Tensor) -> Tensor:
    """δ, the gradient of Λ by the gradients, (cells, forecasters, experts)."""
    directions, cells = _directions(gradients), len(gradients)
    total = directions.sum(0)
    across = total - directions * (directions @ total)[:, None]
    norms = gradients.flatten(1).norm(dim=1, keepdim=True)
    delta = 2 / (cells * (cells - 1)) * across / above_zero(norms)
    return delta.reshape(gradients.shape)


def _directions(gradients: Tensor) -> Tensor:
    flat = gradients.flatten(1)
    return flat / above_zero(flat.norm(dim=1, keepdim=True))


class Aligned(Logits):
    """DARTS's logits, with a correction of the weights' gradient."""

    @torch.no_grad()
    def correct(self, seen: Seen, passes: Passes) -> None:
        """Add the correction to the gradients of the weights."""
        gradients = seen.mixtures[NORMAL]
        cells = len(gradients)
        if cells < 2:  # no other cell to agree with
            return
        delta = alignment_gradient(gradients)
        scale = DIFFERENCE / above_zero(global_norm([delta]))
        shared = {kind: m.detach() for kind, m in self.mixtures.items()}
        belief = shared[NORMAL].expand(cells, -1, -1)
        sides = [
            passes.see("train", shared | {NORMAL: belief + sign * scale * delta}, by="weights").weights
            for sign in (-1, 1)
        ]
        factor = self.level.to(scale) / (2 * scale)
        for weight, low, high in zip(passes.weights, *sides, strict=True):
            if weight.grad is not None:
                weight.grad.add_(factor * (low - high))


def growth(epochs: int) -> Schedule:
    """λ of an epoch."""
    return lambda epoch: STRENGTH * epoch / max(1, epochs - 1)


def lambda_darts(mixtures: Mapping[str, nn.Parameter], game: Game) -> Aligned:
    """DARTS whose weights are trained to align the cells' gradients."""
    return Aligned("lambda", mixtures, game, schedule=growth(game.epochs))


METHODS.add(
    "lambda",
    lambda_darts,
    recipe=by_space(
        replace(DARTS, batch_size=96, least_precision="fp32"),
        nasbench201=replace(BENCHMARK, least_precision="fp32"),
    ),
    summary="DARTS whose weights are trained so that cells agree on the mixture",
    paper="Movahedi et al., 2023, arXiv:2210.07998",
    costs="J + 2W + M",
)
