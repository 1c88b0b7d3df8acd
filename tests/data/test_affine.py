"""Geometric operations move images in the direction that they are named for."""

import torch

from xnas.data import affine


def test_moves_go_where_their_names_say():
    image = torch.zeros(1, 1, 9, 9, dtype=torch.uint8)
    image[..., 4, 4] = 1

    def place(moved):
        return moved.nonzero()[:, 2:].tolist()

    two = torch.tensor([2.9])  # a fraction of a pixel is cut off
    assert place(affine.translate_x(image, two)) == [[4, 6]]
    assert place(affine.translate_y(image, -two)) == [[2, 4]]
    assert place(affine.shear_x(image, torch.tensor([0.3]))) == [[4, 3]]  # by 0.3 * 4.5 pixels
    image = image.roll((-2, 2), (2, 3))  # up and to the right of the centre
    assert place(affine.rotate(image, torch.tensor([90.0]))) == [[2, 2]]  # then up and to the left
