"""What AutoAugment's ten magnitudes stand for: torchvision's, or those of the first code.

The paper that found the policies (Cubuk et al., 2019) gives ranges, and the two programs fill them
differently. Level 9 shifts 32 pixels by 14 in torchvision, and by 9 in the code that was published with
the paper. There, Brightness, Color, Contrast and Sharpness have the factor 0.1 + 0.18 · level (0.1 to
1.72), and no coin turns it round; in torchvision it is 1 ± 0.1 · level. Posterize keeps 4 bits or fewer
there, and 4 or more in torchvision.

Only magnitudes and coins differ. Pixels are computed as torchvision computes them in both, holes are
black (there they have the mean colour), and shifts grow with the image (there it always has 32 pixels).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Size = tuple[int, int]
BINS = 10
LONGEST_SHIFT = 150 / 331  # of a side: the policies were learned at 331 x 331
ORIGINAL_SIDE = 32
MOVED = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate")
ENHANCED = ("Brightness", "Color", "Contrast", "Sharpness")


@dataclass(frozen=True, slots=True)
class Scale:
    """Magnitudes of operations, and which operations go either way, by the toss of a coin."""

    magnitude: Callable[[str, int, Size], float]
    """Operation, level from 0 to 9, height and width -> the number that the operation takes."""
    signed: tuple[str, ...]


def torchvision_magnitude(name: str, level: int, size: Size) -> float:
    """As torchvision has it, in single precision."""
    return float(_torchvision_bins(name, size)[level])


def original_magnitude(name: str, level: int, size: Size) -> float:
    """As the code of the paper has it; shifts are scaled from 32 pixels, whole parts alone count."""
    side = size[name == "TranslateX"]
    if name in ENHANCED:
        return 0.1 + 1.8 * level / BINS - 1  # operations add 1
    if name == "Posterize":
        return 4 - level * 4 // BINS
    if name == "Solarize":
        return min((256 - level * 256 // BINS - 0.5) / 255, 1.0)  # half a level below the threshold
    longest = {"Rotate": level * 30 // BINS, "ShearX": 0.3 * level / BINS, "ShearY": 0.3 * level / BINS}
    return float(longest.get(name, level * side // ORIGINAL_SIDE))


def _torchvision_bins(name: str, size: Size) -> Tensor:
    """The ten magnitudes of an operation."""
    height, width = size
    if name == "Posterize":
        return (8 - torch.arange(BINS) / ((BINS - 1) / 4)).round()
    if name == "Solarize":
        return torch.linspace(1, 0, BINS)
    longest = {
        "ShearX": 0.3,
        "ShearY": 0.3,
        "TranslateX": LONGEST_SHIFT * width,
        "TranslateY": LONGEST_SHIFT * height,
        "Rotate": 30,
    }
    return torch.linspace(0, longest.get(name, 0.9), BINS)


TORCHVISION = Scale(torchvision_magnitude, signed=MOVED + ENHANCED)
ORIGINAL = Scale(original_magnitude, signed=MOVED)
