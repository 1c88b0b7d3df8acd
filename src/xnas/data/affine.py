"""Shear, shift and turn whole batches, each image by its own amount.

All five moves are one affine map, so that a batch of images with different moves is sampled once. Every
pixel of the result takes the nearest pixel of the source, or black where there is none. Numbers are
rounded where torchvision rounds them: a shear puts whole rows half-way between two pixels, and there
the last bit decides.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

MOVES = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate")


def inverse_matrices(moves: Tensor, size: tuple[int, int]) -> Tensor:
    """Where a pixel comes from: maps (n, 2, 3) of moves (n, 5) in the order of `MOVES`, one not zero.

    Shears leave the upper left corner in its place; shifts are whole pixels, their fraction cut off;
    turns are in degrees, against the clock and about the centre. The origin is the centre; a map takes
    pixels to fractions of half the image, -1 to 1.
    """
    height, width = size
    shear_x, shear_y, shift_x, shift_y, degrees = moves.double().unbind(-1)
    sine, cosine = (degrees * (math.pi / 180)).sin(), (degrees * (math.pi / 180)).cos()
    across = (cosine, shear_x - sine, shear_x * (height / 2) - shift_x.trunc())
    down = (shear_y + sine, cosine, shear_y * (width / 2) - shift_y.trunc())
    maps = torch.stack((*across, *down), -1).view(-1, 2, 3).float()
    return maps / _half(size, moves.device).view(2, 1)


def sample(images: Tensor, matrices: Tensor) -> Tensor:
    """Images seen through maps (n, 2, 3) that say where pixels come from."""
    channels, height, width = images.shape[1:]
    device = images.device
    x = torch.linspace((1 - width) / 2, (width - 1) / 2, width, device=device)
    y = torch.linspace((1 - height) / 2, (height - 1) / 2, height, device=device)
    per_x, per_y, shift = matrices[..., None, None].unbind(2)
    place = (per_x * x).add(per_y * y.view(-1, 1)).add_(shift).add_(1)
    place = place.mul_(_half((height, width), device).view(2, 1, 1)).sub_(0.5).round_()
    last = torch.linspace(width - 1, height - 1, 2, device=device).view(2, 1, 1)
    nearest = place.clamp(min=0).minimum(last)
    inside = (nearest == place).all(1)
    column, row = nearest.unbind(1)
    index = row.mul_(width).add_(column).long()
    pixels = images.flatten(2).gather(2, index.flatten(1)[:, None].expand(-1, channels, -1))
    return pixels.view_as(images) * inside[:, None]


def shear_x(images: Tensor, magnitudes: Tensor) -> Tensor:
    """Row j moved left by magnitude * (j + 1/2) pixels."""
    return _moved(images, magnitudes, "ShearX")


def shear_y(images: Tensor, magnitudes: Tensor) -> Tensor:
    """Column i moved up by magnitude * (i + 1/2) pixels."""
    return _moved(images, magnitudes, "ShearY")


def translate_x(images: Tensor, magnitudes: Tensor) -> Tensor:
    """Moved right by whole pixels."""
    return _moved(images, magnitudes, "TranslateX")


def translate_y(images: Tensor, magnitudes: Tensor) -> Tensor:
    """Moved down by whole pixels."""
    return _moved(images, magnitudes, "TranslateY")


def rotate(images: Tensor, magnitudes: Tensor) -> Tensor:
    """Turned against the clock by degrees."""
    return _moved(images, magnitudes, "Rotate")


def _half(size: tuple[int, int], device: torch.device) -> Tensor:
    """Half the width and half the height, made on the device."""
    return torch.linspace(size[1] / 2, size[0] / 2, 2, device=device)


def _moved(images: Tensor, magnitudes: Tensor, move: str) -> Tensor:
    moves = torch.stack([magnitudes if move == name else 0 * magnitudes for name in MOVES], -1)
    return sample(images, inverse_matrices(moves, (images.shape[2], images.shape[3])))
