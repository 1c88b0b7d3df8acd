"""An augmentation that happens to a share of the images."""

import torch

from xnas.data.sometimes import Sometimes


def inverted(images, generator):  # noqa: ARG001 - an augmentation's signature
    return 255 - images


def test_each_image_is_augmented_with_the_chance_that_holds_now():
    chance = torch.zeros(())
    augment = Sometimes(inverted, chance)
    images = torch.arange(200, dtype=torch.uint8).view(200, 1, 1, 1).expand(200, 3, 4, 4)
    draw = torch.Generator().manual_seed(0)
    assert torch.equal(augment(images, draw), images)
    chance.fill_(1.0)
    assert torch.equal(augment(images, draw), 255 - images)
    chance.fill_(0.3)
    changed = (augment(images, draw) != images).flatten(1)
    assert torch.equal(changed.any(1), changed.all(1))  # images as a whole
    assert 40 < int(changed.any(1).sum()) < 80
