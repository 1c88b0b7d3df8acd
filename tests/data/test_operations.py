"""Every operation, batched, equals torchvision's on each image with the same parameter."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xnas.data import affine
from xnas.data.operations import (
    NUMBERS,
    OPERATIONS,
    apply_grouped,
    apply_merged,
    apply_plain,
    merged_settings,
)

GEOMETRIC_SHARE = 0.001  # pixels that may differ: a tie between two source pixels hangs on the last bit
CONTRAST_VECTOR = 16  # torch adds a constant to so many numbers at a time; past them it rounds twice

LARGEST = {
    "ShearX": 0.3,
    "ShearY": 0.3,
    "TranslateX": 14.5,
    "TranslateY": 14.5,
    "Rotate": 30.0,
    "Brightness": 0.9,
    "Color": 0.9,
    "Contrast": 0.9,
    "Sharpness": 0.9,
}


def pictures(kind, shape, generator):
    """Noise, a ramp, noise without colour, one level each, or few levels."""
    count, channels, height, width = shape
    noise = torch.randint(256, shape, dtype=torch.uint8, generator=generator)
    if kind == "ramp":
        start = torch.randint(100, (count, channels, 1, 1), generator=generator)
        return (start + 3 * torch.arange(width) + 2 * torch.arange(height)[:, None]).to(torch.uint8)
    if kind == "colourless":
        return noise[:, :1].expand(shape).contiguous()
    if kind == "flat":
        return noise[..., :1, :1].expand(shape).contiguous()
    return noise % 7 * 20 + 90 if kind == "few levels" else noise


def magnitudes_of(name, count, generator, *, binned):
    """Ten steps as in the policies or anything between, with both signs where there are any."""
    share = torch.rand(count, generator=generator)
    if binned:
        share = (share * 10).floor() / 9
    if name in LARGEST:
        sign = torch.randint(2, (count,), generator=generator) * 2 - 1
        return (LARGEST[name] * share).double() * sign
    if name == "Posterize":
        return torch.randint(9, (count,), generator=generator).double()
    return (1 - share).double()


@st.composite
def batches(draw, count=8):
    """Images of any shape, with a generator for what is drawn next."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["noise", "ramp", "colourless", "flat", "few levels"]))
    channels = draw(st.sampled_from([1, 3]))
    height, width = draw(
        st.sampled_from([(32, 32), (28, 28), (9, 7), (13, 32), (32, 5), (2, 9), (17, 24)])
    )
    return pictures(kind, (count, channels, height, width), generator), generator


def assert_same(result, expected, name):
    assert (result.dtype, result.shape) == (torch.uint8, expected.shape)
    wrong = result != expected
    if name in affine.MOVES:
        assert wrong.float().mean() <= GEOMETRIC_SHARE
    elif name == "Contrast":
        numbers = expected[0].numel()
        even = numbers - numbers % CONTRAST_VECTOR
        assert not wrong.flatten(1)[:, :even].any()
        assert (result.int() - expected.int()).abs().max() <= 1
    else:
        assert not wrong.any()


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=40, deadline=None)
@given(batch=batches(), binned=st.booleans())
def test_an_operation_equals_torchvision_in_every_way(name, batch, binned):
    images, generator = batch
    magnitudes = magnitudes_of(name, len(images), generator, binned=binned)
    numbers = torch.full((len(images),), NUMBERS[name])
    before = images.clone()
    expected = apply_plain(images, numbers, magnitudes)
    assert_same(OPERATIONS[name](images, magnitudes), expected, name)
    assert_same(apply_grouped(images, numbers, magnitudes), expected, name)
    rows = merged_settings(numbers, magnitudes, images.shape[2:])
    assert_same(apply_merged(images, rows), expected, name)
    assert torch.equal(images, before)


@settings(max_examples=25, deadline=None)
@given(batch=batches(count=60))
def test_grouped_and_merged_agree_where_every_image_has_another_operation(batch):
    images, generator = batch
    numbers = torch.randint(len(OPERATIONS), (len(images),), generator=generator)
    magnitudes = torch.zeros(len(images), dtype=torch.float64)
    for number, name in enumerate(OPERATIONS):
        drawn = magnitudes_of(name, len(images), generator, binned=True)
        magnitudes = torch.where(numbers == number, drawn, magnitudes)
    merged = apply_merged(images, merged_settings(numbers, magnitudes, images.shape[2:]))
    assert torch.equal(apply_grouped(images, numbers, magnitudes), merged)
