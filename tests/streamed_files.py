"""Image files to stream, some of them bad, and the settings of their batches."""

import multiprocessing

import torch
from PIL import Image

from xnas.data import Chain, Crop, Flip

COUNT, BATCH, SIZE = 50, 8, (12, 10)
MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)
AUGMENT = Chain((Crop(2), Flip()))
SETTINGS = {"batch_size": BATCH, "mean": MEAN, "std": STD, "seed": 3, "name": "training"}


def write_images(folder, count=COUNT, size=SIZE):
    """PNG files, in two class folders, and their pixels."""
    pixels = torch.randint(
        256, (count, 3, *size), dtype=torch.uint8, generator=torch.Generator().manual_seed(7)
    )
    files = []
    for index, image in enumerate(pixels):
        path = folder / ("a" if index < count // 2 else "ü b") / f"{index}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(image.movedim(0, -1).numpy()).save(path)
        files.append(path)
    return files, pixels


def with_bad(written, folder, *places):
    """The files, some of them replaced by ones that are no images."""
    files = list(written[0])
    for place in places:
        files[place] = folder / f"bad {place}.png"
        files[place].write_bytes(b"" if place % 2 else b"\x89PNG\r\n\x1a\nno")
    return files


def workers_alive():
    return len(multiprocessing.active_children())
