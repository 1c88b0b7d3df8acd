"""The operations of AutoAugment by number, applied to batches in which every image has its own.

Three ways, one result: `apply_plain` calls torchvision image by image; `apply_grouped` takes together
the images that share an operation, which is fastest on a CPU but asks the host which images those are;
`apply_merged` passes every image through everything, with settings that change nothing where an
operation is not its own, and never waits for the host, so that a CUDA graph can hold it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from xnas.data import affine, colour

OPERATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Identity": lambda images, magnitudes: images,  # noqa: ARG005 - as all operations
    "ShearX": affine.shear_x,
    "ShearY": affine.shear_y,
    "TranslateX": affine.translate_x,
    "TranslateY": affine.translate_y,
    "Rotate": affine.rotate,
    "Brightness": colour.brightness,
    "Color": colour.color,
    "Contrast": colour.contrast,
    "Sharpness": colour.sharpness,
    "Posterize": colour.posterize,
    "Solarize": colour.solarize,
    "AutoContrast": colour.autocontrast,
    "Equalize": colour.equalize,
    "Invert": colour.invert,
}
"""By name: uint8 images (n, 1 or 3 channels, height, width) and magnitudes (n,) to images."""

NUMBERS = {name: number for number, name in enumerate(OPERATIONS)}


def apply_grouped(images: Tensor, operations: Tensor, magnitudes: Tensor) -> Tensor:
    """Every image after its operation (n,), a number in `OPERATIONS`, at its magnitude (n,)."""
    result = images.clone()
    for number in sorted(set(operations.tolist()) - {NUMBERS["Identity"]}):
        members = (operations == number).nonzero().view(-1)
        operate = list(OPERATIONS.values())[number]
        result[members] = operate(images[members], magnitudes[members])
    return result


def merged_settings(operations: Tensor, magnitudes: Tensor, size: tuple[int, int]) -> Tensor:
    """All that `apply_merged` has to know of operations (n,) at magnitudes (n,), float64 (n, 15).

    Six numbers of the affine map, six for `_pointwise` and three for `_mixed`, in their order; where an
    operation has no say in a column, the number there changes nothing.
    """
    magnitudes = magnitudes.double()

    def chosen(*names: str) -> Tensor:
        return torch.stack([operations == NUMBERS[name] for name in names]).any(0)

    moves = torch.stack([torch.where(chosen(name), magnitudes, 0) for name in affine.MOVES], -1)
    factor, rest = (f.view(-1) for f in colour.factors(magnitudes))
    threshold = torch.where(chosen("Solarize"), (255 * magnitudes).float().double(), math.inf)
    columns = [
        torch.where(chosen("Brightness", "Contrast"), factor, 1),
        torch.where(chosen("Contrast"), rest, 0),
        torch.where(chosen("Invert"), 0, threshold),
        torch.where(chosen("Posterize"), colour.kept_bits(magnitudes).double(), 255),
        chosen("AutoContrast").double(),
        chosen("Equalize").double(),
        torch.where(chosen("Color"), factor, 1),
        torch.where(chosen("Color"), rest, 0),
        torch.where(chosen("Sharpness"), rest, 0),
    ]
    maps = affine.inverse_matrices(moves, size).double().flatten(1)
    return torch.cat((maps, torch.stack(columns, -1)), -1)


def apply_merged(images: Tensor, settings: Tensor) -> Tensor:
    """Every image after the one operation that its row of `merged_settings` stands for."""
    images = affine.sample(images, settings[:, :6].float().view(-1, 2, 3))
    # Taken once: images that go by their luminance later are those that the tables leave alone.
    luminance = colour.grey(images.float())
    images = _pointwise(images, luminance, settings[:, 6:12, None, None])
    return _mixed(images, luminance, settings[:, 12:, None, None, None])


def _pointwise(images: Tensor, luminance: Tensor, settings: Tensor) -> Tensor:
    """Operations that are tables of levels, merged into one table for each image and channel."""
    gain, pull, threshold, bits, stretch, equalize = settings.unbind(1)
    table = colour.scaled_table(gain, pull * colour.mean_grey(luminance))
    table = colour.inverted_above(table, threshold)
    table = torch.where(stretch > 0, colour.stretched_table(images), table)
    indices = colour.indices_of(images)
    table = torch.where(equalize > 0, colour.equalized_table(indices), table)
    kept = colour.as_bytes(table) & bits.to(torch.uint8)
    return kept.expand(*indices.shape[:2], -1).gather(2, indices).view_as(images)


def _mixed(images: Tensor, luminance: Tensor, settings: Tensor) -> Tensor:
    """`Color` and `Sharpness`, which look at more than one number."""
    gain, pull, smooth = settings.unbind(1)
    pixels = images.float()
    if images.shape[1] == 1:  # `Color` means nothing there
        return colour.blend(pixels, colour.detail(pixels), smooth)
    other = torch.where(smooth != 0, colour.detail(pixels), luminance)
    return colour.blend(pixels * gain.float(), other, pull + smooth)


def apply_plain(images: Tensor, operations: Tensor, magnitudes: Tensor) -> Tensor:
    """The same, image by image, as torchvision's AutoAugment calls its functions."""
    names = list(OPERATIONS)
    return torch.stack(
        [
            _torchvision(image, names[number], magnitude)
            for image, number, magnitude in zip(
                images, operations.tolist(), magnitudes.tolist(), strict=True
            )
        ]
    )


def _torchvision(image: Tensor, name: str, magnitude: float) -> Tensor:
    """One image after one operation."""
    from torchvision.transforms.v2 import (  # type: ignore[import-untyped]  # noqa: PLC0415
        functional as tv,
    )

    def affine_map(
        *, shift: tuple[int, int] = (0, 0), shear: tuple[float, float] = (0.0, 0.0)
    ) -> Tensor:
        degrees = [math.degrees(math.atan(s)) for s in shear]
        corner = [0, 0] if any(shear) else None
        moved: Tensor = tv.affine(image, 0.0, list(shift), 1.0, degrees, center=corner)
        return moved

    calls: dict[str, Callable[[], Tensor]] = {
        "Identity": lambda: image,
        "ShearX": lambda: affine_map(shear=(magnitude, 0.0)),
        "ShearY": lambda: affine_map(shear=(0.0, magnitude)),
        "TranslateX": lambda: affine_map(shift=(int(magnitude), 0)),
        "TranslateY": lambda: affine_map(shift=(0, int(magnitude))),
        "Rotate": lambda: tv.rotate(image, magnitude),
        "Brightness": lambda: tv.adjust_brightness(image, 1 + magnitude),
        "Color": lambda: tv.adjust_saturation(image, 1 + magnitude),
        "Contrast": lambda: tv.adjust_contrast(image, 1 + magnitude),
        "Sharpness": lambda: tv.adjust_sharpness(image, 1 + magnitude),
        "Posterize": lambda: tv.posterize(image, int(magnitude)),
        "Solarize": lambda: tv.solarize(image, 255 * magnitude),
        "AutoContrast": lambda: tv.autocontrast(image),
        "Equalize": lambda: tv.equalize(image),
        "Invert": lambda: tv.invert(image),
    }
    return calls[name]()
