"""Colour operations at the ends of their range, and luminance, equal torchvision's."""

import torch
from torchvision.transforms.v2 import functional as tv

from xnas.data import colour


def test_a_whole_image_of_one_level_is_its_own_equalized_and_stretched_self():
    images = torch.full((2, 3, 8, 8), 77, dtype=torch.uint8)
    for operation in (colour.equalize, colour.autocontrast):
        assert torch.equal(operation(images, torch.zeros(2)), images)


def test_luminance_is_that_of_torchvision_for_a_grid_of_colours():
    levels = torch.arange(0, 256, 3)[:, None, None]
    for red in range(0, 256, 3):
        cube = torch.stack(
            [torch.full((86, 86), red), levels[:, :, 0].expand(86, 86), levels[:, 0].T.expand(86, 86)]
        ).to(torch.uint8)
        expected = tv.rgb_to_grayscale(cube)[None].float()
        assert torch.equal(colour.grey(cube[None].float()), expected)
