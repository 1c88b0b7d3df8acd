"""Skip connections that halve the image, all that leave a cell's inputs computed together.

Each is a `FactorizedReduction`: ReLU, one 1x1 convolution on the even and one on the odd pixels, batch
norm. Every convolution is a slot of one call, the two of a module side by side; its batch norm is left
to the reader of the products and their moments.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from xnas.kernels.blocks import parts
from xnas.kernels.halves import add_spread, gather
from xnas.kernels.moments import Moments
from xnas.kernels.pointwise import pointwise, pointwise_with_moments
from xnas.kernels.pointwise_weights import pointwise_weight_gradient
from xnas.nn.operations import FactorizedReduction
from xnas.space.cell_genotype import INPUTS
from xnas.space.packing import pack, pack_buffers


class Reductions:
    """Modules sorted by the input (0 or 1) that each reads, as `sources` says."""

    def __init__(self, modules: Sequence[FactorizedReduction], sources: Sequence[int]) -> None:
        convolutions = [half for module in modules for half in (module.even, module.odd)]
        self.packed = pack(
            [convolution.get_parameter("weight") for convolution in convolutions],
            packed=lambda weight: weight[:, :, 0, 0].T,
            unpacked=lambda slot: slot.T[:, :, None, None],
        )
        norms = [module.norm for module in modules]
        self.running = pack_buffers(norms, "running_mean"), pack_buffers(norms, "running_var")
        planes = [half * INPUTS + source for source in sources for half in range(2)]
        first = [sum(s < source for s in sources) for source in range(INPUTS + 1)]
        self.planes, self.first = (
            torch.tensor(numbers, dtype=torch.int32, device=self.packed.device)
            for numbers in (planes, first)
        )

    def forward(self, active: Tensor, weight: Tensor, *, out: Tensor, into: Moments) -> Tensor:
        """Put products into `out` (modules, pixels, channels); gives what a weight's gradient needs.

        `active` (inputs, batch, height, width, channels) has seen its ReLU, `weight` is what is packed.
        """
        halves = gather(active.flatten(0, 1)).view(2 * INPUTS, -1, active.shape[-1])
        moments = Moments(into.mean, into.scale, *self.running)
        pointwise_with_moments(halves, weight, planes=self.planes, out=out, into=moments)
        return halves

    def halves_gradient(self, flow: Tensor, weight: Tensor) -> Tensor:
        """Gradient of the halves that each convolution reads."""
        return pointwise(flow, weight.transpose(1, 2))

    def add_gradient(self, halves: Tensor, *, gate: Tensor, into: Tensor) -> None:
        """Add the gradient of `halves` to that of the inputs, where these (`gate`) were positive."""
        batch, height, width, channels = gate.shape[1:]
        size = batch, parts(height, 2), parts(width, 2), channels
        add_spread(halves.view(-1, 2, *size), self.first, gate=gate, into=into)

    def weight_gradient(self, halves: Tensor, flow: Tensor) -> Tensor:
        """Of what is packed."""
        return pointwise_weight_gradient(halves, flow, planes=self.planes)
