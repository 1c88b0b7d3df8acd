"""A forecaster of which only a part of the channels pass the experts (PC-DARTS, Xu et al., 2020).

Of C channels the first C/K are mixed, the others go by, at stride 2 through a 2x2 max pool. Both are
joined and shuffled in K groups, so that the next forecaster mixes other channels. What goes by counts as
much as all experts together: with weights w it is multiplied by Σ w_i, which is 1 for a mixture, and
the weight of the edge where edges have weights. Where experts are dropped from w by chance, one more
column of w has the sum before that, so that the bypass stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool2d

from xnas.errors import ConfigError
from xnas.nn.forecaster import Forecaster


class PartialForecaster(Forecaster):
    """Named experts on 1/`parts` of the channels; mixtures belong to the network."""

    def __init__(
        self, experts: Mapping[str, nn.Module], *, channels: int, parts: int, stride: int = 1
    ) -> None:
        """`experts` map channels / parts channels at this stride."""
        super().__init__(experts, own_mixture=False)
        self.searched, self.parts, self.stride = channels // parts, parts, stride

    def forward(self, x: Tensor, mixture: Tensor | None = None) -> Tensor:
        """Return (batch, channels, h, w) for `x`; `mixture` as in `Forecaster`, or a column wider."""
        weight = None
        if mixture is not None:
            mixture, weight = split_weights(mixture, len(self.names))
        mixed = super().forward(x[:, : self.searched], mixture)
        assert weight is not None  # noqa: S101 - or forward would have raised
        rest = x[:, self.searched :]
        if self.stride == 2:
            rest = max_pool2d(rest, 2, ceil_mode=True)
        weight = weight.to(mixed.dtype).reshape(-1, 1, 1, 1)
        return shuffled(torch.cat([mixed, weight * rest], dim=1), self.parts)


def split_weights(mixture: Tensor, experts: int) -> tuple[Tensor, Tensor]:
    """The weights of experts (..., experts), and that of the bypass (...).

    The latter is the column after those of the experts if there is one, else the sum of the weights.
    """
    if mixture.shape[-1] == experts + 1:
        return mixture[..., :experts], mixture[..., experts]
    return mixture, mixture.sum(-1)


def with_bypass(weights: Tensor, before: Tensor) -> Tensor:
    """Weights (..., experts) with one more column: the bypass weighs as `before`, of their shape."""
    return torch.cat([weights, before.sum(-1, keepdim=True)], dim=-1)


def shuffled(x: Tensor, groups: int) -> Tensor:
    """Channels (batch, channels, h, w) taken from each of the groups in turn."""
    batch, channels, *size = x.shape
    return x.reshape(batch, groups, channels // groups, *size).transpose(1, 2).flatten(1, 2)


def require_divisible(channels: int, parts: int) -> None:
    """Raise unless so many channels have equal parts.

    Skip connections of stride 2 halve theirs again. They stand in reduction cells alone, which have
    twice the channels, so that a part there is even.
    """
    if channels % parts:
        raise ConfigError(
            f"partial channels of 1/{parts} need channels in multiples of {parts}, got {channels}; use "
            f"--channels {-(-channels // parts) * parts}, or fewer --partial-channels"
        )
