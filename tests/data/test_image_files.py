"""Images that stay in files: paths, shapes, statistics and fingerprints."""

import os
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from streamed_files import COUNT, MEAN, SIZE, STD, with_bad, write_images

from xnas.data import (
    Chain,
    Crop,
    Flip,
    ImageFiles,
    Paths,
    StreamedImages,
    augmentation_for,
    channel_statistics,
    image_files,
)
from xnas.errors import ConfigError, DatasetError


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_images(tmp_path_factory.mktemp("images"))


def test_paths_of_a_million_files_would_take_their_bytes_and_eight_more():
    names = [f"train/n{index % 10:08}/image {index:06} é.JPEG" for index in range(1000)]
    paths = Paths(names)
    kept = sum(tensor.nbytes for tensor in vars(paths).values())
    assert kept == sum(len(os.fsencode(name)) for name in names) + 8 * 1001
    assert [str(path) for path in paths] == names
    assert paths[999] == Path(names[999])
    with pytest.raises(IndexError, match="path 1000 of 1000"):
        paths[1000]


def test_paths_that_are_no_unicode_come_back_as_they_were():
    name = os.fsdecode(b"caf\xe9/1.png")
    assert list(Paths([name, Path("x.png")])) == [Path(name), Path("x.png")]
    assert len(Paths([])) == 0


def test_image_files_can_be_sent_to_a_process_that_does_not_share_memory(written):
    images = ImageFiles(Paths(written[0]), 3, SIZE, "crop")
    sent = pickle.loads(pickle.dumps(images))  # noqa: S301 - our own bytes
    assert torch.equal(sent.read(49), written[1][49])


@pytest.fixture
def data(written):
    return StreamedImages(
        name="mine",
        files=Paths(written[0]),
        labels=(torch.arange(COUNT) >= COUNT // 2).long(),
        classes=("a", "b"),
        test_files=Paths(written[0][:4]),
        test_labels=torch.tensor([0, 1, 0, 1]),
        size=SIZE,
    )


def test_a_streamed_dataset_reports_what_one_in_memory_reports(data, written):
    assert (data.channels, data.size, data.flip, data.note) == (3, SIZE, True, "")
    assert (data.mean, data.std) == channel_statistics(written[1])
    assert len(data.images) == COUNT
    assert torch.equal(data.images.read(7), written[1][7])
    assert torch.equal(data.test_images.read(3), written[1][3])
    assert replace(data, test_files=None, test_labels=None).test_images is None
    assert augmentation_for(data) == Chain((Crop(1), Flip()))


def test_a_streamed_dataset_is_printed_in_one_short_line(data):
    assert repr(data) == "StreamedImages('mine': 50 images of 3 x 12 x 10, 2 classes)"


def test_statistics_are_those_of_a_sample_that_is_always_the_same(data, written, monkeypatch):
    monkeypatch.setattr(image_files, "STATISTICS_SAMPLE", 10)
    first = replace(data, mean=(), std=())
    again = replace(data, mean=(), std=())
    assert (first.mean, first.std) == (again.mean, again.std)
    drawn = torch.randperm(COUNT, generator=image_files.stream(0, "statistics"))[:10]
    assert (first.mean, first.std) == channel_statistics(written[1][drawn])


def test_statistics_that_are_given_are_kept_and_nothing_is_read(data, tmp_path):
    given = replace(data, files=Paths([tmp_path / "none.png"] * COUNT), mean=MEAN, std=STD)
    assert (given.mean, given.std) == (MEAN, STD)


def test_statistics_pass_over_bad_images_if_asked_to(data, written, tmp_path):
    files = Paths(with_bad(written, tmp_path, 0, 49))
    with pytest.raises(DatasetError, match=r"cannot read the image .*bad 0.png"):
        replace(data, files=files, mean=(), std=())
    skipping = replace(data, files=files, mean=(), std=(), skip_bad_images=True)
    assert (skipping.mean, skipping.std) == channel_statistics(written[1][1:49])
    bad = Paths(with_bad(written, tmp_path, *range(COUNT)))
    with pytest.raises(DatasetError, match=r"none of 50 images can be read, such as .*bad"):
        replace(data, files=bad, mean=(), std=(), skip_bad_images=True)


def test_a_fingerprint_follows_names_lengths_labels_and_shape_but_not_the_place(data, tmp_path):
    moved, _ = write_images(tmp_path)
    there = replace(data, files=Paths(moved))
    assert there.fingerprint() == data.fingerprint()
    assert len(data.fingerprint()) == 32
    others = [
        replace(data, labels=data.labels.flip(0)),
        replace(data, classes=("a", "c")),
        replace(data, size=(12, 12)),
        replace(data, resize="pad"),
        replace(data, files=Paths(reversed(moved))),
    ]
    assert len({data.fingerprint(), *(other.fingerprint() for other in others)}) == 6
    with moved[5].open("ab") as file:
        file.write(b"!")
    assert there.fingerprint() != data.fingerprint()
    moved[5].unlink()
    with pytest.raises(DatasetError, match=r"cannot find the image .*5.png \(No such file"):
        there.fingerprint()
    assert replace(there, skip_bad_images=True).fingerprint() != data.fingerprint()


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"classes": ("a",)}, DatasetError, "too few classes"),
        (
            {"labels": torch.zeros(COUNT, dtype=torch.int64)},
            DatasetError,
            "no training image of class 'b'",
        ),
        ({"labels": torch.arange(3)}, DatasetError, r"must be int64 \(50,\), one for each"),
        ({"test_labels": None}, DatasetError, "test images or test labels alone"),
        ({"size": (4, 4)}, DatasetError, "4 x 4 pixels; they need 8 per side"),
        ({"mean": (0.5,)}, DatasetError, "mean of mine has 1 values for 3 channels"),
        ({"files": Paths([]), "labels": torch.arange(0)}, DatasetError, "mine has no images"),
        ({"resize": "melt"}, ConfigError, "melt"),
    ],
)
def test_datasets_that_do_not_fit_together_are_refused(data, changes, error, words):
    with pytest.raises(error, match=words):
        replace(data, **changes)
