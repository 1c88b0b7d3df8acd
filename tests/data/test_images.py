"""A dataset in memory refuses what no network could use, and measures itself."""

import pytest
import torch

from xnas.data import ImageData, channel_statistics
from xnas.errors import DatasetError


def images(count=6, channels=3, height=8, width=10):
    return torch.randint(256, (count, channels, height, width), dtype=torch.uint8)


def labels(count=6):
    return torch.arange(count) % 2


def build(**changes):
    settings = {"name": "mine", "images": images(), "labels": labels(), "classes": ("cat", "dog")}
    return ImageData(**{**settings, **changes})


def test_own_tensors_make_a_dataset_that_knows_its_shape():
    data = build()
    assert (data.channels, data.size) == (3, (8, 10))
    assert data.test_images is None
    assert data.flip


def test_a_dataset_is_printed_in_one_short_line():
    assert repr(build()) == "ImageData('mine': 6 images of 3 x 8 x 10, 2 classes)"


def test_statistics_are_those_of_all_pixels_of_a_channel(monkeypatch):
    monkeypatch.setattr("xnas.data.images.STATISTICS_CHUNK", 4)  # 6 images: a whole and a short chunk
    data = build()
    pixels = (data.images.double() / 255).movedim(1, 0).flatten(1)
    assert data.mean == pytest.approx(pixels.mean(1).tolist(), abs=1e-12)
    assert data.std == pytest.approx(pixels.std(1, correction=0).tolist(), abs=1e-12)


def test_given_statistics_are_kept():
    data = build(mean=(0.1, 0.2, 0.3), std=(1.0, 2.0, 3.0))
    assert (data.mean, data.std) == ((0.1, 0.2, 0.3), (1.0, 2.0, 3.0))


def test_a_channel_without_variation_gets_a_deviation_that_can_divide():
    mean, std = channel_statistics(torch.full((4, 1, 8, 8), 51, dtype=torch.uint8))
    assert mean == (0.2,)
    assert std == (1 / 255,)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"classes": ("cat",)}, r"mine has too few classes \('cat'\); .* at least 2"),
        ({"classes": ()}, r"too few classes \(none\)"),
        ({"classes": ("cat", "cat")}, "two classes called 'cat'; give each a name of its own"),
        ({"classes": ("cat", "dog", "owl")}, "no training image of class 'owl'; add some or drop it"),
        ({"images": images().float()}, "must be uint8 .* got torch.float32"),
        (
            {"images": images()[0]},
            r"must be uint8 \(examples, channels, height, width\), got .* \(3, 8, 10\)",
        ),
        ({"labels": labels(5)}, r"labels of mine must be int64 \(6,\), one for each .* \(5,\)"),
        ({"labels": labels().int()}, "must be int64 .* got torch.int32"),
        (
            {"labels": labels() + 1},
            "labels of mine run from 1 to 2; with 2 classes they must lie in 0..1",
        ),
        ({"labels": labels() - 1}, "labels of mine run from -1 to 0"),
        (
            {"images": images(height=7)},
            "images of mine are 7 x 10 pixels; they need 8 per side: enlarge",
        ),
        (
            {"images": images().numpy()},
            "images of mine must be a tensor, got ndarray; torch.as_",
        ),
        ({"labels": [0, 1]}, "labels of mine must be a tensor, got list; torch.as_tensor makes"),
        ({"classes": None}, "classes of mine must be a tuple of their names, got None; write classes="),
        ({"classes": "ab"}, "classes of mine must be a tuple of their names, got 'ab'"),
        ({"name": None}, "the name of the data must be a string, got None"),
        ({"images": images(0), "labels": labels(0)}, "mine has no images, got shape"),
        ({"test_images": images()}, "test images or test labels alone; give both or neither"),
        ({"test_labels": labels()}, "test images or test labels alone; give both or neither"),
        (
            {"test_images": images(height=9), "test_labels": labels()},
            r"test images of mine are \(3, 9, 10\) .* its images \(3, 8, 10\); bring both to one shape",
        ),
        ({"test_images": images(), "test_labels": labels() + 1}, "labels of mine run from 1 to 2"),
        ({"mean": (0.5,), "std": (1.0,) * 3}, "mean of mine has 1 values for 3 channels"),
        ({"mean": (0.5,) * 3}, "std of mine has 0 values for 3 channels; give one for each, or leave"),
        (
            {"mean": (0.5,) * 3, "std": (1.0, 0.0, 1.0)},
            r"std of mine must be positive, got \(1.0, 0.0, 1.0\)",
        ),
    ],
)
def test_what_no_network_could_use_is_refused(changes, words):
    with pytest.raises(DatasetError, match=words):
        build(**changes)


def test_names_that_are_not_utf8_are_refused():
    with pytest.raises(DatasetError, match=r"a class of the data, '\\udcff', is not UTF-8 text; rename"):
        build(classes=("a", "\udcff"))
