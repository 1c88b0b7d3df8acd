"""`evaluate_model`: which images are evaluated, and whose classes they have."""

from dataclasses import replace

import pytest
import torch
from trained import network

from xnas.errors import ConfigError, DatasetError
from xnas.model.evaluation import chosen_images, evaluate_model, notes_on
from xnas.model.model_card import model_card


@pytest.fixture(scope="module")
def model(digits):
    """A network and its card."""
    built = network(digits)
    return built, model_card(built, digits, recipe="quick", seed=3)


def test_images_of_another_shape_are_brought_to_the_networks(model, digits):
    colour = replace(
        digits,
        images=digits.images.expand(-1, 3, -1, -1),
        test_images=digits.test_images.expand(-1, 3, -1, -1),
        mean=(),
        std=(),
    )
    assert evaluate_model(*model, colour).confusion == evaluate_model(*model, digits).confusion


def _renamed(data, **names):
    return replace(data, classes=tuple(names.get(f"c{name}", name) for name in data.classes))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: _renamed(d, c3="three"), "digits lacks '3', and the run does not know 'three'"),
        (lambda d: replace(d, classes=(*d.classes, "x"), images=torch.cat([d.images, d.images[:1]]),
                           labels=torch.cat([d.labels, torch.tensor([10])])),
         "are not those of the run: the run does not know 'x'; name"),
        (lambda d: _renamed(d, **{f"c{k}": f"n{k}" for k in range(10)}), "'4' and 5 more"),
    ],
)  # fmt: skip
def test_classes_that_differ_are_named(model, digits, change, words):
    with pytest.raises(ConfigError, match=words):
        evaluate_model(*model, change(digits))


def test_the_test_images_are_chosen_or_all(digits):
    assert chosen_images(digits, every_image=False) == (digits.test_images, digits.test_labels)
    images, labels = chosen_images(digits, every_image=True)
    assert len(images) == len(labels) == len(digits.labels) + len(digits.test_labels)
    untested = replace(digits, test_images=None, test_labels=None)
    assert chosen_images(untested, every_image=True) == (digits.images, digits.labels)
    with pytest.raises(DatasetError, match="digits has no test images; add a folder test next to train"):
        chosen_images(untested, every_image=False)


def test_that_images_were_held_out_is_no_note_where_all_are_evaluated(digits):
    assert notes_on(digits, every_image=False) == [digits.note]
    assert notes_on(digits, every_image=True) == ["scikit-learn's digits"]
    assert notes_on(replace(digits, note=""), every_image=True) == []
