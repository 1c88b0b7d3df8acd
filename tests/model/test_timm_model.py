"""Models of timm as frozen data, as JSON, and built."""

import sys

import pytest
import torch
from safetensors.torch import save_file

from xnas import ConfigError, GenotypeError
from xnas.errors import VersionError
from xnas.model import TimmModel
from xnas.space import build_network, find_architecture, network_spec
from xnas.space.architecture import load_architecture

MODEL = TimmModel("resnet10t.c3_in1k", side=48, square=True, scale=(1.5, 1, 2), shift=(0.0, -0.5, 1))


def test_a_file_is_read_again(tmp_path):
    path = tmp_path / "timm.json"
    MODEL.save(path)
    assert TimmModel.load(path) == load_architecture(path) == find_architecture(tmp_path) == MODEL
    assert MODEL.origin == "timm's resnet10t.c3_in1k"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"model": "hf-hub:someone/else"}, "no model of timm is called 'hf-hub:someone/else'"),
        ({"model": "../x"}, "no model of timm is called"),
        ({"model": 3}, "no model of timm is called 3"),
        ({"side": 4}, "the side of images for resnet18 is 4; give 8 to 1024 pixels"),
        ({"side": 64.0}, "the side of images"),
        ({"square": 1}, "square of resnet18 is 1"),
        ({"scale": (1.0,)}, "scale of a model of timm is"),
        ({"shift": (0.0, float("nan"), 0.0)}, "shift of a model of timm is"),
        ({"weights": 7}, "weights of resnet18 are 7"),
    ],
)
def test_values_that_are_none_are_refused(change, fault):
    with pytest.raises(GenotypeError, match=fault):
        TimmModel(**{"model": "resnet18", "side": 64} | change)


def test_a_damaged_file_or_one_of_another_version_is_refused(tmp_path):
    path = tmp_path / "timm.json"
    MODEL.save(path)
    text = path.read_text(encoding="utf8")
    path.write_text(text.replace('"version": 1', '"version": 2'), encoding="utf8")
    with pytest.raises(VersionError, match=r"timm.json: the version of the timm is 2"):
        TimmModel.load(path)
    path.write_text(text.replace('"side": 48,', ""), encoding="utf8")
    with pytest.raises(GenotypeError, match="side"):
        TimmModel.load(path)


def test_without_timm_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ConfigError, match=r"timm's resnet18 needs timm: pip install 'xnas\[timm\]'"):
        TimmModel("resnet18", side=64).create(5)


def test_a_model_that_timm_does_not_have_is_refused():
    pytest.importorskip("timm")
    with pytest.raises(ConfigError, match="has no model called 'resnet_of_my_own'"):
        TimmModel("resnet_of_my_own", side=64).create(5)


def test_it_starts_from_the_weights_of_its_file_with_a_classifier_of_its_own(tmp_path):
    timm = pytest.importorskip("timm")
    source = timm.create_model("resnet10t", pretrained=False)  # of 1000 classes
    save_file(source.state_dict(), tmp_path / "weights.safetensors")
    model = TimmModel("resnet10t", side=32, weights=str(tmp_path / "weights.safetensors"))
    spec = network_spec(model, "timm").but(num_classes=4)
    built = build_network(model, spec)
    assert torch.equal(built.body.state_dict()["conv1.0.weight"], source.state_dict()["conv1.0.weight"])
    assert built.body.fc.out_features == 4
    assert built.architecture.weights is None  # a trained network needs the file no more
    with torch.device("meta"):
        assert next(build_network(model, spec).parameters()).is_meta
    (tmp_path / "weights.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"there is no file .*weights.safetensors"):
        build_network(model, spec)
