"""Datasets of Python as images: what is read, and what is refused by name."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset, IterableDataset, Subset, TensorDataset
from torchvision.datasets import ImageFolder

from xnas.data import DataOptions, StreamedImages, images_of_dataset, load_data
from xnas.errors import DatasetError

PIXELS = torch.randint(0, 256, (20, 3, 16, 16), generator=torch.Generator().manual_seed(0)).byte()
LABELS = torch.arange(20) % 2


class Items(Dataset):
    def __init__(self, make, label=lambda index: index % 2, count=20):
        self.make, self.label, self.count = make, label, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.make(index), self.label(index)


class Walked(IterableDataset):
    def __iter__(self):
        return iter(zip(PIXELS, LABELS.tolist(), strict=True))


def pillow(index):
    return Image.fromarray(PIXELS[index].movedim(0, -1).numpy())


@pytest.mark.parametrize(
    "dataset",
    [
        TensorDataset(PIXELS, LABELS),
        Items(pillow),
        Items(lambda index: PIXELS[index] / 255),
        Items(lambda index: PIXELS[index].movedim(0, -1).numpy()),
        Subset(TensorDataset(PIXELS.repeat(2, 1, 1, 1), LABELS.repeat(2)), range(20)),
        Walked(),
        [{"image": pillow(index), "label": index % 2} for index in range(20)],
    ],
    ids=["tensors", "pillow", "floats", "arrays", "subset", "walked", "mappings"],
)
def test_images_of_every_kind_become_the_same_bytes(dataset):
    data = images_of_dataset(dataset, name="mine")
    assert data.name == "mine"
    assert data.classes == ("0", "1")
    assert (len(data.images), len(data.test_images)) == (16, 4)  # a fifth of each class
    together = torch.cat([data.images, data.test_images]).flatten(1)
    assert sorted(together.tolist()) == sorted(PIXELS.flatten(1).tolist())


def test_a_folder_of_torchvision_gives_what_its_folder_gives(tmp_path):
    for index in range(20):
        path = tmp_path / ("rose", "tulip")[index % 2] / f"{index:02}.png"
        path.parent.mkdir(exist_ok=True)
        pillow(index).save(path)
    given, loaded = images_of_dataset(ImageFolder(tmp_path)), load_data(tmp_path)
    assert given.classes == loaded.classes == ("rose", "tulip")
    assert torch.equal(given.images, loaded.images)
    assert torch.equal(given.test_images, loaded.test_images)


def test_streamed_items_are_those_in_memory_and_a_test_set_may_be_given():
    dataset, test = Items(pillow), Items(pillow, count=8)
    streamed = images_of_dataset(dataset, DataOptions(stream=True, image_size=8), test=test)
    held = images_of_dataset(dataset, DataOptions(stream=False, image_size=8), test=test)
    assert isinstance(streamed, StreamedImages)
    assert (len(streamed.images), len(streamed.test_images)) == (20, 8)
    for index in (0, 7, 19):
        assert torch.equal(streamed.images.read(index), held.images[index])
    again = images_of_dataset(dataset, DataOptions(stream=True, image_size=8), test=test)
    other = images_of_dataset(Items(lambda i: PIXELS[i] // 2), DataOptions(stream=True, image_size=8))
    assert streamed.fingerprint() == again.fingerprint() != other.fingerprint()


def test_grey_images_of_many_sizes_are_brought_to_one():
    data = images_of_dataset(Items(lambda index: np.full((40 + index, 50), index, np.uint8)))
    assert data.images.shape[1:] == (1, 64, 64)
    assert "resized from 40 x 50 .. 59 x 50" in data.note or "resized from" in data.note


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        (
            Items(pillow, lambda _: torch.tensor([1, 0, 1])),
            r"item 0 of Items is \[1, 0, 1\]: multi-lab",
        ),
        (Items(pillow, lambda _: torch.zeros(16, 16)), "is an image: segmentation"),
        (Items(pillow, pillow), "is an image: segmentation; an image has one class here"),
        (Items(pillow, lambda _: {"boxes": []}), "object detection"),
        (Items(pillow, lambda _: "cat"), "is 'cat'; it must be a whole number from 0 on"),
        (Items(lambda _: torch.randn(3, 16, 16)), r"not in 0..1; leave Normalize out of its tran"),
        (Items(lambda _: torch.rand(3, 16, 16)), "item 0 of Items differs when it is read again"),
        (Items(lambda _: torch.zeros(5, 16, 16)), r"is torch.uint8 \(5, 16, 16\); it must be uint8"),
        (Items(lambda _: "1.png"), "the image of item 0 of Items is str; give Pillow's or a tensor"),
        (Items(lambda _: 1 // 0), "item 0 of Items cannot be read"),
        (
            Items(lambda _: Image.new("F", (9, 9))),
            "cannot decode item 0 of Items .its grey values are fl",
        ),
        (Items(pillow, count=0), "has no items"),
        ([(1, 2, 3)], r"is \(1, 2, 3\); a pair of image and label is wanted"),
        ([{"image": 1, "text": 2}], "has image, text; an image and a label are wanted"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(dataset, words):
    with pytest.raises(DatasetError, match=words) as error:
        images_of_dataset(dataset)
    assert "\n" not in str(error.value)


def test_what_can_only_be_walked_through_is_not_streamed():
    with pytest.raises(DatasetError, match="can only be walked through, not streamed"):
        images_of_dataset(Walked(), DataOptions(stream=True))
