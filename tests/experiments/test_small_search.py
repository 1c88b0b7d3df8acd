"""Small searches: rules of the update, an operation that is held back, and runs that are cut."""

import json
import math
from dataclasses import replace

import pytest
import torch
from nasbench201 import rows, write_table

import small_searches
from jobs import ResultsFile
from small_player import play
from small_search import (
    HELD_WEIGHT,
    SIZES,
    SoftmaxDescent,
    build_search,
    few_images,
    generated_images,
)
from small_searches import LATE, OF_SIZE, SEEDS, declared, of_variant
from xnas.methods import Game
from xnas.optim import ExpertsOptimizer
from xnas.theory import optimal_learning_rate, softmax_gd_update

TINY = {job.variant: job for job in declared("tiny")}
MACHINE = {"seconds", "cpu_seconds"}


def built(variant):
    return build_search(TINY[variant], data_dir=None, device="cpu").search


def lasting(line):
    return line | {"epochs": [{k: v for k, v in e.items() if k not in MACHINE} for e in line["epochs"]]}


def test_a_held_operation_starts_with_little_weight_under_every_rule():
    for variant, (rule, held) in LATE.items():
        search = built(variant)
        (mixture,) = search.mixtures.values()
        column = search.supernet.space.operations.index("nor_conv_3x3")
        expected = HELD_WEIGHT if held else 1 / mixture.shape[1]
        assert mixture[:, column].tolist() == pytest.approx([expected] * len(mixture)), rule
        assert mixture.sum(-1).tolist() == pytest.approx([1.0] * len(mixture))
        assert search.settings.warmup_epochs == 1


def test_eg_and_softmax_share_the_rate_that_is_optimal_for_the_rounds_left():
    eg, softmax, adam = (built(f"late-{rule}") for rule in ("eg", "softmax", "adam"))
    rounds = (eg.settings.epochs - 1) * eg.settings.rounds_per_epoch
    rate = optimal_learning_rate(4, rounds)
    assert isinstance(eg.method, ExpertsOptimizer)
    assert float(eg.method.param_groups[0]["lr"]) == pytest.approx(rate)
    assert not eg.method.param_groups[0]["wipeout"]
    assert softmax.method.learning_rate == pytest.approx(rate)
    # 3e-4 in each of 13,000 rounds, in all the rounds together.
    assert adam.method.adam.param_groups[0]["lr"] * rounds == pytest.approx(3.9)


def test_softmax_descent_is_that_of_the_theory():
    mixture = torch.nn.Parameter(torch.tensor([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]))
    game = Game(updates=5, examples=8, epochs=1, batch_size=4, replications={"normal": 1})
    logits = mixture.detach().double().log()
    rule = SoftmaxDescent("softmax", {"normal": mixture}, game, learning_rate=0.3, floor=0.0)
    for seed in range(5):
        rewards = torch.randn(2, 3, generator=torch.Generator().manual_seed(seed))
        mixture.grad = -rewards
        rule.step()
        logits = softmax_gd_update(logits, rewards.double(), learning_rate=0.3)
    torch.testing.assert_close(mixture.detach().double(), logits.softmax(-1), rtol=1e-5, atol=1e-7)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "known.csv"
    write_table(path, rows())
    return path


def words(folder, table, *others):
    return [
        *("--tiny", "--device", "cpu", "--runs", str(folder / "runs"), "--truth", str(table)),
        *("--out", str(folder / "lines.jsonl"), *others),
    ]


@pytest.mark.slow
def test_the_script_plays_what_is_left_and_keeps_a_line_of_each(tmp_path, table, capsys):
    names = ["tiny-late-eg-0", "tiny-bound-0.1-0"]
    assert small_searches.main(words(tmp_path, table, "--only", *names)) == 0
    assert "0 of 2 jobs left" in capsys.readouterr().out
    lines = ResultsFile(tmp_path / "lines.jsonl").lines()
    assert {line["job"] for line in lines} == set(names)
    for line in lines:
        assert [epoch["epoch"] for epoch in line["epochs"]] == [1, 2, 3]
        assert line["epochs"][-1]["true_accuracy"] > 0
        assert line["epochs"][-1]["gap"].keys() == {"mixture", "experts", "cell"}
    assert not list((tmp_path / "runs").iterdir())
    assert small_searches.main(words(tmp_path, table, "--only", *names)) == 0
    assert "done" not in capsys.readouterr().out


def test_a_search_resumes_from_its_last_checkpoint(tmp_path, monkeypatch):
    job, where = TINY["late-softmax"], {"device": "cpu", "data_dir": None, "truth": None}
    assert play(job, tmp_path / "whole", deadline=math.inf, **where)
    ticks = iter([0.0, *[0.0] * 3, 2.0])  # time is up after an epoch
    monkeypatch.setattr("small_player.time.perf_counter", lambda: next(ticks, 2.0))
    assert not play(job, tmp_path / "cut", deadline=1.0, **where)
    monkeypatch.undo()
    records = (tmp_path / "cut" / "records.jsonl").read_text(encoding="utf8").splitlines()
    assert 1 <= len(records) < job.epochs
    with (tmp_path / "cut" / "records.jsonl").open("a", encoding="utf8") as file:
        file.write('{"epoch": 9}\n{"half')  # of an epoch that has no checkpoint
    assert play(job, tmp_path / "cut", deadline=math.inf, **where)
    ends = [small_searches.result(job, tmp_path / name, "cpu") for name in ("whole", "cut")]
    assert lasting(ends[0]) == lasting(ends[1])


def test_every_size_declares_searches_once_with_settings_that_a_search_takes():
    for size in OF_SIZE:
        jobs = declared(size)
        assert len({(job.name, job.command) for job in jobs}) == len(jobs)
        for job in jobs:
            assert job.config().seed == job.seed
            assert job.command.startswith("python experiments/small_searches.py --only")
        assert {job.seed for job in jobs} == set(SEEDS[size])
    assert any(job.options.get("method") == "darts" for job in declared("darts"))


def test_an_accounting_without_a_fused_round_has_fewer_images_and_its_own_time():
    per_sample, default = (of_variant(name, "fewer")[0] for name in ("per-sample", "wipeout"))
    assert SIZES["fewer"].settings == SIZES["benchmark"].settings
    assert SIZES["fewer"].few == (5000, 32)
    assert per_sample.planned > 10 * default.planned
    assert not of_variant("per-sample", "benchmark")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["darts", "pdarts"])
def test_methods_with_none_or_with_stages_are_played_to_the_end(tmp_path, method):
    few = {"space": "darts", "epochs": 3, "batch_size": 16, "cells": 3, "channels": 2}
    job = replace(TINY["wipeout"], options={**few, "seed": 0, "method": method})
    ticks = iter([0.0] * 6)  # time is up in the second epoch, in the second stage of P-DARTS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("small_player.time.perf_counter", lambda: next(ticks, 2.0))
        assert not play(job, tmp_path, device="cpu", data_dir=None, truth=None, deadline=1.0)
    assert play(job, tmp_path, device="cpu", data_dir=None, truth=None, deadline=math.inf)
    lines = small_searches.result(job, tmp_path, "cpu")["epochs"]
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    operations = {op for node in lines[-1]["cell"]["normal"]["nodes"] for op, _ in node}
    assert "none" not in operations


def test_few_images_have_as_many_of_each_class():
    some = few_images(generated_images(60, 16), 20, 8)
    assert some.images.shape == (20, 3, 8, 8)
    assert torch.bincount(some.labels).tolist() == [2] * 10


def test_the_table_is_asked_for(tmp_path, capsys):
    with pytest.raises(SystemExit):
        small_searches.main(["--device", "cpu"])
    assert "the size small needs --truth" in capsys.readouterr().err
    assert small_searches.main(["--list", "--out", str(tmp_path / "none.jsonl")]) == 0
    assert "48 of 48 jobs left" in capsys.readouterr().out
    assert json.dumps(declared("small")[0].options)
