"""Colours that everyone can tell apart, the same for an operation wherever it is drawn."""

import math
from itertools import combinations

import pytest

from xnas.report.colours import (
    DARK,
    LIGHT,
    OPERATION_COLOURS,
    PALETTE,
    ink_on,
    luminance,
    operation_colours,
)
from xnas.space import SPACES

SEEN = {  # Machado, Oliveira and Fernandes (2009), table 1, severity 1.0: linear RGB as it is seen
    "full colour": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
APART = 9
"""Of colours in CIELAB, where about 2.3 is just noticeable."""


def lab(colour, seen):
    """A colour in CIELAB under D65, as it is seen."""
    levels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in levels]
    r, g, b = (min(1, max(0, sum(w * c for w, c in zip(row, linear, strict=True)))) for row in seen)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,
    )
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("kind", SEEN)
@pytest.mark.parametrize("space", SPACES)
def test_operations_of_a_space_are_told_apart_with_every_kind_of_colour_blindness(space, kind):
    colours = operation_colours(SPACES[space].with_none().operations)
    for (one, first), (other, second) in combinations(colours.items(), 2):
        distance = math.dist(lab(first, SEEN[kind]), lab(second, SEEN[kind]))
        assert distance >= APART, (one, other, distance)


def test_an_unknown_operation_takes_a_colour_that_is_left():
    found = operation_colours(("none", "my_conv", "skip_connect"))
    assert found["none"] == OPERATION_COLOURS["none"]
    assert found["my_conv"] in PALETTE
    assert found["my_conv"] != found["skip_connect"]


def test_letters_have_contrast_on_every_colour():
    assert (ink_on("#ffff00"), ink_on("#000080")) == (DARK, LIGHT)
    for colour in {*PALETTE, *OPERATION_COLOURS.values()}:
        levels = sorted((luminance(colour), luminance(ink_on(colour))))
        assert (levels[1] + 0.05) / (levels[0] + 0.05) >= 4, colour


def test_luminance_runs_from_black_to_white():
    assert (luminance("#000000"), luminance("#ffffff")) == pytest.approx((0, 1))
    assert luminance("#808080") == pytest.approx(0.2159, abs=1e-4)  # of sRGB's middle grey
