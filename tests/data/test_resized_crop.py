"""Random resized crop: each box resized as torchvision does it, boxes drawn by its rule."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torchvision.transforms.v2 import functional as tv

from xnas.data import RandomResizedCrop
from xnas.data.resized_crop import resized_crops
from xnas.errors import ConfigError

IN_BYTES = torch.backends.cpu.get_cpu_capability() in {
    "AVX2",
    "AVX512",
}  # torchvision counts in floats else


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def images_of(count, channels, height, width):
    return torch.randint(256, (count, channels, height, width), dtype=torch.uint8)


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((40, 3, 32, 32), (32, 32)),
        ((40, 1, 28, 31), (28, 31)),
        ((40, 3, 9, 13), (16, 8)),
        ((20, 3, 64, 48), (24, 24)),
        ((3, 3, 256, 256), (224, 224)),
    ],
)
def test_boxes_are_resized_as_torchvision_resizes_them(shape, size):
    images = images_of(*shape)
    boxes = RandomResizedCrop(size).boxes(images, seeded())
    expected = torch.stack(
        [
            tv.resized_crop(image, *box, list(size))
            for image, box in zip(images, boxes.tolist(), strict=True)
        ]
    )
    difference = (resized_crops(images, boxes, size).int() - expected.int()).abs()
    assert difference.max() <= (0 if IN_BYTES else 1)


@pytest.mark.parametrize("size", [(32, 32), (20, 50), (60, 10)])
def test_boxes_lie_in_the_image_and_have_allowed_areas_and_shapes(size):
    images = torch.empty(2000, 1, *size, dtype=torch.uint8)
    top, left, tall, wide = RandomResizedCrop(size).boxes(images, seeded()).unbind(1)
    assert min(top.min(), left.min()) >= 0
    assert (top + tall).max() <= size[0]
    assert (left + wide).max() <= size[1]
    # The real sides were rounded by half a pixel at most.
    assert ((tall + 0.5) * (wide + 0.5) >= 0.08 * size[0] * size[1]).all()
    assert ((wide + 0.5) / (tall - 0.5) >= 3 / 4).all()
    assert ((wide - 0.5) / (tall + 0.5) <= 4 / 3).all()


def test_areas_and_places_are_even():
    images = torch.empty(20_000, 1, 64, 64, dtype=torch.uint8)
    crop = RandomResizedCrop((64, 64), scale=(0.1, 0.5), ratio=(1, 1))
    top, left, tall, wide = crop.boxes(images, seeded()).double().unbind(1)
    assert torch.equal(tall, wide)
    area = tall * wide / 64**2  # even between 0.1 and 0.5: deviation 0.4 / sqrt(12)
    assert abs(float(area.mean()) - 0.3) < 5 * 0.1155 / 20_000**0.5 + 1e-3  # and whole sides
    for start in (top, left):
        assert abs(float((start / (64 - tall)).mean()) - 0.5) < 5 * 0.32 / 20_000**0.5


@pytest.mark.parametrize(
    ("size", "box"),
    [
        ((30, 100), (0, 30, 30, 40)),  # too wide: all the height, 4 / 3 of it wide
        ((100, 30), (30, 0, 40, 30)),  # too tall: all the width, 3 / 4 of the height
        ((30, 30), (0, 0, 30, 30)),
    ],
)
def test_a_box_that_never_fits_gives_way_to_the_centre(size, box):
    crop = RandomResizedCrop((8, 8), scale=(2, 2))  # twice the image
    boxes = crop.boxes(torch.empty(5, 3, *size, dtype=torch.uint8), seeded())
    assert boxes.tolist() == [list(box)] * 5


def test_a_resized_crop_follows_from_its_generator_and_reads_nothing_on_the_host():
    images, crop = images_of(12, 3, 32, 32), RandomResizedCrop((16, 16))
    assert torch.equal(crop(images, seeded(1)), crop(images, seeded(1)))
    assert not torch.equal(crop(images, seeded(1)), crop(images, seeded(2)))
    with FakeTensorMode():
        assert crop(torch.empty(4, 3, 32, 32, dtype=torch.uint8), seeded()).shape == (4, 3, 16, 16)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: RandomResizedCrop((0, 8)), r"at least 1 pixel per side, got \(0, 8\)"),
        (
            lambda: RandomResizedCrop((8, 8), scale=(0.5, 0.1)),
            r"scale must be two positive numbers, the lesser first, got \(0.5, 0.1\)",
        ),
        (lambda: RandomResizedCrop((8, 8), ratio=(0, 1)), "ratio must be two positive numbers"),
        (
            lambda: RandomResizedCrop((8, 8))(torch.zeros(1, 3, 8, 8), seeded()),
            "a resized crop takes uint8 images, got torch.float32; standardize after it",
        ),
    ],
)
def test_bad_resized_crops_are_refused(use, words):
    with pytest.raises(ConfigError, match=words):
        use()
