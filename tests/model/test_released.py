"""The authors' weights, evaluated as they prepare images."""

from dataclasses import replace

import pytest
import torch
from images_made import coloured
from trained import network

from xnas import ConfigError
from xnas.data import load_data, standardize
from xnas.data.cifar import MEAN, STD
from xnas.model.released import RELEASED
from xnas.runs.evaluate import evaluate_run
from xnas.runs.model_options import EvaluateConfig
from xnas.space.authors_weights import to_authors_layout

CPU = EvaluateConfig(device="cpu")


def released(tmp_path, data, **arguments):
    model = network(data, **arguments)
    torch.save(to_authors_layout(model), tmp_path / "released.pt")
    return model, tmp_path / "released.pt"


def test_the_authors_weights_are_tested_with_their_normalisation(tmp_path):
    data = coloured()
    model, path = released(tmp_path, data)
    done = evaluate_run(path, data, replace(CPU, cell="xnas", channels=2, cells=3))
    with torch.no_grad():
        logits = model(standardize(data.test_images, MEAN, STD))
    assert done.evaluation.loss == pytest.approx(
        float(torch.nn.functional.cross_entropy(logits, data.test_labels)), rel=1e-5
    )
    assert done.notes[0] == "standardised with the authors' mean and deviation of cifar10"
    assert done.files == ()  # there is no run folder
    assert list(tmp_path.iterdir()) == [path]


def test_weights_for_imagenet_see_the_middle_of_larger_images(tmp_path):
    data = coloured(count=4, side=256)
    model, path = released(tmp_path, data, network="imagenet")
    config = replace(CPU, cell="xnas", network="imagenet", channels=2, cells=3)
    kind = RELEASED["imagenet"]
    middle = data.test_images[..., 16:240, 16:240]  # 224 of 256
    with torch.no_grad():
        logits = model(standardize(middle, kind.mean, kind.std))
    assert kind.mean == (0.485, 0.456, 0.406)
    assert evaluate_run(path, data, config).evaluation.loss == pytest.approx(
        float(torch.nn.functional.cross_entropy(logits, data.test_labels)), rel=1e-4
    )


def test_grey_images_have_a_mean_of_their_own(tmp_path):
    digits = load_data("digits")
    model, path = released(tmp_path, digits)
    done = evaluate_run(path, "digits", replace(CPU, cell="xnas", channels=2, cells=3))
    assert done.notes[0] == "standardised with mean and deviation of digits itself"
    with torch.no_grad():
        answers = model(standardize(digits.test_images, digits.mean, digits.std)).argmax(-1)
    assert done.evaluation.top1 == float((answers == digits.test_labels).double().mean())


def test_a_file_needs_a_cell_and_the_right_sizes(tmp_path):
    _, path = released(tmp_path, coloured())
    with pytest.raises(ConfigError, match=r"released\.pt is a file; .* with --cell xnas"):
        evaluate_run(path, coloured(), CPU)
    with pytest.raises(ConfigError, match="build it with channels=2"):
        evaluate_run(path, coloured(), replace(CPU, cell="xnas", channels=4, cells=3))
    with pytest.raises(ConfigError, match="no cell"):
        evaluate_run(path, coloured(), replace(CPU, cell="nonesuch"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"channels": 3}, "--channels can be said of a file of weights, but .* is a folder; give the"),
        ({"cell": "xnas", "cells": 3}, "--cell and --cells can be said of a file of weights"),
        ({"network": "imagenet"}, "--network can be said"),
    ],
)
def test_a_run_does_not_take_what_its_network_is(tmp_path, arguments, words):
    with pytest.raises(ConfigError, match=words):
        evaluate_run(tmp_path, None, replace(CPU, **arguments))
