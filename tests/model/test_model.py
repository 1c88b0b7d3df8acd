"""A trained network as files: saved from anywhere, loaded anywhere, and used as a classifier."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn
from trained import edited, network, saved_run

import xnas
from xnas import ConfigError, DatasetError, Genotype, ImageData, create_model
from xnas.data import decode_image, load_data, standardize
from xnas.model.model import load_model, save_model
from xnas.model.model_card import model_card

SAMPLE = Path(__file__).parents[1] / "samples" / "model-v1"


@pytest.fixture(scope="module")
def digits():
    return load_data("digits")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    saved_run(folder)
    return folder


@pytest.fixture
def copied(run, tmp_path):
    return Path(shutil.copytree(run, tmp_path / "copy"))


def test_what_was_saved_answers_the_same(run, digits):
    model = network(digits)
    loaded, card = load_model(run)
    images = standardize(digits.images[:5], card.mean, card.std)
    assert not loaded.training
    torch.testing.assert_close(loaded(images), model(images), rtol=0, atol=0)
    assert (card.classes, card.size, card.trained_on) == (digits.classes, (8, 8), "digits")
    assert (card.recipe, card.seed, card.unknown_fields) == ("quick", 3, ())


class Compiled(nn.Module):
    """What `torch.compile` makes of a module, as far as its names go."""

    def __init__(self, module):
        super().__init__()
        self._orig_mod = module


def test_a_network_in_training_dress_is_saved_as_plain_weights(tmp_path, digits):
    model = network(digits, auxiliary=False)
    dressed = create_model("xnas", cells=3, channels=2, in_chans=1, auxiliary=True, drop_path_rate=0.2)
    dressed.load_state_dict(model.state_dict(), strict=False)
    dressed = dressed.to(memory_format=torch.channels_last).bfloat16().train()
    dressed.cells[0] = Compiled(dressed.cells[0])
    save_model(tmp_path, dressed, model_card(dressed, digits, recipe="quick", seed=0))
    assert dressed.training
    assert next(dressed.parameters()).dtype is torch.bfloat16
    loaded, _ = load_model(tmp_path)
    for name, tensor in loaded.state_dict().items():
        assert tensor.is_contiguous()
        wanted = model.state_dict()[name]
        torch.testing.assert_close(tensor, wanted.to(torch.bfloat16).to(tensor.dtype), rtol=0, atol=0)


def test_a_file_of_the_first_version_is_read_forever():
    loaded, card = load_model(SAMPLE)
    assert card.classes == ("cat", "dog")
    assert card.figures == {"test accuracy": 0.5}
    image = torch.linspace(-1, 1, 64).view(1, 1, 8, 8)
    known = json.loads((SAMPLE / "answer.json").read_text(encoding="utf8"))
    torch.testing.assert_close(loaded(image)[0], torch.tensor(known), rtol=1e-4, atol=1e-5)


def test_weights_of_another_network_are_refused(copied, tmp_path, digits):
    other = network(digits, channels=4)
    save_model(tmp_path / "other", other, model_card(other, digits, recipe="quick", seed=0))
    shutil.copy(tmp_path / "other" / "model.safetensors", copied)
    edited(copied, weights_digest=None)
    with pytest.raises(ConfigError, match=r"does not fit model\.json: .* is \(4, .* instead of \(2,"):
        load_model(copied)


def test_a_card_of_another_network_is_refused_and_nothing_is_written(tmp_path, digits):
    model = network(digits)
    wrong = replace(
        model_card(model, digits, recipe="quick", seed=0), genotype=Genotype.random("darts", seed=1)
    )
    with pytest.raises(ConfigError, match="the card does not describe the network"):
        save_model(tmp_path, model, wrong)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path, digits):
    (tmp_path / "file").touch()
    model = network(digits)
    with pytest.raises(FileExistsError, match=r"File exists: .*file"):
        save_model(tmp_path / "file", model, model_card(model, digits, recipe="quick", seed=0))


@pytest.fixture(scope="module")
def classifier(run):
    return xnas.load(run, device="cpu")


@pytest.fixture
def pictures(tmp_path, digits):
    """Some digits as files, and as bytes (n, 1, 8, 8)."""
    images = digits.test_images[:3]
    for index, image in enumerate(images):
        Image.fromarray(image[0].numpy()).save(tmp_path / f"{index}.png")
    return [tmp_path / f"{index}.png" for index in range(3)], images


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


def test_an_answer_has_a_label_a_probability_and_runners_up(classifier, pictures):
    paths, images = pictures
    shares = classifier.logits(images).softmax(-1)
    answers = classifier.predict(paths, top=3)
    assert len(answers) == 3
    for answer, share in zip(answers, shares, strict=True):
        order = share.argsort(descending=True)[:3].tolist()
        assert [name for name, _ in answer.ranking] == [classifier.classes[k] for k in order]
        assert (answer.label, answer.probability) == answer.ranking[0]
        assert answer.probability == pytest.approx(float(share.max()), rel=1e-5)
    (alone,) = classifier.predict(paths[0])
    assert alone.label == answers[0].label
    assert alone.probability == pytest.approx(answers[0].probability, rel=1e-5)  # another batch size
    assert len(alone.ranking) == 1
    assert len(classifier.predict(paths[0], top=99)[0].ranking) == 10
    assert sum(p for _, p in classifier.predict(paths[0], top=99)[0].ranking) == pytest.approx(1)


def test_large_images_are_brought_to_size_by_the_rule_of_the_data(classifier, tmp_path):
    large = torch.randint(256, (40, 60, 3), generator=torch.Generator().manual_seed(1))
    Image.fromarray(large.to(torch.uint8).numpy()).save(tmp_path / "large.png")
    read = decode_image(tmp_path / "large.png", channels=1, size=(8, 8), resize="crop")
    torch.testing.assert_close(classifier.logits(tmp_path / "large.png"), classifier.logits(read))
    torch.testing.assert_close(
        classifier.logits(Image.open(tmp_path / "large.png")), classifier.logits(read)
    )


def test_many_images_are_read_batch_by_batch(classifier, monkeypatch):
    monkeypatch.setattr("xnas.model.classifier.BATCH", 4)
    largest = []
    hook = classifier.model.register_forward_pre_hook(lambda _, given: largest.append(len(given[0])))
    made = []

    def images():
        for index in range(10):
            made.append(index)
            yield torch.full((1, 8, 8), index, dtype=torch.uint8)

    steps = classifier._answers(images())
    next(steps)
    assert len(made) == 4  # the others are not even made yet
    list(steps)
    hook.remove()
    assert largest == [4, 4, 2]
    assert classifier.predict([]) == []


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


@pytest.mark.parametrize("given", [None, 3, ""])
def test_what_is_no_path_is_no_run(given):
    with pytest.raises(ConfigError, match=f"a run is the path of its folder, got {given!r}; give"):
        xnas.load(given)


def test_top_and_device_have_to_be_possible(classifier, run):
    image = torch.zeros(1, 8, 8, dtype=torch.uint8)
    with pytest.raises(ConfigError, match=r"top must be a whole number, got 1\.5"):
        classifier.predict(image, top=1.5)
    with pytest.raises(ConfigError, match="top must be at least 1, got 0"):
        classifier.predict([], top=0)
    with pytest.raises(ConfigError, match="no such device: 'gpu'"):
        xnas.load(run, device="gpu")
