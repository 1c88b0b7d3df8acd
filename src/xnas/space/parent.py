"""What every supernet is: mixtures by kind of cell, and forecasters whose experts can be deleted.

All cells of a kind share one mixture, so a reward is the sum over these cells, and an expert that is
wiped out leaves all of them. A space of your own can bring its own supernet: a subclass of
`ParentNetwork` that computes logits and names its forecasters. `SearchSpace` shows an example.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.nn import Forecaster, uniform_mixture

if TYPE_CHECKING:
    from xnas.space.spaces import SearchSpace

IDENTITY = "skip_connect"


class ParentNetwork(nn.Module, ABC):
    """A network in which every edge of every cell is undecided.

    Parameters `<kind>_mixture` (edges, operations) are uniform at the start, one for each kind of cell
    of the space. Everything else that a subclass adds is a weight.
    """

    partial_channels = 1
    """K: 1/K of the channels of a cell pass the experts. Above 1, `forward` takes mixtures with one more
    column, the weight of the channels that do not (`nn.partial`)."""

    def __init__(self, space: SearchSpace, replications: Mapping[str, int]) -> None:
        """`replications` is the number of cells of each kind, r_c of Sec. 3.1."""
        super().__init__()
        self.space, self.replications = space, dict(replications)
        self.mixture_parameters = tuple(f"{kind}_mixture" for kind in space.kinds)
        for kind, name in zip(space.kinds, self.mixture_parameters, strict=True):
            mixture = uniform_mixture(len(space.edges), len(space.operations))
            self.register_parameter(name, mixture)
            self.register_buffer(f"{kind}_identities", self._identities(kind), persistent=False)

    @abstractmethod
    def logits(self, x: Tensor, mixtures: Mapping[str, Tensor]) -> Tensor:
        """Return logits (batch, classes) of images (batch, channels, height, width).

        `mixtures` has, for each kind, (replications, edges, operations), or (replications, batch,
        edges, operations) with one mixture per sample.
        """

    @abstractmethod
    def forecasters_of(self, kind: str, edge: int) -> Iterable[Forecaster]:
        """Return the forecaster on this edge of every cell of a kind; edges as in `space.edges`."""

    def stride(self, kind: str, source: int) -> int:  # noqa: ARG002 - of a subclass
        """Return the stride of an edge; only at stride 1 is a skip connection the identity."""
        return 1

    def stages(self, kind: str) -> tuple[int, ...]:
        """Return for each cell of a kind its stage: how many reductions came before it."""
        return (0,) * self.replications[kind]

    def forward(self, x: Tensor, mixtures: Mapping[str, Tensor] | None = None) -> Tensor:
        """Return logits (batch, classes) of images (batch, channels, height, width).

        `mixtures`, one for each cell of a kind, take the place of the shared ones: (replications,
        edges, operations), or (replications, batch, edges, operations) with one mixture per sample.
        """
        if mixtures is None:
            mixtures = {
                kind: mixture.expand(self.replications[kind], -1, -1)
                for kind, mixture in self.mixtures.items()
            }
        return self.logits(x, mixtures)

    @property
    def mixtures(self) -> dict[str, nn.Parameter]:
        """The shared mixtures (edges, operations), by kind of cell."""
        return {kind.value: self.get_parameter(f"{kind}_mixture") for kind in self.space.kinds}

    def spread(self) -> dict[str, Tensor]:
        """Return each mixture once for every cell of its kind: (replications, edges, operations)."""
        return {
            kind: mixture.detach().expand(self.replications[kind], -1, -1)
            for kind, mixture in self.mixtures.items()
        }

    def identities(self, kind: str) -> Tensor:
        """Return a mask (edges, operations) of the skip connections that are identities."""
        return self.get_buffer(f"{kind}_identities")

    def wipe(self, kind: str, forecaster: int, experts: Iterable[int]) -> None:
        """Delete experts, given by their columns, of one edge in every cell that shares it."""
        doomed = [self.space.operations[expert] for expert in experts]
        for shared in self.forecasters_of(kind, forecaster):
            shared.wipe(doomed)

    def _identities(self, kind: str) -> Tensor:
        mask = torch.zeros(len(self.space.edges), len(self.space.operations), dtype=torch.bool)
        if IDENTITY in self.space.operations:
            column = self.space.operations.index(IDENTITY)
            for row, (source, _) in enumerate(self.space.edges):
                mask[row, column] = self.stride(kind, source) == 1
        return mask


def require_sizes(
    *, num_classes: int, in_chans: int, cells: int, channels: int, least_cells: int = 1
) -> None:
    """Raise a ConfigError for sizes that no supernet has."""
    for name, value, least in (
        ("num_classes", num_classes, 2),
        ("in_chans", in_chans, 1),
        ("cells", cells, least_cells),
        ("channels", channels, 1),
    ):
        if value < least:
            raise ConfigError(f"{name} must be at least {least}, got {value}")
