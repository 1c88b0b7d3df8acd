"""Settings of one kind of method, given to another."""

import pytest
from searching import stripes, tiny

from xnas import ConfigError
from xnas.runs.prepare import prepare


@pytest.mark.parametrize("setting", [{"logits_lr": 0.01}, {"logits_weight_decay": 0.0}])
def test_rate_and_decay_of_logits_are_refused_where_there_are_none(setting):
    (flag,) = (name.replace("_", "-") for name in setting)
    for method in ("xnas", "gaea"):
        words = f"the method {method} has no logits that Adam learns, and no --{flag}; leave it out"
        with pytest.raises(ConfigError, match=words):
            prepare(tiny(method=method, **setting), stripes())
    prepare(tiny(method="darts", **setting), stripes())


@pytest.mark.parametrize(
    ("setting", "flag"),
    [
        ({"experts_lr": 0.3}, "--experts-lr"),
        ({"experts_lr": "matched-by-kind"}, "--experts-lr"),
        ({"relaxation": 0.1}, "--relaxation"),
        ({"reward_bound": 2.0}, "--reward-bound"),
        ({"wipeout": False}, "--no-wipeout"),
    ],
)
def test_settings_of_expert_advice_are_refused_where_nobody_plays_with_it(setting, flag):
    words = f"the method darts does not play with expert advice, and has no {flag}; leave it out"
    with pytest.raises(ConfigError, match=words):
        prepare(tiny(method="darts", **setting), stripes())
    prepare(tiny(method="xnas", **setting), stripes())


def test_values_that_ask_for_nothing_are_taken_by_every_method():
    prepared = prepare(tiny(method="darts", relaxation=1.0, reward_bound=1.0), stripes())
    prepare(prepared.config, stripes())  # as it is recorded, with a rate filled in
