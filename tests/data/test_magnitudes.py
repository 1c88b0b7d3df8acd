"""Magnitudes of the code that was published with AutoAugment, against its operations in Pillow."""

import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from torchvision.transforms.v2.functional import pil_to_tensor, to_pil_image

from xnas.data.autoaugment import Draws, apply_draws, choices_of
from xnas.data.magnitudes import ENHANCED, MOVED, ORIGINAL, TORCHVISION

OPERATIONS = (*MOVED, *ENHANCED, "Posterize", "Solarize")
ENHANCERS = {name: getattr(ImageEnhance, name) for name in ENHANCED}


def as_published(image, name, level, *, negative):
    """The operation as the code of the paper applies it: levels from 0 to 10, shared out by `int`."""
    sign = -1 if negative else 1
    shift, shear = sign * int(level * 10 / 10), sign * level * 0.3 / 10
    maps = {
        "ShearX": (1, shear, 0, 0, 1, 0),
        "ShearY": (1, 0, 0, shear, 1, 0),
        "TranslateX": (1, 0, shift, 0, 1, 0),
        "TranslateY": (1, 0, 0, 0, 1, shift),
    }
    if name in maps:
        return image.transform(image.size, Image.Transform.AFFINE, maps[name])
    if name == "Rotate":
        return image.rotate(sign * int(level * 30 / 10))
    if name in ENHANCERS:
        return ENHANCERS[name](image).enhance(level * 1.8 / 10 + 0.1)
    if name == "Posterize":
        return ImageOps.posterize(image, 4 - int(level * 4 / 10))
    return ImageOps.solarize(image, 256 - int(level * 256 / 10))


def smooth_image():
    """32 x 32 pixels of three waves: neighbours are alike, so that a pixel's rounding shows little."""
    place = torch.arange(32) / 32
    waves = [
        128 + 100 * torch.sin(6 * (a * place[:, None] + b * place)) for a, b in ((1, 0), (0, 1), (1, 1))
    ]
    return torch.stack(waves).to(torch.uint8)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("negative", [False, True])
def test_every_level_does_what_the_published_code_does(name, negative):
    image = smooth_image()
    for level in range(10):
        policy = (((name, 1.0, level), ("Invert", 0.0, None)),)
        choices = choices_of(policy, (32, 32), torch.device("cpu"), ORIGINAL)
        draws = Draws(
            torch.tensor([0]), torch.tensor([[True], [False]]), torch.tensor([[negative], [False]])
        )
        (mine,) = apply_draws(image[None], choices, draws, way="plain")
        # Shifts are signed here by where pixels go, and there by where they come from.
        other_way = negative != (name in ("TranslateX", "TranslateY"))
        theirs = pil_to_tensor(as_published(to_pil_image(image), name, level, negative=other_way))
        apart = (mine.float() - theirs.float()).abs()
        # Pillow rounds luminance and factors in other places; a move may take the next pixel.
        assert apart.mean() < 1.0, (name, level)
        assert (apart > 2).float().mean() < 0.03, (name, level)


def test_the_scales_differ_where_the_documentation_says():
    assert ORIGINAL.magnitude("TranslateX", 9, (32, 32)) == 9
    assert int(TORCHVISION.magnitude("TranslateX", 9, (32, 32))) == 14
    factors = [1 + ORIGINAL.magnitude("Color", level, (32, 32)) for level in (0, 9)]
    assert factors == pytest.approx([0.1, 1.72])
    assert ORIGINAL.magnitude("Posterize", 7, (32, 32)) == 2
    assert TORCHVISION.magnitude("Posterize", 7, (32, 32)) == 5
    assert set(TORCHVISION.signed) - set(ORIGINAL.signed) == set(ENHANCED)


def test_shifts_grow_with_the_image_by_height_and_width():
    assert ORIGINAL.magnitude("TranslateX", 9, (28, 96)) == 27
    assert ORIGINAL.magnitude("TranslateY", 9, (28, 96)) == 7  # 7.875 of 28 pixels, in whole ones
