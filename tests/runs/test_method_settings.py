"""Settings of one kind of method, given to another."""

import json
import os
import signal
from dataclasses import replace

import pytest
from searching import stripes, tiny

from xnas import Callback, ConfigError, resume_search, search
from xnas.errors import FinishedError
from xnas.process.interrupt import Interrupted
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
        ({"experts_lr": "paper"}, "--experts-lr"),
        ({"experts_lr": "matched"}, "--experts-lr"),
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
    prepare(prepared.config, stripes())  # as it is recorded


@pytest.mark.parametrize("faithful", [False, True])
def test_config_json_leaves_out_the_rate_of_a_method_that_has_none(faithful):
    for method, rate in (("darts", None), ("xnas", "paper" if faithful else "matched")):
        recorded = prepare(tiny(method=method, faithful=faithful), stripes()).config
        assert recorded.experts_lr == rate
        assert (recorded.relaxation is None) == (rate is None)
        prepare(recorded, stripes())


@pytest.mark.usefixtures("small_space")
@pytest.mark.parametrize("rate", ["matched", "paper"])
def test_a_run_whose_config_json_has_a_filled_in_rate_is_resumed(tmp_path, monkeypatch, rate):
    settings = {"method": "beta", "space": "small", "epochs": 2, "quiet": True}
    whole = search(tiny(**settings, out=tmp_path / "whole"), stripes())
    out = tmp_path / "run"

    def as_earlier(config, _method):
        return replace(config, experts_lr=rate, relaxation=1.0)

    monkeypatch.setattr("xnas.runs.prepare.recorded", as_earlier)
    with pytest.raises(Interrupted):
        search(tiny(**settings, out=out), stripes(), callbacks=[Stop(after=7)])
    monkeypatch.undo()
    saved = json.loads((out / "config.json").read_text(encoding="utf8"))["config"]
    assert (saved["experts_lr"], saved["relaxation"]) == (rate, 1.0)
    assert resume_search(out, data=stripes()).genotype == whole.genotype
    with pytest.raises(FinishedError):
        resume_search(out, data=stripes())


@pytest.mark.usefixtures("small_space")
def test_what_was_given_to_a_run_is_refused_when_it_is_resumed_too():
    with pytest.raises(ConfigError, match="has no --experts-lr"):
        prepare(tiny(method="beta", experts_lr=0.3), stripes(), resumed=True)
    prepare(tiny(method="beta", experts_lr="paper"), stripes(), resumed=True)


class Stop(Callback):
    """Asks to stop after so many rounds."""

    def __init__(self, after):
        self.after = after

    def after_round(self, found):
        if found.rounds == self.after:
            os.kill(os.getpid(), signal.SIGINT)
