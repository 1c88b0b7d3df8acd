"""Protocols of batches and supernets that the engine takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn


class Batches(Protocol):
    """A source of batches whose position can be saved and restored."""

    @property
    def capturable(self) -> bool:
        """Whether `fill` can be part of a CUDA graph, drawing from `generator`."""

    @property
    def generator(self) -> torch.Generator:
        """Random numbers of augmentation."""

    def begin_epoch(self, epoch: int, rounds: int) -> None:
        """Lay down the order of `rounds` batches."""

    def buffers(self) -> tuple[Tensor, Tensor]:
        """Room for one batch of images and labels."""

    def fill(self, images: Tensor, labels: Tensor) -> None:
        """Put the next batch there."""

    def whole(self, limit: int | None = None, skip: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Plain batches without augmentation, for evaluation: `limit` of them after the first `skip`."""

    def state_dict(self) -> dict[str, Any]:
        """The position in the data."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a position that `state_dict` gave."""


class Searchable(Protocol):
    """What the engine asks of a supernet: mixtures by name, and experts that can be deleted."""

    @property
    def mixtures(self) -> Mapping[str, nn.Parameter]:
        """Leaf parameters (forecasters, experts) on the simplex."""

    def wipe(self, kind: str, forecaster: int, experts: list[int]) -> None:
        """Delete experts, given by their columns, from one forecaster of a mixture."""


@runtime_checkable
class Replicated(Protocol):
    """A supernet whose cells share mixtures: rewards can be separated by cell and by sample."""

    def spread(self) -> dict[str, Tensor]:
        """Each mixture copied for its cells: (replications, forecasters, experts)."""

    def identities(self, kind: str) -> Tensor:
        """Mask (forecasters, experts) of skip connections of stride 1."""

    def stages(self, kind: str) -> tuple[int, ...]:
        """The stage of the network in which each cell of a kind stands."""
