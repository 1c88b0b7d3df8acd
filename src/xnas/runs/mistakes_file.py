"""mistakes.json: the test images that a trained network got most surely wrong, as small pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import torch
from PIL import Image
from torch import Tensor

from xnas.data import Images
from xnas.engine.mistakes import WrongAnswer

MISTAKES = "mistakes.json"
FORMAT, VERSION = "xnas-mistakes", 1
MOST_MISTAKES = 24
LONGEST_SIDE = 96
"""Pixels of a picture; larger images are made smaller."""


def mistakes_file(mistakes: Sequence[WrongAnswer], images: Images) -> dict[str, object]:
    """What the file holds: for every image its place, its class, the answer, and a PNG in base64."""
    rows = [
        {
            "index": one.index,
            "label": images.classes[one.label],
            "answer": images.classes[one.answer],
            "probability": one.probability,
            "png": base64.b64encode(png(one.image, images.mean, images.std)).decode("ascii"),
        }
        for one in mistakes
    ]
    return {"format": FORMAT, "version": VERSION, "mistakes": rows}


def png(image: Tensor, mean: Sequence[float], std: Sequence[float]) -> bytes:
    """A standardised image (channels, height, width) as PNG: grey, or the first three channels."""
    shift, scale = (torch.tensor(values)[:, None, None] for values in (mean, std))
    levels = ((image * scale + shift) * 255).round().clamp(0, 255).to(torch.uint8)
    shown = levels[:3] if len(levels) >= 3 else levels[:1]
    picture = Image.fromarray(shown.permute(1, 2, 0).squeeze(-1).numpy())
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    file = io.BytesIO()
    picture.save(file, format="PNG", optimize=True)
    return file.getvalue()
