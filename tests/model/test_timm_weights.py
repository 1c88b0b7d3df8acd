"""Weights of other programs' files: read without running anything, and compared with the model."""

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from xnas import ConfigError
from xnas.model.timm_weights import load_body, read_weights, without_classifier


class Body(nn.Module):
    """As a model of timm, with the name of its last layer."""

    def __init__(self, classes=3, classifier="fc"):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 2, 1), nn.Linear(2, classes)
        self.pretrained_cfg = {"classifier": classifier}


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("wrap", [dict, lambda d: {"state_dict": d, "epoch": 3}, lambda d: {"model": d}])
@pytest.mark.parametrize("prefix", ["", "module."])
def test_a_state_dict_of_torch_is_read_with_what_programs_put_around_it(wrap, prefix, tmp_path):
    state = Body().state_dict()
    torch.save(wrap({f"{prefix}{name}": tensor for name, tensor in state.items()}), tmp_path / "w.pth")
    assert same(read_weights(tmp_path / "w.pth"), state)


def test_safetensors_are_read(tmp_path):
    state = Body().state_dict()
    save_file(state, tmp_path / "w.safetensors")
    assert same(read_weights(tmp_path / "w.safetensors"), state)


class Hostile:
    """Would run a command when it is unpickled."""

    def __reduce__(self):
        return (print, ("it ran",))


def test_no_code_of_a_file_is_run(tmp_path, capsys):
    torch.save({"a": Hostile()}, tmp_path / "w.pth")
    with pytest.raises(ConfigError, match=r"w.pth cannot be read as weights \(.*; give a state dict"):
        read_weights(tmp_path / "w.pth")
    assert "it ran" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["w.pth", "w.safetensors"])
def test_a_damaged_or_missing_file_is_refused(name, tmp_path):
    with pytest.raises(ConfigError, match=f"there is no file .*{name}"):
        read_weights(tmp_path / name)
    (tmp_path / name).write_bytes(b"not weights at all")
    with pytest.raises(ConfigError, match=f"{name} cannot be read as weights"):
        read_weights(tmp_path / name)


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}])
def test_a_file_without_tensors_is_refused(value, tmp_path):
    torch.save(value, tmp_path / "w.pth")
    with pytest.raises(ConfigError, match=r"w.pth holds no state dict"):
        read_weights(tmp_path / "w.pth")


def test_the_last_layer_stays_as_it_is_whatever_its_classes():
    source, target = Body(classes=7), Body()
    before = target.fc.weight.clone()
    load_body(target, source.state_dict())
    assert torch.equal(target.conv.weight, source.conv.weight)
    assert torch.equal(target.fc.weight, before)
    kept = without_classifier(target, target.state_dict())
    assert kept.keys() == {"conv.weight", "conv.bias"}
    load_body(target, kept)


def test_a_model_may_have_two_last_layers_or_none():
    assert without_classifier(Body(classifier=("fc", "conv")), Body().state_dict()) == {}
    assert len(without_classifier(Body(classifier=None), Body().state_dict())) == 4


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"conv.weight": None}, "conv.weight is missing"),
        ({"conv.bias": torch.zeros(5)}, r"conv.bias is \(5,\) instead of \(2,\)"),
        ({"extra": torch.zeros(1)}, "there is no place for 'extra'"),
    ],
)
def test_weights_of_another_model_are_refused_with_the_first_misfit(change, fault):
    weights = {**Body().state_dict(), **change}
    weights = {name: tensor for name, tensor in weights.items() if tensor is not None}
    with pytest.raises(ConfigError, match=f"the weights of w.pth do not fit the model: {fault}"):
        load_body(Body(), weights, where="w.pth")
