"""A batch of the run's images for samplers that take one."""

import pytest
import torch
from images_made import coloured
from streamed_files import with_bad, write_images

from xnas import DatasetError
from xnas.data import Paths, StreamedImages, standardize
from xnas.runs.sampling.image_batch import drawn_batch, hand_images
from xnas.samplers import SAMPLERS
from xnas.space import encoding_of


def proxy(**settings):
    given = {"proxy": "params", "pool": 2, "batch": 6} | settings
    return SAMPLERS["proxy"](encoding_of("nasbench201"), 0, given)


def test_images_in_memory_are_drawn_and_standardised():
    data = coloured(count=20)
    batch = drawn_batch(data, 6, seed=3)
    every = standardize(data.images, data.mean, data.std)
    places = [int((every == image).flatten(1).all(1).nonzero()[0]) for image in batch]
    assert len(set(places)) == 6
    assert torch.equal(batch, drawn_batch(data, 6, seed=3))
    assert not torch.equal(batch, drawn_batch(data, 6, seed=4))
    assert len(drawn_batch(data, 100, seed=3)) == 20


def test_a_sampler_that_takes_images_gets_those_of_the_run():
    data = coloured(count=20)
    sampler = proxy()
    hand_images(sampler, data, seed=3)
    assert torch.equal(sampler.images, drawn_batch(data, 6, seed=3))
    for given in (None, "cifar10"):
        sampler = proxy()
        hand_images(sampler, given, seed=3)
        assert sampler.images is None
    hand_images(SAMPLERS["random"](encoding_of("darts"), 0, {}), data, seed=3)  # nothing to give them to


def test_bad_files_are_replaced_by_others_or_an_error(tmp_path):
    written = write_images(tmp_path, count=10)

    def streamed(**options):
        files = Paths(with_bad(written, tmp_path, 2, 3))
        return StreamedImages(
            name="mine",
            files=files,
            labels=torch.arange(10) % 2,
            classes=("a", "b"),
            size=(12, 10),
            mean=(0.5,) * 3,
            std=(0.2,) * 3,
            **options,
        )

    every = standardize(written[1], (0.5,) * 3, (0.2,) * 3)
    batch = drawn_batch(streamed(skip_bad_images=True), 10, seed=0)
    places = [int((every == image).flatten(1).all(1).nonzero()[0]) for image in batch]
    assert sorted(places) == [0, 1, 4, 5, 6, 7, 8, 9]
    with pytest.raises(DatasetError, match=r"bad [23]\.png"):
        drawn_batch(streamed(), 10, seed=0)
