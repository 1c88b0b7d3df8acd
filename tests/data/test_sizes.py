"""Images get a size by a stated rule, and are never bent."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchvision.transforms.v2 import functional as tv

from xnas.data import ImageData, fit, fitting_size, resized
from xnas.errors import ConfigError


@pytest.mark.parametrize(
    ("sizes", "size"),
    [
        ([(8, 8)] * 3, (8, 8)),
        ([(28, 28)] * 3, (28, 28)),
        ([(32, 20)] * 3, (32, 20)),
        ([(33, 32)] * 3, (32, 32)),
        ([(48, 40)] * 3, (32, 32)),
        ([(49, 10)] * 3, (64, 64)),
        ([(480, 640)] * 3, (64, 64)),
        ([(28, 28), (28, 27)], (32, 32)),  # they do not agree
        ([(30, 30)] * 9 + [(4000, 3000)], (32, 32)),  # one odd image does not decide for all
    ],
)
def test_small_images_stay_and_others_become_32_or_64(sizes, size):
    assert fitting_size(sizes) == size


def test_a_size_for_no_images_is_refused():
    with pytest.raises(ConfigError, match="at least one image, got none"):
        fitting_size([])


@pytest.mark.parametrize(("height", "width"), [(40, 90), (90, 40), (64, 64), (20, 31)])
def test_a_square_is_the_shorter_side_resized_and_the_centre_cropped(height, width):
    images = torch.randint(256, (2, 3, height, width), dtype=torch.uint8)
    expected = tv.center_crop(tv.resize(images, [32], antialias=True), [32, 32])
    assert torch.equal(fit(images, (32, 32)), expected)


@given(
    st.tuples(st.integers(1, 90), st.integers(1, 90)), st.tuples(st.integers(8, 40), st.integers(8, 40))
)
def test_every_image_fits_every_size(given_size, size):
    image = torch.full((1, 1, *given_size), 77, dtype=torch.uint8)
    fitted = fit(image, size)
    assert fitted.shape == (1, 1, *size)
    assert fitted.unique().tolist() == [77]  # nothing is padded


def dataset(size):
    images = torch.randint(256, (6, 1, *size), dtype=torch.uint8)
    labels = torch.arange(6) % 2
    return ImageData(
        name="mine",
        images=images,
        labels=labels,
        classes=("a", "b"),
        test_images=images,
        test_labels=labels,
        flip=False,
        note="drawn",
    )


def test_a_resized_dataset_is_measured_again_and_says_so():
    data = resized(dataset((16, 24)), 8)
    assert data.images.shape == data.test_images.shape == (6, 1, 8, 8)
    assert data.mean == pytest.approx([float(data.images.double().mean() / 255)])
    assert data.note == "drawn; resized from 16 x 24 to 8 x 8 (cover, then crop the centre)"
    assert not data.flip


def test_a_dataset_of_the_right_size_stays_as_it_is():
    data = dataset((16, 16))
    assert resized(data, 16) is data


def test_images_too_small_to_be_reduced_twice_are_refused():
    with pytest.raises(ConfigError, match="image_size must be at least 8, got 7"):
        resized(dataset((16, 16)), 7)
