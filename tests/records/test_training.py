"""Records of trainings and evaluations survive a file."""

import json
from dataclasses import asdict

import pytest

from xnas.records import CalibrationBin, EpochCost, Evaluation, TrainEpoch

EPOCH = TrainEpoch(
    epoch=1,
    steps=10,
    learning_rate=0.1,
    drop_path_rate=0.0,
    train_loss=2.0,
    train_accuracy=0.3,
    valid_loss=None,
    valid_accuracy=None,
    cost=EpochCost(seconds=1.0, seconds_per_round=0.1, memory_bytes=3),
)
EVALUATION = Evaluation(
    images=3,
    classes=("rose", "tulip"),
    top1=2 / 3,
    top5=None,
    loss=0.7,
    counts=(3, 0),
    accuracies=(2 / 3, None),
    confusion=((2, 1), (0, 0)),
    calibration_error=0.1,
    calibration=(CalibrationBin(lower=0.0, upper=1.0, images=3, confidence=0.8, accuracy=2 / 3),),
)


def saved(record, **changes):
    return json.loads(json.dumps(asdict(record))) | changes


def test_an_epoch_survives_a_file_with_and_without_validation():
    assert TrainEpoch.from_json(saved(EPOCH)) == EPOCH
    assert TrainEpoch.from_json(saved(EPOCH, valid_loss=0.5)).valid_loss == 0.5


@pytest.mark.parametrize("changes", [{"steps": None}, {"valid_loss": "low"}, {"cost": {}}, {"more": 1}])
def test_what_is_no_epoch_is_refused(changes):
    with pytest.raises(TypeError):
        TrainEpoch.from_json(saved(EPOCH, **changes))


def test_an_evaluation_survives_a_file_that_holds_more():
    assert Evaluation.from_json(saved(EVALUATION, format="xnas-test", version=1)) == EVALUATION


def test_an_evaluation_without_a_field_is_refused():
    line = saved(EVALUATION)
    del line["confusion"]
    with pytest.raises(TypeError, match="the key 'confusion' is missing"):
        Evaluation.from_json(line)
