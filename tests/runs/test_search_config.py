"""Options of a search: their values are checked when they are made."""

import math
from pathlib import Path

import pytest

from xnas import ConfigError
from xnas.runs.search_config import SearchConfig, parse_skip_dropout


def test_strings_and_numbers_are_taken_where_they_are_natural():
    config = SearchConfig(out="somewhere", skip_dropout=0.5)
    assert (config.out, config.skip_dropout) == (Path("somewhere"), "0.5")


def test_skip_dropout_is_read_as_a_number_or_a_fall():
    assert parse_skip_dropout("0.5") == (0.5, 0.5)
    assert parse_skip_dropout("0.6:0") == (0.6, 0.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"batch_size": 1}, "batch-size must be at least 2, got 1"),
        ({"image_size": 7}, "image-size must be at least 8, got 7"),
        ({"cells": 2}, "cells must be at least 3, got 2"),
        ({"channels": 1}, "channels must be at least 2, got 1"),
        ({"experts_lr": -0.1}, r"matched-by-kind or a number above 0 and below 1e\+09, got '-0.1'"),
        ({"experts_lr": 1e300}, r"experts-lr must be .* below 1e\+09, got '1e\+300'"),
        ({"experts_lr": "paper,0.1", "space": "nasbench201"}, "reduction cells, .* are all normal"),
        ({"logits_lr": 0.0}, "logits-lr must be positive and finite, got 0.0"),
        ({"logits_weight_decay": -1.0}, "logits-weight-decay must be 0 or more and finite, got -1.0"),
        ({"logits_lr": 1e30}, r"logits-lr must be at most 10, got 1e\+30"),
        ({"logits_weight_decay": 1e4}, "logits-weight-decay must be at most 1,000, got 10000.0"),
        ({"relaxation": 0.0}, r"relaxation must lie in \(0, 1\], got 0.0"),
        ({"relaxation": 1.5}, r"relaxation must lie in \(0, 1\], got 1.5"),
        ({"reward_bound": 0.0}, r"reward-bound must be positive and below 1e\+09, got 0.0"),
        ({"method": "magic"}, "no method called 'magic'; there are: "),
        ({"skip_dropout": "often"}, r"skip-dropout must be a number in \[0, 1\) .* got 'often'"),
        ({"skip_dropout": "1"}, "skip-dropout must be a number"),
        ({"skip_dropout": "0.1:0.2:0.3"}, "skip-dropout must be a number"),
        (
            {"experts_lr": "fast"},
            "experts-lr must be paper, matched, matched-by-kind or a number .* got 'fast'",
        ),
        ({"accounting": "often"}, "accounting must be update or sample, got 'often'"),
        ({"precision": "fp99"}, "precision must be fp32, bf16 or None, got 'fp99'"),
        ({"epochs": 2.5}, "epochs must be a whole number or None, got 2.5"),
        ({"epochs": True}, "epochs must be a whole number or None, got True"),
        ({"wipeout": "no"}, "wipeout must be true or false, got 'no'"),
        ({"weights_lr": 0.0}, "weights-lr must be positive and finite, got 0.0"),
        ({"reward_bound": 1e308}, r"reward-bound must be positive and below 1e\+09, got 1e\+308"),
        ({"checkpoint_minutes": math.inf}, "checkpoint-minutes must be 0 or more and finite, got inf"),
        ({"seed": 1 << 63}, "seed must be below 2.63, got 9223"),
        ({"seed": -(1 << 63)}, "seed must be above -2.63, got -9223"),
        ({"accounting": "sample", "method": "darts"}, "accounting sample belongs to the method xnas"),
    ],
)
def test_settings_out_of_range_are_named(arguments, words):
    with pytest.raises(ConfigError, match=words):
        SearchConfig(**arguments)
