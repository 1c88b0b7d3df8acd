"""Images of every kind become the bytes that a network was trained on."""

import numpy as np
import pytest
import torch
from PIL import Image
from trained import saved_run

import xnas
from xnas.data import ImageData, decode_image, standardize
from xnas.errors import ConfigError, DatasetError
from xnas.model.image_inputs import ImageReader


def test_an_image_gets_one_answer_whatever_it_comes_as(classifier, pictures):
    paths, images = pictures
    array = images[:, 0].numpy()
    expected = classifier.model(standardize(images, classifier.card.mean, classifier.card.std))
    ways = {
        "paths": paths,
        "names": [str(path) for path in paths],
        "pillow": [Image.open(path) for path in paths],
        "colour": [Image.open(path).convert("RGB") for path in paths],
        "bytes": images,
        "floats": images / 255,
        "a list of tensors": list(images),
        "colour tensors": images.expand(-1, 3, -1, -1),
        "with transparency": torch.cat([images.expand(-1, 3, -1, -1), images], 1),
        "flat arrays": list(array),
        "arrays": array[..., None],
        "colour arrays": np.repeat(array[..., None], 3, axis=3),
        "arrays with channels first": images.numpy(),
        "float arrays": array[..., None] / 255,
        "a mixture": [paths[0], Image.open(paths[1]), images[2]],
        "a generator": (path for path in paths),
    }
    for way, given in ways.items():
        found = classifier.logits(given)
        torch.testing.assert_close(found, expected.detach(), rtol=1e-5, atol=1e-6, msg=way)


def test_large_images_are_brought_to_size_by_the_rule_of_the_data(classifier, tmp_path):
    large = torch.randint(256, (40, 60, 3), generator=torch.Generator().manual_seed(1))
    Image.fromarray(large.to(torch.uint8).numpy()).save(tmp_path / "large.png")
    read = decode_image(tmp_path / "large.png", channels=1, size=(8, 8), resize="crop")
    torch.testing.assert_close(classifier.logits(tmp_path / "large.png"), classifier.logits(read))
    torch.testing.assert_close(
        classifier.logits(Image.open(tmp_path / "large.png")), classifier.logits(read)
    )


def test_grey_images_suit_a_network_of_colour(tmp_path):
    colour = ImageData(
        name="colour",
        images=torch.randint(256, (8, 3, 8, 8)).to(torch.uint8),
        labels=torch.arange(8) % 2,
        classes=("a", "b"),
    )
    saved_run(tmp_path, colour, config=False)
    classifier = xnas.load(tmp_path, "cpu")
    grey = colour.images[:1, :1]
    torch.testing.assert_close(classifier.logits(grey), classifier.logits(grey.expand(-1, 3, -1, -1)))


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (torch.zeros(8, 8), r"a tensor of images is \(channels, .* got \(8, 8\)"),
        (torch.zeros(2, 8, 8), "an image has 2 channels and the network takes 1, as those of digits"),
        (torch.full((1, 8, 8), 200.0), r"must lie in 0\.\.1, got 200\.\.200; divide bytes by 255"),
        (torch.full((1, 8, 8), torch.nan), r"float images must lie in 0\.\.1"),
        (torch.zeros(1, 8, 8, dtype=torch.int64), "bytes .* or floats in 0..1, got torch.int64"),
        (np.zeros((8, 8, 8)), r"no dimension of an array of shape \(8, 8, 8\) is for channels"),
        (np.array(["a"]), "an array of images holds numbers"),
        (3, "an image is a path, a PIL image, a tensor or a numpy array, got a int"),
        ([b"raw"], "got a bytes"),
    ],
)
def test_what_is_no_image_is_named(classifier, images, words):
    with pytest.raises(ConfigError, match=words):
        classifier.predict(images)


def test_files_that_cannot_be_read_are_named(classifier, tmp_path, pictures):
    bad = tmp_path / "bad.png"
    bad.write_bytes(pictures[0][0].read_bytes()[:40])
    with pytest.raises(DatasetError, match=r"cannot read the image .*bad\.png"):
        classifier.predict([pictures[0][0], bad])
    with pytest.raises(DatasetError, match=r"cannot read the image .*none\.png .*No such file"):
        classifier.predict(tmp_path / "none.png")
    with pytest.raises(DatasetError, match="is a folder; give its image files"):
        classifier.predict(tmp_path)
    whole = Image.open(pictures[0][1])
    whole.fp.close()
    with pytest.raises(DatasetError, match=r"cannot read the image .*1\.png"):
        classifier.predict(whole)


@pytest.mark.parametrize("size", [(0, 5), (5, 0)])
@pytest.mark.parametrize("mode", ["RGB", "I"])
def test_an_image_without_pixels_is_refused(classifier, mode, size):
    with pytest.raises(
        DatasetError, match=rf"cannot read the image of mode {mode} \(it has no pixels\)"
    ):
        classifier.predict(Image.new(mode, size))


def test_the_middle_is_cut_out_last():
    reader = ImageReader(channels=1, size=(6, 6), resize="crop", example="digits", centre=(2, 4))
    image = torch.arange(36, dtype=torch.uint8).view(1, 6, 6)
    (found,) = reader(image)
    assert torch.equal(found, image[:, 2:4, 1:5])


def test_files_and_pictures_suit_only_networks_of_grey_or_colour(tmp_path):
    reader = ImageReader(channels=2, size=(4, 4), resize="crop", example="radar")
    with pytest.raises(ConfigError, match="grey or RGB and the network takes 2 channels; give tensors"):
        list(reader(tmp_path / "any.png"))
    with pytest.raises(ConfigError, match="a PIL image is grey or RGB and the network takes 2 channels"):
        list(reader(Image.new("RGB", (4, 4))))
