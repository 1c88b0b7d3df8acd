"""Wrong answers as small pictures in a file."""

import base64
import io

import pytest
import torch
from PIL import Image
from searching import stripes

from xnas.engine.mistakes import WrongAnswer
from xnas.runs.mistakes_file import LONGEST_SIDE, mistakes_file, png


def opened(data):
    return Image.open(io.BytesIO(data))


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (2, "L"), (3, "RGB"), (5, "RGB")])
def test_an_image_gets_its_levels_back(channels, mode):
    levels = torch.randint(0, 256, (channels, 4, 6), generator=torch.Generator().manual_seed(0))
    mean, std = (0.25,) * channels, (0.5,) * channels
    picture = opened(png((levels / 255 - 0.25) / 0.5, mean, std))
    assert (picture.mode, picture.size) == (mode, (6, 4))
    first = picture.getpixel((5, 2))
    assert (first if mode == "L" else first[0]) == int(levels[0, 2, 5])


def test_large_images_are_made_smaller():
    assert opened(png(torch.zeros(1, 200, 400), (0.5,), (0.5,))).size == (
        LONGEST_SIDE,
        LONGEST_SIDE // 2,
    )


def test_the_file_names_class_and_answer():
    wrong = WrongAnswer(index=7, label=0, answer=1, probability=0.75, image=torch.zeros(1, 8, 8))
    saved = mistakes_file([wrong], stripes())
    (row,) = saved["mistakes"]
    assert (saved["format"], saved["version"]) == ("xnas-mistakes", 1)
    assert (row["index"], row["label"], row["answer"]) == (7, "vertical", "horizontal")
    assert opened(base64.b64decode(row["png"])).size == (8, 8)
