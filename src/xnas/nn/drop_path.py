"""Drop path: in training, whole edges of a cell fall silent, sample by sample (Sec. 9.3).

The rate is a tensor on the device, so that a schedule can change it under a compiled network or inside
a captured graph.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError


class DropRate(nn.Module):
    """The rate at which a network drops edges in training. It has one of these for all its edges.

    `part` (which, of how many) is for several processes with equal parts of a batch: each draws for all,
    and takes its own.
    """

    rate: Tensor
    part: tuple[int, int] = (0, 1)
    rises = True
    """Whether a training raises the rate from 0, as the paper's schedule does, or keeps it."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.register_buffer("rate", torch.tensor(_required(rate)), persistent=False)

    def set_rate(self, rate: float) -> None:
        """Change the rate; the paper's schedule raises it from 0 to 0.2 in the course of a training."""
        self.rate.fill_(_required(rate))

    def extra_repr(self) -> str:
        """The present rate."""
        return f"rate={float(self.rate):.4g}"


class DropPath(DropRate):
    """Zero for a share `rate` of the samples, scaled up for the others so that the mean stays.

    Every call draws new numbers.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Images (batch, channels, height, width), some of them zero in training."""
        return silenced(x, self.draw(x, edges=1)[0]) if self.training else x

    def draw(self, x: Tensor, *, edges: int) -> Tensor:
        """Factors (edges, batch) for images like `x`, drawn edge by edge: 0, or 1 / (1 - rate)."""
        keep = 1 - self.rate
        which, parts = self.part
        drawn = [torch.rand(parts, len(x), device=x.device)[which] for _ in range(edges)]
        return (torch.stack(drawn) < keep) / keep


def silenced(x: Tensor, factors: Tensor) -> Tensor:
    """Images times their factors (batch)."""
    return x * factors.view(-1, 1, 1, 1).to(x.dtype)


def _required(rate: float) -> float:
    if not 0 <= rate < 1:
        raise ConfigError(f"drop_path_rate must lie in [0, 1), got {rate}")
    return float(rate)
