"""Folders of class folders with images of one colour or of noise."""

import numpy as np
from PIL import Image


def write(path, *, mode="RGB", size=(16, 16), value=None, **options):
    """An image of one colour, or of noise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width = size
    if value is None:
        pixels = np.random.default_rng(0).integers(256, size=(height, width, 3), dtype=np.uint8)
        image = Image.fromarray(pixels).convert(mode)
    else:
        image = Image.new(mode, (width, height), value)
    image.save(path, **options)


def fill(folder, count=5, ending="png", **options):
    for index in range(count):
        write(folder / f"{index}.{ending}", **options)


def flowers(root, classes=("rose", "tulip"), **options):
    for name in classes:
        fill(root / name, **options)
    return root
