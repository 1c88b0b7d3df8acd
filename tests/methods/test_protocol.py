"""What a search asks a method for."""

import pytest
from method_games import build

from xnas import ConfigError
from xnas.methods import METHODS, LearnsLogits, ledgers


def test_unknown_methods_are_named():
    with pytest.raises(ConfigError, match="no method called 'magic'; there are: "):
        METHODS["magic"]


def test_rate_and_decay_of_logits_reach_adam_in_every_method_that_has_them():
    without = set()
    for name in METHODS:
        _, method = build(name, logits_lr=0.125, logits_weight_decay=0.25)
        if isinstance(method, LearnsLogits):
            groups = [(g["lr"], g["weight_decay"]) for g in method.adam.param_groups]
            assert groups == [(0.125, 0.25)], name
        else:
            without.add(name)
    experts, sampled = {"xnas", "xnas-pt", "gaea", "gaea-erm", "gaea-pc"}, {"enas", "random"}
    assert without == experts | sampled | {"dso", "darts-pt-blank"}


def test_ledgers_are_kept_by_methods_of_expert_advice_alone():
    mixtures, xnas = build("xnas")
    assert set(ledgers(xnas, mixtures)) == {"normal", "reduction"}
    mixtures, darts = build("darts")
    assert ledgers(darts, mixtures) == {}
