"""What a checkpoint of a training keeps, and what it takes back."""

import copy
from dataclasses import replace

import pytest
import torch
from training import pictures, tiny

from xnas.engine.train_state import better, restore_training, train_state
from xnas.errors import ConfigError, VersionError
from xnas.records import EpochCost, TrainEpoch
from xnas.runs.prepare_training import prepare_training
from xnas.space import find_genotype

COST = EpochCost(seconds=1.0, seconds_per_round=1.0, memory_bytes=0)
EPOCH = TrainEpoch(
    epoch=1,
    steps=1,
    learning_rate=0.1,
    drop_path_rate=0.0,
    train_loss=1.0,
    train_accuracy=0.5,
    valid_loss=1.0,
    valid_accuracy=0.5,
    cost=COST,
)


def training():
    config = tiny(validation=0.25)
    return prepare_training(config, pictures(), find_genotype(config.cell)).training


def epochs(*accuracies):
    return [replace(EPOCH, valid_accuracy=accuracy) for accuracy in accuracies]


@pytest.mark.parametrize(
    ("accuracies", "is_better"),
    [((0.1,), True), ((0.1, 0.2), True), ((0.2, 0.2), False), ((0.2, 0.1), False), ((None,), False)],
)
def test_weights_are_better_only_than_all_before(accuracies, is_better):
    made = training()
    found = better(made, epochs(*accuracies))
    assert (found is not None) == is_better
    if found is not None:
        assert found["epoch"] == len(accuracies)
        before = {name: tensor.clone() for name, tensor in found["model"].items()}
        with torch.no_grad():
            next(made.model.parameters()).add_(1)  # it is a copy
        assert all(torch.equal(before[name], tensor) for name, tensor in found["model"].items())


def test_a_state_and_its_best_weights_come_back():
    made = training()
    best = better(made, epochs(0.5))
    state = copy.deepcopy(train_state(made, best))
    with torch.no_grad():
        for weight in made.model.parameters():
            weight.add_(1)
    back = restore_training(made, state)
    assert back["epoch"] == 1
    for name, tensor in made.model.state_dict().items():
        assert torch.equal(tensor, state["model"][name])
        assert torch.equal(back["model"][name], best["model"][name])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, None),
        ({"version": 1}, "version"),
        ({"version": 99}, "version"),
        ({"format": "xnas-search-checkpoint"}, "training"),
        ({"epoch": 10_000}, "does not fit"),
        ({"best": {"model": {}, "epoch": 1}}, "does not fit|missing|damaged"),
        ({"model": None}, "does not fit|damaged"),
        ({"random": torch.zeros(16, dtype=torch.uint8)}, "saved on the device cuda, and this is cpu"),
        ({"random": torch.zeros(17, dtype=torch.uint8)}, "does not fit"),
        ({"random": None}, "does not fit"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(change, told):
    made = training()
    state = train_state(made, None) | change
    if told is None:
        assert restore_training(made, state) is None
        return
    with pytest.raises((ConfigError, VersionError), match=told):
        restore_training(made, state)
