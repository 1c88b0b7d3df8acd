"""Test images as an evaluation sees them: each once, in order, standardised, in the network's shape."""

import torch
from images_made import coloured

from xnas.data import standardize
from xnas.model.image_inputs import ImageReader
from xnas.model.plain_batches import Preparation, plain_batches


def test_plain_batches_hold_every_image_once_and_in_order():
    data = coloured(count=7)
    plain = Preparation(mean=data.mean, std=data.std, batch_size=3)
    parts = list(plain_batches(data.images, data.labels, plain))
    assert [len(labels) for _, labels in parts] == [3, 3, 1]
    torch.testing.assert_close(
        torch.cat([images for images, _ in parts]), standardize(data.images, data.mean, data.std)
    )
    assert torch.equal(torch.cat([labels for _, labels in parts]), data.labels)


def test_plain_batches_of_another_shape_are_fitted():
    data = coloured(count=2, side=16)
    reader = ImageReader(channels=1, size=(8, 8), resize="crop", example="x")
    plain = Preparation(mean=(0.0,), std=(1.0,), reader=reader)
    ((images, _),) = plain_batches(data.images, data.labels, plain)
    assert images.shape == (2, 1, 8, 8)
