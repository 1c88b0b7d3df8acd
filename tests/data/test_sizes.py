"""Images get a size by a stated rule, and are bent only if that is asked for."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F  # noqa: N812 - torch's own habit
from torchvision.transforms.v2 import functional as tv

from xnas.data import ImageData, fit, fitting_size, resized
from xnas.data.sizes import centre_crop
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


@pytest.mark.parametrize(
    ("height", "width"),
    [(40, 90), (90, 40), (64, 64), (20, 31), (20, 160), (160, 20), (12, 84), (64, 512), (32, 35)],
)
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


@given(
    st.tuples(st.integers(1, 90), st.integers(1, 90)), st.tuples(st.integers(8, 40), st.integers(8, 40))
)
def test_padding_shows_the_whole_image_in_its_proportions_between_black_bars(given_size, size):
    image = torch.full((1, 1, *given_size), 77, dtype=torch.uint8)
    padded = fit(image, size, "pad")
    assert padded.shape == (1, 1, *size)
    assert set(padded.unique().tolist()) <= {0, 77}
    shown = (padded[0, 0] == 77).nonzero()
    top, left, bottom, right = *shown.min(0).values.tolist(), *shown.max(0).values.tolist()
    height, width = bottom - top + 1, right - left + 1
    assert height == size[0] or width == size[1]  # one side is filled
    assert abs(height * given_size[1] - width * given_size[0]) <= max(given_size)  # within a pixel
    assert abs(top - (size[0] - 1 - bottom)) <= 1
    assert abs(left - (size[1] - 1 - right)) <= 1


@pytest.mark.parametrize(("height", "width"), [(40, 90), (90, 40), (20, 31)])
def test_padding_to_a_square_is_scaling_the_longer_side(height, width):
    images = torch.randint(256, (2, 3, height, width), dtype=torch.uint8)
    scaled = tv.resize(images, None, max_size=32, antialias=True)
    padded = fit(images, (32, 32), "pad")
    top, left = (32 - scaled.shape[2]) // 2, (32 - scaled.shape[3]) // 2
    shown = padded[..., top : top + scaled.shape[2], left : left + scaled.shape[3]]
    assert torch.equal(shown, scaled)


def test_stretching_is_a_plain_resize():
    images = torch.randint(256, (2, 3, 40, 90), dtype=torch.uint8)
    assert torch.equal(fit(images, (32, 16), "stretch"), tv.resize(images, [32, 16], antialias=True))


def test_a_dataset_says_by_which_rule_it_was_resized():
    assert resized(dataset((16, 24)), 8, "pad").note.endswith("(fit inside, then pad with black)")
    assert resized(dataset((16, 24)), 8, "stretch").note.endswith("(stretch, whatever the proportions)")


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
    assert data.resize == "crop"
    assert resized(dataset((16, 24)), 8, "pad").resize == "pad"


@pytest.mark.parametrize("height", [10, 11, 12, 13, 14, 15])  # a surplus of 6 to 1
@pytest.mark.parametrize("width", [8, 9])
def test_the_middle_is_as_torchvision_crops_it(height, width):
    images = torch.randint(256, (2, 3, 16, 12), dtype=torch.uint8)
    assert torch.equal(centre_crop(images, (height, width)), tv.center_crop(images, [height, width]))


def test_a_crop_of_the_whole_is_the_image_and_a_larger_one_is_refused():
    images = torch.randint(256, (2, 3, 16, 12), dtype=torch.uint8)
    assert torch.equal(centre_crop(images, (16, 12)), images)
    with pytest.raises(ConfigError, match="17 x 8 pixels cannot be cut out of images of 16 x 12"):
        centre_crop(images, (17, 8))


def test_a_dataset_of_the_right_size_stays_as_it_is():
    data = dataset((16, 16))
    assert resized(data, 16) is data


def test_images_too_small_to_be_reduced_twice_are_refused():
    with pytest.raises(ConfigError, match="image_size must be at least 8, got 7"):
        resized(dataset((16, 16)), 7)


@pytest.mark.parametrize("shape", [(8, 400_000), (400_000, 8)])
def test_a_very_long_image_is_cut_before_it_is_enlarged(shape, monkeypatch):
    scaled = []

    def noted(images, size, **settings):
        scaled.append(size)
        return F.interpolate(images, size, **settings)

    monkeypatch.setattr("xnas.data.sizes.F", type("F", (), {"interpolate": staticmethod(noted)}))
    image = torch.zeros(1, 1, *shape, dtype=torch.uint8)
    image[..., shape[0] // 2 - 4 : shape[0] // 2 + 4, shape[1] // 2 - 4 : shape[1] // 2 + 4] = 200
    cropped = fit(image, (64, 64))
    assert cropped.shape == (1, 1, 64, 64)
    assert cropped[..., 8:-8, 8:-8].unique().tolist() == [200]  # its middle
    assert max(scaled[0]) == 8 * 64
