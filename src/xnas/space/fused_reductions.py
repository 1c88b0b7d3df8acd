"""Skip connections that halve the image, all that leave a cell's inputs computed together.

Each is a `FactorizedReduction`: ReLU, one 1x1 convolution on the even and one on the odd pixels, batch
norm. On those of one input the convolutions are one matrix product, batch norms one call.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import batch_norm, pad

from xnas.nn.operations import FactorizedReduction
from xnas.space.packing import pack, pack_buffers


class Reductions:
    """Modules sorted by the input (0 or 1) that each reads, as `sources` says."""

    def __init__(self, modules: Sequence[FactorizedReduction], sources: Sequence[int]) -> None:
        self.groups = [
            _Group([m for m, s in zip(modules, sources, strict=True) if s == source], source)
            for source in sorted(set(sources))
        ]
        self.packed = [tensor for group in self.groups for tensor in (group.even, group.odd)]

    def __call__(self, inputs: Sequence[Tensor]) -> Tensor:
        """Outputs (modules, pixels, channels) for inputs (batch, height, width, channels)."""
        return torch.cat([group(inputs[group.source]) for group in self.groups])


class _Group:
    def __init__(self, modules: Sequence[FactorizedReduction], source: int) -> None:
        self.source, self.count = source, len(modules)
        self.even, self.odd = (
            pack(
                [convolution.get_parameter("weight") for convolution in convolutions],
                packed=lambda weight: weight[:, :, 0, 0],
                unpacked=lambda slot: slot[:, :, None, None],
            )
            for convolutions in ([m.even for m in modules], [m.odd for m in modules])
        )
        norms = [module.norm for module in modules]
        self.running_mean = pack_buffers(norms, "running_mean")
        self.running_variance = pack_buffers(norms, "running_var")

    def __call__(self, x: Tensor) -> Tensor:
        height, width = x.shape[1:3]
        x = pad(x.relu(), (0, 0, 0, width % 2, 0, height % 2))
        halves = [
            (pixels.flatten(0, 2) @ weight.flatten(0, 1).T.to(x.dtype)).view(-1, *weight.shape[:2])
            for pixels, weight in ((x[:, ::2, ::2], self.even), (x[:, 1::2, 1::2], self.odd))
        ]
        joined = torch.cat(halves, dim=-1).flatten(1, 2)
        normalized = batch_norm(
            joined, self.running_mean.flatten(), self.running_variance.flatten(), training=True
        )
        return normalized.view(len(normalized), self.count, -1).transpose(0, 1).contiguous()
