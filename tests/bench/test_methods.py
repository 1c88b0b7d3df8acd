from dataclasses import replace

import pytest
import torch
from commands import call as run

from xnas.bench.measuring import noise
from xnas.bench.methods import attempt, bench_methods, late_epoch, learning_share, measure
from xnas.bench.options import BenchMethodsConfig
from xnas.engine import play_round
from xnas.errors import ConfigError
from xnas.methods import METHODS
from xnas.records import MethodCost
from xnas.report.tables import method_cost_table
from xnas.runs.prepare import prepare

TINY = BenchMethodsConfig(
    space="nasbench201", cells=1, channels=2, batch_size=4, image_size=8, rounds=3, device="cpu"
)


# Stages deepen the network of the DARTS space, and partial channels divide channels by four or six.
DARTS = replace(TINY, space="darts", cells=3, channels=12)


def prepared(method, config=TINY):
    found = prepare(config.search_config(method), noise(2 * config.batch_size * 30, config.image_size))
    found.search.epoch = late_epoch(found)
    found.search.begin_epoch()
    return found


@pytest.mark.parametrize(("method", "share"), [("xnas", 1.0), ("enas", 0.1), ("random", 0.0)])
def test_rounds_that_learn_are_counted_in_a_late_epoch_and_nothing_is_played(method, share):
    found = prepared(method)
    assert learning_share(found) == pytest.approx(share)
    assert found.search.round_in_epoch == 0
    play_round(found.search)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_late_in_its_first_stage_or_never(method):
    share = learning_share(prepared(method, DARTS))
    never = method in {"random", "darts-pt-blank"}
    assert (share == 0) == never


def test_the_time_of_a_round_weighs_rounds_that_learn_by_their_share(monkeypatch):
    times = iter(range(1, 100))
    monkeypatch.setattr("xnas.bench.methods.milliseconds", timed(times))
    cost = measure("enas", TINY)
    # One round warms up, then every tenth learns: rounds 10, 20, 30 of the epoch took 9, 19 and 29.
    rested = sorted(set(range(1, 30)) - {9, 19, 29})
    expected = 3 / 31 * 19 + 28 / 31 * (rested[12] + rested[13]) / 2
    assert cost.milliseconds == pytest.approx(expected)
    assert cost.learning_share == pytest.approx(3 / 31)


def timed(times):
    def milliseconds(play, device):
        assert device == torch.device("cpu")
        play()
        return float(next(times))

    return milliseconds


def test_a_method_that_fails_leaves_its_reason_and_the_others_are_timed(monkeypatch):
    def fail(*_):
        raise RuntimeError("out of memory\nwith a long trace")

    monkeypatch.setattr("xnas.bench.methods.prepare", fail)
    failed = attempt("gaea", TINY)
    assert failed.failure == "out of memory"
    whole = MethodCost(
        method="xnas",
        device="CPU",
        backend="reference",
        precision="fp32",
        milliseconds=4.0,
        spread=1.0,
        learning_share=1.0,
        memory_bytes=2**20,
    )
    lines = method_cost_table([whole, failed, replace(whole, method="darts2", milliseconds=10.0)])
    assert "2.50" in lines.splitlines()[3]
    assert lines.splitlines()[-1] == "gaea: out of memory"


def test_unknown_methods_are_refused_before_anything_is_timed():
    with pytest.raises(ConfigError, match="no method called 'dart'; did you mean darts"):
        bench_methods(replace(TINY, methods=("dart",)))


@pytest.mark.slow  # two processes that import torch
def test_the_command_prints_a_line_for_each_method(capsys):
    sizes = "--space nasbench201 --cells 1 --channels 2 --batch-size 4 --image-size 8 --rounds 3"
    status, out, _ = run(capsys, *f"bench methods {sizes} --methods gaea --device cpu".split())
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == ["CPU", "method", "xnas", "gaea"]
