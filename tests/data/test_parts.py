"""Some of the images of some data: the right ones, of every class, in memory or in files."""

import pytest
import torch
from photos_written import flowers
from searching import stripes

from xnas.data import DataOptions, load_data
from xnas.data.parts import StorePart, part_of, stratified, without_test


def test_a_part_in_memory_has_its_images_and_no_test_images():
    images = stripes(count=20, test=stripes(count=6).images)
    part = part_of(images, torch.tensor([3, 4, 9]))
    assert torch.equal(part.images, images.images[[3, 4, 9]])
    assert part.labels.tolist() == [1, 0, 1]
    assert part.test_images is None
    assert (part.mean, part.std, part.classes) == (images.mean, images.std, images.classes)
    assert part.fingerprint() != images.fingerprint()
    assert without_test(images).fingerprint() == images.fingerprint()


@pytest.fixture
def streamed(tmp_path):
    flowers(tmp_path / "photos", value=None)
    return load_data(str(tmp_path / "photos"), DataOptions(stream=True, image_size=16))


def test_a_part_in_files_decodes_the_same_images(streamed):
    part = part_of(streamed, torch.tensor([1, 7]))
    assert torch.equal(part.images.read(1), streamed.images.read(7))
    assert part.labels.tolist() == streamed.labels[[1, 7]].tolist()
    assert part.files[0] == streamed.files[1]
    assert part.test_files is None
    assert without_test(streamed).test_files is None
    other = part_of(streamed, torch.tensor([0, 7]))
    assert len({part.fingerprint(), other.fingerprint(), streamed.fingerprint()}) == 3
    with pytest.raises(IndexError, match="image 2 of 2"):
        StorePart(streamed.files, torch.tensor([1, 7]))[2]


def test_a_stratified_part_has_each_class_in_proportion_and_at_least_four():
    labels = torch.tensor([0] * 100 + [1] * 40 + [2] * 4)
    chosen = stratified(labels, 36, seed=1)
    assert torch.bincount(labels[chosen]).tolist() == [25, 10, 4]
    assert chosen.tolist() == sorted(set(chosen.tolist()))
    assert torch.equal(chosen, stratified(labels, 36, seed=1))
    assert len(stratified(labels, 144, seed=1)) == len(labels)
    few = torch.arange(40) % 10
    assert len(stratified(few, 5, seed=0)) == 40  # four of each class are all there are
