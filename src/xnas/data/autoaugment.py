"""AutoAugment on whole batches: every image draws a pair of operations and goes through them.

Drawing (which pair, which of the two are applied, which way they go) is apart from applying, so that the
same draws can be applied in several ways and the results compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from xnas.data.magnitudes import TORCHVISION, Scale, Size
from xnas.data.operations import NUMBERS, apply_grouped, apply_merged, apply_plain, merged_settings
from xnas.data.policies import Policy, magnitude, policy_named, scale_of
from xnas.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Draws:
    """What a batch of n images drew."""

    pair: Tensor
    """Which pair of operations, (n,)."""
    applied: Tensor
    """Whether the first and the second are applied, bool (2, n)."""
    negative: Tensor
    """Whether their magnitudes go the other way, if they can; bool (2, n)."""


@dataclass(frozen=True, slots=True)
class Choices:
    """A policy on a device, for images of one shape: what can befall an image, row by row.

    Row 0 is nothing; row 1 + 4 * pair + 2 * step + negative is that operation of that pair.
    """

    probabilities: Tensor
    """(2, pairs), float32."""
    operations: Tensor
    """Numbers of operations, (rows,)."""
    magnitudes: Tensor
    """With their signs, float64 (rows,)."""
    settings: Tensor
    """As `apply_merged` wants them, (rows, columns)."""


def choices_of(policy: Policy, size: Size, device: torch.device, scale: Scale = TORCHVISION) -> Choices:
    """Lay a policy out for images of this height and width."""
    operations, magnitudes = [NUMBERS["Identity"]], [0.0]
    for entry in (entry for pair in policy for entry in pair):
        value = magnitude(entry, size, scale)
        operations += [NUMBERS[entry[0]]] * 2
        magnitudes += [value, -value if entry[0] in scale.signed else value]
    numbers, values = torch.tensor(operations), torch.tensor(magnitudes, dtype=torch.float64)
    probabilities = torch.tensor([[pair[step][1] for pair in policy] for step in (0, 1)])
    return Choices(
        probabilities=probabilities.to(device),
        operations=numbers.to(device),
        magnitudes=values.to(device),
        settings=merged_settings(numbers, values, size).to(device),
    )


def draw(choices: Choices, count: int, generator: Generator) -> Draws:
    """Draw for `count` images; probabilities and coins as in torchvision."""
    probabilities = choices.probabilities
    device = probabilities.device
    pair = torch.randint(probabilities.shape[1], (count,), generator=generator, device=device)
    chances = torch.rand((2, 2, count), generator=generator, device=device)
    return Draws(pair, chances[0] <= probabilities[:, pair], chances[1] <= 0.5)


def rows_of(draws: Draws) -> Tensor:
    """The rows of `Choices` that were drawn, for both steps: (2, n)."""
    step = torch.arange(2, device=draws.pair.device).view(2, 1)
    return draws.applied * (4 * draws.pair + 2 * step + draws.negative + 1)


def apply_draws(images: Tensor, choices: Choices, draws: Draws, *, way: str) -> Tensor:
    """Images after both operations, in one of three ways: `merged`, `grouped` or `plain`."""
    for rows in rows_of(draws):
        if way == "merged":
            images = apply_merged(images, choices.settings[rows])
        else:
            apply = apply_grouped if way == "grouped" else apply_plain
            images = apply(images, choices.operations[rows], choices.magnitudes[rows])
    return images


class AutoAugmentTrain:
    """AutoAugment's learned policies: two operations drawn for each image.

    Holes that geometric operations leave are black. The policies were learned with labels (that of
    `cifar10` with labels of CIFAR-10), which a search that uses them should say. On grey images `Color`
    is left out. `cifar10-original` and `svhn-original` have the magnitudes of the code that was
    published with the policies, the others torchvision's; `xnas.data.magnitudes` says how they differ.

    A GPU never waits for the host, but the first batch of a shape lays the policy out on it: let one
    batch pass before capturing a CUDA graph.
    """

    def __init__(self, policy: str = "cifar10") -> None:
        policy_named(policy, channels=3)  # known, or refused here
        self.policy = policy
        self._laid_out: dict[tuple[torch.device, torch.Size], Choices] = {}

    def choices(self, images: Tensor) -> Choices:
        """The policy for images of this shape, on their device."""
        key = images.device, images.shape[1:]
        if key not in self._laid_out:
            channels, height, width = images.shape[1:]
            policy = policy_named(self.policy, channels=channels)
            scale = scale_of(self.policy)
            self._laid_out[key] = choices_of(policy, (height, width), images.device, scale)
        return self._laid_out[key]

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        """Each image after operations of its own; uint8 alone, which the policies are made for."""
        if images.dtype != torch.uint8:
            raise ConfigError(
                f"AutoAugment takes uint8 images, got {images.dtype}; standardize after it"
            )
        if images.shape[1] not in {1, 3}:
            raise ConfigError(
                f"AutoAugment takes images of 1 or 3 channels, got {images.shape[1]}; leave it out"
            )
        choices = self.choices(images)
        draws = draw(choices, len(images), generator)
        return apply_draws(
            images, choices, draws, way="grouped" if images.device.type == "cpu" else "merged"
        )

    def __repr__(self) -> str:
        return f"AutoAugmentTrain({self.policy!r})"
