"""Random images in memory, for tests that need some of a given shape."""

import torch

from xnas import ImageData


def coloured(count=20, side=8, classes=2):
    images = torch.randint(256, (count, 3, side, side), generator=torch.Generator().manual_seed(5))
    labels = torch.arange(count) % classes
    return ImageData(
        name="coloured",
        images=images.to(torch.uint8),
        labels=labels,
        classes=tuple(f"c{k}" for k in range(classes)),
        test_images=images.to(torch.uint8).flip(0),
        test_labels=labels.flip(0),
    )
