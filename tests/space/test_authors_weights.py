"""Checkpoints of the authors' layout, made by an oracle that shares nothing with the package."""

import os
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
import torch
from oracles.authors_network import NORMAL, Plan, logits, make_state

from xnas.errors import ConfigError
from xnas.space import CellGenotype, Edge, Genotype, create_model, zoo_cell
from xnas.space.authors_weights import load_authors_weights, to_authors_layout

CIFAR = Plan()
IMAGENET = Plan(imagenet=True, excitation=True, stem=8)
LACKS = r"lacks 36 tensors .* cells.0._ops.7.op.1"  # 3 normal cells, 2 x (2 convolutions, 4 of a norm)
ROUNDING = 1e-4  # float32 sums in another order, relative, after five cells


def network(plan=CIFAR, cell="xnas", **settings):
    sizes = {
        "network": "imagenet" if plan.imagenet else "cifar",
        "num_classes": plan.classes,
        "channels": plan.channels,
        "cells": plan.layers,
        "stem_channels": plan.stem,
        "squeeze_excitation": plan.excitation,
    }
    return create_model(cell, **{**sizes, **settings}).eval()


def genotype(normal):
    """The paper's cells with another normal cell."""
    edges = [Edge(*edge) for edge in normal]
    nodes = tuple(zip(edges[::2], edges[1::2], strict=True))
    return Genotype("darts", CellGenotype(nodes, (2, 3, 4, 5)), zoo_cell("xnas").genotype.reduction)


@pytest.fixture
def saved(tmp_path):
    """Write a value to a file as torch does."""

    def save(value):
        torch.save(value, tmp_path / "weights.pt")
        return tmp_path / "weights.pt"

    return save


def same_state(model, before):
    return all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize(
    ("plan", "size"),
    [
        (CIFAR, 32),
        (replace(CIFAR, excitation=True), 32),
        (IMAGENET, 64),
        (replace(IMAGENET, excitation=False, layers=6), 64),
    ],
)
def test_a_loaded_network_says_what_the_authors_network_says(saved, plan, size):
    state = make_state(plan)
    model = load_authors_weights(saved(state), network(plan))
    images = torch.randn(3, 3, size, size)
    expected = logits(plan, state, images)
    assert expected.std() > 0.1
    torch.testing.assert_close(model(images), expected, rtol=ROUNDING, atol=ROUNDING)


def test_operations_that_the_paper_leaves_out_are_loaded_too(saved):
    normal = (("sep_conv_7x7", 1), ("max_pool_3x3", 0), ("sep_conv_5x5", 0), *NORMAL[3:])
    plan = replace(CIFAR, normal=normal)
    state = make_state(plan)
    model = load_authors_weights(saved(state), network(plan, genotype(normal)))
    images = torch.randn(2, 3, 32, 32)
    torch.testing.assert_close(model(images), logits(plan, state, images), rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("plan", [CIFAR, replace(CIFAR, excitation=True), IMAGENET])
def test_the_layout_has_exactly_the_names_and_shapes_of_the_authors(plan):
    shapes = {name: tensor.shape for name, tensor in to_authors_layout(network(plan)).items()}
    assert shapes == {name: tensor.shape for name, tensor in make_state(plan).items()}


def test_what_was_written_in_the_layout_is_read_again(saved):
    model, other = network(), network()
    assert not same_state(model, other.state_dict())
    load_authors_weights(saved(to_authors_layout(other)), model)
    assert same_state(model, other.state_dict())


@pytest.mark.parametrize(
    "wrap",
    [
        lambda state: {"model": state, "epoch": 3},
        lambda state: {"state_dict": state, "best_acc_top1": 76.1, "optimizer": {"lr": [0.1]}},
        lambda state: {f"module.{name}": tensor for name, tensor in state.items()},
        lambda state: {**state, "auxiliary_head.classifier.weight": torch.zeros(10, 768)},
        lambda state: {n: t for n, t in state.items() if not n.endswith("num_batches_tracked")},
        lambda state: {n: t.half() if t.is_floating_point() else t for n, t in state.items()},
    ],
    ids=["model", "state_dict", "devices", "auxiliary", "old torch", "half"],
)
def test_a_file_may_wrap_its_weights(saved, wrap):
    state = make_state(CIFAR)
    model = load_authors_weights(saved(wrap(state)), network())
    for name, tensor in to_authors_layout(model).items():
        if not name.endswith("num_batches_tracked"):
            torch.testing.assert_close(tensor, state[name], rtol=1e-3, atol=1e-3)  # half precision


def test_a_file_of_the_old_format_of_torch_is_read(tmp_path):
    state = make_state(CIFAR)
    torch.save(state, tmp_path / "weights.t7", _use_new_zipfile_serialization=False)
    model = load_authors_weights(str(tmp_path / "weights.t7"), network())
    assert torch.equal(model.classifier.weight, state["classifier.weight"])


def test_an_auxiliary_tower_keeps_its_weights(saved):
    model = network(auxiliary=True)
    before = {name: tensor.clone() for name, tensor in model.auxiliary_tower.state_dict().items()}
    load_authors_weights(saved(make_state(CIFAR)), model)
    assert same_state(model.auxiliary_tower, before)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (
            replace(CIFAR, classes=100),
            "num_classes=100, the given one has num_classes=10; build it with num",
        ),
        (
            replace(CIFAR, channels=8),
            "channels=8, the given one has channels=4; build it with channels=8",
        ),
        (replace(CIFAR, layers=8), "build it with cells=8"),
        (replace(CIFAR, stem=10), "build it with stem_channels=10"),
        (replace(CIFAR, excitation=True), "build it with squeeze_excitation=True"),
        (IMAGENET, "build it with network='imagenet'"),
        (
            replace(CIFAR, normal=(*NORMAL[:7], ("skip_connect", 0))),
            LACKS,
        ),
        (
            replace(CIFAR, normal=(NORMAL[0], ("sep_conv_3x3", 0), *NORMAL[2:])),
            "no place for, first 'cells.0",
        ),
        (
            replace(CIFAR, normal=(("sep_conv_5x5", 1), *NORMAL[1:])),
            r"cells.0._ops.0.op.1.weight is \(4, 1",
        ),
    ],
)
def test_weights_of_another_network_are_refused_and_change_nothing(saved, plan, words):
    model = network()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(ConfigError, match=words):
        load_authors_weights(saved(make_state(plan)), model)
    assert same_state(model, before)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (torch.zeros(3), "not the weights of a network"),
        ({}, "not the weights of a network"),
        ({"model": {}}, "not the weights of a network"),
        ({"epoch": 3}, "has 3 under 'epoch'; a state dict has tensors under names"),
        ({3: torch.zeros(1)}, "under 3; a state dict has tensors"),
        ({"weight": torch.zeros(1)}, "lacks .* first stem.0.weight"),
        ({"classifier.bias": torch.tensor(1.0)}, "lacks .* first stem.0.weight"),
    ],
)
def test_what_is_not_a_state_dict_is_refused(saved, value, words):
    with pytest.raises(ConfigError, match=words):
        load_authors_weights(saved(value), network())


@pytest.mark.parametrize(
    "change", [torch.Tensor.long, torch.Tensor.to_sparse, lambda t: t.to(torch.complex64)]
)
def test_tensors_that_are_no_weights_are_refused_and_change_nothing(saved, change):
    model, state = network(), make_state(CIFAR)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state["classifier.weight"] = change(state["classifier.weight"])
    with pytest.raises(ConfigError, match=r"classifier.weight in .* weights are dense torch.float32"):
        load_authors_weights(saved(state), model)
    assert same_state(model, before)


class Intruder:
    """Unpickled without care, this would make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("new_format", [True, False])
def test_a_file_that_asks_for_code_to_be_run_is_refused(tmp_path, new_format):
    state = {**make_state(CIFAR), "extra": Intruder(tmp_path / "trace")}
    path = tmp_path / "weights.pt"
    torch.save(state, path, _use_new_zipfile_serialization=new_format)
    with pytest.raises(
        ConfigError, match=r"weights.pt asks to run code of its own \(posix.mkdir\)"
    ) as e:
        load_authors_weights(path, network())
    assert "\n" not in str(e.value)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("new_format", [True, False])
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99])
def test_a_truncated_file_is_refused(tmp_path, share, new_format):
    path = tmp_path / "weights.pt"
    torch.save(make_state(CIFAR), path, _use_new_zipfile_serialization=new_format)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ConfigError, match="not a checkpoint, or not a whole one"):
        load_authors_weights(path, network())


def test_files_that_are_no_checkpoints_are_refused(tmp_path):
    (tmp_path / "text.pt").write_text("weights", encoding="utf8")
    with ZipFile(tmp_path / "script.pt", "w") as archive:  # as TorchScript writes them
        for name in ("constants.pkl", "data.pkl", "version"):
            archive.writestr(f"script/{name}", b"3")
    for name in ("text.pt", "script.pt"):
        with pytest.raises(ConfigError, match="not a checkpoint, or not a whole one"):
            load_authors_weights(tmp_path / name, network())
    for path in (tmp_path, tmp_path / "none.pt", Path(os.devnull) / "x"):
        with pytest.raises(ConfigError, match="cannot read the weights"):
            load_authors_weights(path, network())


def test_an_operation_that_the_authors_do_not_have_is_named():
    normal = (("conv_7x1_1x7", 1), *NORMAL[1:])
    with pytest.raises(
        ConfigError, match="the normal cell has the operation 'conv_7x1_1x7', whose layout"
    ):
        to_authors_layout(network(cell=genotype(normal)))


def test_a_cell_that_joins_its_inputs_cannot_have_their_weights():
    reduction = replace(zoo_cell("xnas").genotype.reduction, concat=(0, 3, 4, 5))
    joined = replace(zoo_cell("xnas").genotype, reduction=reduction)
    with pytest.raises(ConfigError, match="the reduction cell joins its inputs 0"):
        to_authors_layout(network(cell=joined))


def test_a_best_accuracy_next_to_the_weights_is_no_code(saved):
    state = make_state(CIFAR)
    path = saved({"state_dict": state, "best_acc1": np.float64(97.5), "epoch": np.int64(3)})
    load_authors_weights(path, network())


def test_tensors_of_another_shape_are_named(saved):
    state = make_state(CIFAR)
    path = saved(state | {"stem.0.weight": torch.ones(12)})
    with pytest.raises(ConfigError, match=r"stem.0.weight is \(12,\) in "):
        load_authors_weights(path, network())
    with pytest.raises(
        ConfigError, match="with in_chans=3, the given one has in_chans=1; build it with"
    ):
        load_authors_weights(saved(state), network(in_chans=1))
    with pytest.raises(ConfigError, match="fit networks of create_model, not Linear"):
        load_authors_weights(saved(state), torch.nn.Linear(2, 2))
