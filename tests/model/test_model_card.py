"""The card of a trained network: what it holds, and files that cannot be used."""

import json
import shutil
from dataclasses import replace

import pytest
import torch
from trained import edited

import xnas
from xnas import ConfigError, create_model
from xnas.data import standardize
from xnas.errors import DamagedFileError
from xnas.model.model import load_model, save_model
from xnas.model.model_card import model_card, read_card
from xnas.space import NetworkSpec, build_network


@pytest.mark.parametrize(
    "arguments",
    [
        {"cells": 3, "channels": 2, "in_chans": 1, "num_classes": 3},
        {"cells": 5, "channels": 4, "squeeze_excitation": True},
        {"network": "imagenet", "cells": 3, "channels": 2, "stem_channels": 6, "num_classes": 2},
        {"cells": 3, "channels": 2, "stem_channels": 7, "auxiliary": True, "drop_path_rate": 0.2},
    ],
)
def test_the_description_of_a_network_builds_it_again(arguments):
    model = create_model("xnas", **arguments)
    assert {name: getattr(model.spec, name) for name in arguments} == arguments
    plain = NetworkSpec.from_json(json.loads(json.dumps(model.spec.to_json())))
    assert plain == model.spec.for_inference
    again = build_network(model.genotype, plain).state_dict()
    own = {k: v for k, v in model.state_dict().items() if not k.startswith("auxiliary_tower")}
    assert {k: v.shape for k, v in again.items()} == {k: v.shape for k, v in own.items()}


def test_a_card_may_cut_out_the_middle(run, tmp_path, digits):
    larger = replace(digits, images=digits.images.repeat(1, 1, 2, 2), test_images=None, test_labels=None)
    model, _ = load_model(run)
    card = model_card(model, larger, recipe="quick", seed=0, centre=(12, 10))
    save_model(tmp_path, model, card)
    loaded = xnas.load(tmp_path, "cpu")
    assert (loaded.card.size, loaded.card.centre, loaded.card.input_size) == (
        (16, 16),
        (12, 10),
        (12, 10),
    )
    middle = standardize(larger.images[:3, :, 2:14, 3:13], larger.mean, larger.std)
    with torch.no_grad():
        assert torch.equal(loaded.logits(larger.images[:3]), model(middle))
    assert model_card(model, larger, recipe="quick", seed=0, centre=(16, 16)).centre is None
    edited(tmp_path, centre=None)  # as cards were before
    assert read_card(tmp_path)[0].centre is None
    edited(tmp_path, centre=[17, 3])
    with pytest.raises(
        ConfigError, match=r"centre of \(17, 3\) cannot be cut out of images of \(16, 16\)"
    ):
        read_card(tmp_path)
    edited(tmp_path, centre=[1, 2, 3])
    with pytest.raises(ConfigError, match="is damaged"):
        read_card(tmp_path)


def test_a_newer_file_with_more_fields_is_read_and_they_are_named(copied):
    edited(copied, licence="none", author="somebody")
    assert read_card(copied)[0].unknown_fields == ("author", "licence")
    assert xnas.load(copied, "cpu").card.unknown_fields == ("author", "licence")


def _newer_network(folder):
    card = json.loads((folder / "model.json").read_text(encoding="utf8"))
    edited(folder, network=card["network"] | {"activation": "gelu"})


def _cut(folder, name, share):
    path = folder / name
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])


def _flip_a_bit(folder):
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: edited(f, version=4), r"model\.json has version 4, .* install a newer xnas"),
        (lambda f: edited(f, version="1"), r"has version '1'"),
        (lambda f: edited(f, format="other"), r"is not a trained model: its format is 'other'"),
        (_newer_network, "its network has the setting 'activation', which this xnas does not know"),
        (
            lambda f: edited(f, classes=None),
            r"model\.json is damaged: the entry 'classes' is missing; get",
        ),
        (lambda f: edited(f, seed=None), r"model\.json is damaged: the entry 'seed' is missing"),
        (lambda f: edited(f, classes=["a"]), "has 1 entries, its network needs 10; get it again, or"),
        (lambda f: edited(f, classes=["a"] * 10), "a model has two classes called 'a'; give each"),
        (lambda f: edited(f, std=[0.0]), "std of a model must be positive"),
        (lambda f: edited(f, mean="abc"), r"model\.json is damaged"),
        (lambda f: edited(f, size=8), r"model\.json is damaged"),
        (lambda f: edited(f, size=[8, 0]), r"a size is \[8, 0\]; .*; get it again, or train again"),
        (lambda f: edited(f, resize="fold"), "no rule for resizing called 'fold'"),
        (lambda f: edited(f, genotype={}), "this is not a genotype"),
        (lambda f: edited(f, network={"cells": 3}), "the network of a model needs network, num_classes"),
        (lambda f: _cut(f, "model.json", 0.5), r"model\.json is damaged: it is not JSON"),
        (lambda f: (f / "model.json").write_text("[]"), r"model\.json is damaged: it holds \[\]"),
        (lambda f: (f / "model.json").unlink(), r"no trained model in .*model\.json is not there"),
        (shutil.rmtree, "no trained model in .*: no such folder; give the run folder of a training"),
        (lambda f: (f / "model.safetensors").unlink(), "cannot read the weights .*No such file"),
        (_flip_a_bit, r"model\.safetensors is damaged, or not the file that model\.json"),
        (lambda f: (_cut(f, "model.safetensors", 0.9), edited(f, weights_digest=None)), "is damaged"),
        (lambda f: (_cut(f, "model.safetensors", 0), edited(f, weights_digest=None)), "is damaged"),
    ],
)
def test_files_that_cannot_be_used_are_named(copied, spoil, words):
    spoil(copied)
    with pytest.raises(ConfigError, match=words) as caught:
        load_model(copied)
    assert isinstance(caught.value, DamagedFileError) is ("is damaged" in str(caught.value))
