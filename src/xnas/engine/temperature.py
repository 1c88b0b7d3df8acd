"""The temperature at which a batch of logits has its lowest cross-entropy.

A supernet that overfits is too confident, and then whatever makes its logits smaller lowers the loss on
images that it has not seen, without changing one answer. Rewards at the best temperature leave that out.
The loss is convex in the inverse temperature b, with the derivatives

    d/db  = mean over images of E[z] - z_label,      d²/db² = mean over images of Var[z],

where E and Var are over the classes, weighted by softmax(b z). So a few Newton steps find it, without a
read on the host.
"""

from __future__ import annotations

import torch
from torch import Tensor

STEPS = 8
LARGEST_FACTOR = 2.0
"""By which one step may raise or lower b: far from the optimum Newton's step can be much too long."""
BOUNDS = (1 / 16, 16.0)
"""For b: batches without a wrong answer have no optimum, and the last step is taken for it."""


@torch.no_grad()
def best_inverse_temperature(logits: Tensor, labels: Tensor) -> Tensor:
    """The b in [1/16, 16] with the lowest cross_entropy(b * logits, labels), a tensor of one number."""
    logits = logits.float()  # bf16 would round b to three digits
    right = logits.gather(1, labels[:, None])
    b = logits.new_ones(())
    for _ in range(STEPS):
        shares = (b * logits).softmax(-1)
        mean = (shares * logits).sum(-1, keepdim=True)
        slope = (mean - right).mean()
        curvature = (shares * (logits - mean) ** 2).sum(-1).mean()
        step = b - slope / curvature.clamp_min(1e-12)
        b = torch.minimum(torch.maximum(step, b / LARGEST_FACTOR), b * LARGEST_FACTOR).clamp(*BOUNDS)
    return b
