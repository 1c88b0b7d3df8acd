"""Epochs of a search survive a file, and lines that hold something else are refused."""

import json
from dataclasses import asdict, replace

import pytest

from xnas.records import Deletion, EpochCost, Gap, Judgement, SearchEpoch, Truth

RECORD = SearchEpoch(
    epoch=2,
    rounds=40,
    learning_rate=0.02,
    skip_dropout=0.5,
    train_loss=1.5,
    train_accuracy=0.4,
    valid_loss=1.6,
    valid_accuracy=0.35,
    entropy={"normal": 0.9},
    skip_share={"normal": 0.25},
    experts_alive={"normal": 13},
    weights_alive=1234,
    rewards={"normal": {"skip_connect": 0.01}},
    rewards_by_stage={"normal": {"0": {"skip_connect": 0.01}}},
    deleted=(Deletion(kind="normal", forecaster=1, expert=3, operation="sep_conv_3x3"),),
    gap=Gap(mixture=0.5, experts=0.4, cell=None),
    cell={"format": "xnas-genotype", "version": 1, "space": "nasbench201", "arch": "|a~0|"},
    truth=Truth(
        arch="|a~0|", test_200=93.1, test_12=80.5, rank=7, arch_with_none=None, test_200_with_none=None
    ),
    cost=EpochCost(seconds=3.0, seconds_per_round=0.1, memory_bytes=5),
)


def saved(**changes):
    return json.loads(json.dumps(asdict(RECORD))) | changes


def test_an_epoch_survives_a_file():
    assert SearchEpoch.from_json(saved()) == RECORD


def test_a_judgement_survives_a_file():
    judged = replace(RECORD, truth=Judgement(accuracy=93.5, error=0.2, percentile=80.0))
    assert SearchEpoch.from_json(json.loads(json.dumps(asdict(judged)))) == judged


def test_a_truth_of_an_earlier_version_is_of_cifar10():
    line = saved()
    del line["truth"]["data"]
    assert SearchEpoch.from_json(line) == RECORD
    assert RECORD.truth.accuracy == 93.1


def test_gap_cell_and_truth_may_be_missing():
    without = SearchEpoch.from_json(saved(gap=None, cell=None, truth=None))
    assert (without.gap, without.cell, without.truth) == (None, None, None)
    line = saved()
    del line["cell"], line["truth"]  # as in files of earlier versions
    older = SearchEpoch.from_json(line)
    assert (older.cell, older.truth) == (None, None)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"train_loss": "low"}, TypeError),
        ({"entropy": {"normal": None}}, TypeError),
        ({"gap": {"mixture": 0.5}}, TypeError),
        ({"deleted": [{"kind": "normal"}]}, TypeError),
        ({"unknown": 1}, TypeError),
        ({"cell": "|a~0|"}, TypeError),
        ({"cell": [1]}, TypeError),
        ({"truth": {"accuracy": "high", "error": 0.2, "percentile": 80.0}}, TypeError),
        ({"truth": {"accuracy": 93.5}}, TypeError),
    ],
)
def test_what_is_no_epoch_is_refused(changes, error):
    with pytest.raises(error):
        SearchEpoch.from_json(saved(**changes))
