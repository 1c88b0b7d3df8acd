"""Colour operations on whole batches of bytes, each image with its own magnitude.

Most of them replace a level (0..255) by another, whatever its neighbours: a table of 256 entries for
each image, or each of its channels, and one look-up. Only `color` and `sharpness` mix pixels. Results
equal torchvision's to the last level: fractions are cut off, so every rounding happens where it happens
there.
"""

from __future__ import annotations

import torch
from torch import Tensor

LEVELS = 256


def levels_on(device: torch.device) -> Tensor:
    """Every level, float32 (256,)."""
    return torch.arange(LEVELS, device=device, dtype=torch.float32)


def indices_of(images: Tensor) -> Tensor:
    """Levels as indices into a table, int64 (n, channels, pixels)."""
    return images.flatten(2).long()


def look_up(images: Tensor, tables: Tensor) -> Tensor:
    """Every level replaced through tables (n, channels or 1, 256), whose fractions are cut off."""
    indices = indices_of(images)
    return as_bytes(tables).expand(*indices.shape[:2], -1).gather(2, indices).view_as(images)


def as_bytes(values: Tensor) -> Tensor:
    """Numbers kept within 0..255, their fractions cut off."""
    return values.clamp(0, LEVELS - 1).to(torch.uint8)


def blend(base: Tensor, other: Tensor, weight: Tensor) -> Tensor:
    """Bytes of `base + weight * other`, rounded to float32 once; weights are float64."""
    return as_bytes((base + weight * other).float())


def scaled_table(gain: Tensor, lift: Tensor) -> Tensor:
    """Levels times `gain` plus `lift`, both float64 (n, 1, 1); rounded to float32 twice."""
    return (levels_on(gain.device) * gain.float() + lift).float()


def inverted_above(levels: Tensor, threshold: Tensor) -> Tensor:
    """Tables that invert levels from `threshold` (n, 1, 1) on."""
    return torch.where(levels >= threshold, 255 - levels, levels)


def stretched_table(images: Tensor) -> Tensor:
    """Tables (n, channels, 256) that spread each channel's levels from black to white."""
    low, high = images.amin((2, 3)).unsqueeze(2), images.amax((2, 3)).unsqueeze(2)
    levels = levels_on(images.device)
    # A step of one level is the least there is; a channel with none keeps its only level.
    scale = (high.float() - low).mul_(1 / 255).clamp_(min=1 / 255)
    return torch.where(high > low, (levels - low) / scale, levels)


def equalized_table(indices: Tensor) -> Tensor:
    """Tables (n, channels, 256) that give each channel an even histogram, by Pillow's rule."""
    ones = torch.ones((), dtype=torch.int32, device=indices.device)
    counts = torch.zeros((*indices.shape[:2], LEVELS), dtype=torch.int32, device=indices.device)
    counts.scatter_add_(2, indices, ones.expand_as(indices))
    below = counts.cumsum(2, dtype=torch.int32).sub_(counts)
    brightest = counts.gather(2, indices.amax(2, keepdim=True))
    step = (indices.shape[2] - brightest) // 255
    evened = (below + step // 2) // step.clamp(min=1)
    return torch.where(step > 0, evened, levels_on(indices.device))


def grey(pixels: Tensor) -> Tensor:
    """Luminance (n, 1, height, width) of float pixels, in whole levels; grey images are their own."""
    if pixels.shape[1] == 1:
        return pixels
    red, green, blue = pixels.unbind(1)
    mixed = red.mul(0.2989).add_(green, alpha=0.587).add_(blue, alpha=0.114)
    return mixed.floor_().unsqueeze(1)


def mean_grey(luminance: Tensor) -> Tensor:
    """Mean (n, 1, 1) of `grey`, float32."""
    pixels = luminance.shape[2] * luminance.shape[3]
    return luminance.sum((1, 2, 3), dtype=torch.float64).float().div_(pixels).view(-1, 1, 1)


def detail(pixels: Tensor) -> Tensor:
    """What smoothing by a 3 x 3 kernel (5 in the middle, 1 around) adds to levels; 0 at borders."""
    if min(pixels.shape[2:]) < 3:
        return torch.zeros_like(pixels)
    rows = pixels[..., :-2, :] + pixels[..., 1:-1, :] + pixels[..., 2:, :]
    middle = pixels[..., 1:-1, 1:-1]
    total = rows[..., :-2].add(rows[..., 1:-1]).add_(rows[..., 2:]).add_(middle, alpha=4)
    # Thirteenths are never half-way between two levels: rounding is exact.
    return torch.nn.functional.pad(total.div_(13).round_().sub_(middle), (1, 1, 1, 1))


def factors(magnitudes: Tensor) -> tuple[Tensor, Tensor]:
    """The factor 1 + magnitude and what it leaves of 1, float64 (n, 1, 1), each rounded to float32."""
    factor = (1 + magnitudes.double()).view(-1, 1, 1)
    return factor.float().double(), (1 - factor).float().double()


def brightness(images: Tensor, magnitudes: Tensor) -> Tensor:
    """Levels times 1 + magnitude."""
    factor, rest = factors(magnitudes)
    return look_up(images, scaled_table(factor, 0 * rest))


def contrast(images: Tensor, magnitudes: Tensor) -> Tensor:
    """Distances from the mean luminance times 1 + magnitude."""
    factor, rest = factors(magnitudes)
    mean = mean_grey(grey(images.float()))
    return look_up(images, scaled_table(factor, rest * mean))


def color(images: Tensor, magnitudes: Tensor) -> Tensor:
    """Distances from each pixel's luminance times 1 + magnitude; grey images stay."""
    if images.shape[1] == 1:
        return images
    factor, rest = (f.unsqueeze(1) for f in factors(magnitudes))
    pixels = images.float()
    return blend(pixels * factor.float(), grey(pixels), rest)


def sharpness(images: Tensor, magnitudes: Tensor) -> Tensor:
    """Distances from a smoothed image times 1 + magnitude; borders stay."""
    pixels = images.float()
    return blend(pixels, detail(pixels), factors(magnitudes)[1].unsqueeze(1))


def posterize(images: Tensor, magnitudes: Tensor) -> Tensor:
    """The upper bits of each level, as many as the magnitude says."""
    return images & kept_bits(magnitudes).to(torch.uint8).view(-1, 1, 1, 1)


def kept_bits(magnitudes: Tensor) -> Tensor:
    """The byte (n,) whose upper bits, as many as the magnitudes say, are set."""
    lost = 8 - magnitudes.long().clamp(0, 8)
    return LEVELS - (torch.ones_like(lost) << lost)


def solarize(images: Tensor, magnitudes: Tensor) -> Tensor:
    """Levels inverted from 255 * magnitude on."""
    threshold = (255 * magnitudes.double()).float().view(-1, 1, 1)
    return look_up(images, inverted_above(levels_on(images.device), threshold))


def autocontrast(images: Tensor, magnitudes: Tensor) -> Tensor:  # noqa: ARG001 - as all operations
    """Each channel's levels spread from black to white."""
    return look_up(images, stretched_table(images))


def equalize(images: Tensor, magnitudes: Tensor) -> Tensor:  # noqa: ARG001 - as all operations
    """Each channel's histogram made even."""
    return look_up(images, equalized_table(indices_of(images)))


def invert(images: Tensor, magnitudes: Tensor) -> Tensor:  # noqa: ARG001 - as all operations
    """Black for white."""
    return 255 - images
