"""A search within limits: it obeys them, its bound holds, it resumes exactly, and says what it did."""

import json
import os
import signal
from pathlib import Path

import pytest
import torch
from searching import small, stripes, tiny
from training import checkpoint

from xnas import ConfigError, Genotype, TrainConfig, resume_search, search
from xnas.cli import main
from xnas.engine import play_round
from xnas.errors import DamagedFileError
from xnas.process.interrupt import Interrupted
from xnas.records import EdgeChoice, Latency
from xnas.runs import cell_costs
from xnas.runs import search as job
from xnas.runs.cells import architecture_of
from xnas.runs.displays import Silence
from xnas.runs.prepare import prepare
from xnas.runs.prepare_training import prepare_training
from xnas.runs.search_limits import SearchLimits

pytestmark = pytest.mark.usefixtures("small_space")
MOST = 380_000.0
BENCHMARK = {"space": "nasbench201", "cells": 1, "batch_size": 8, "epochs": 6}


class Listening(Silence):
    """Remembers what was said; may ask to stop after a round."""

    def __init__(self, stop_after=None):
        self.lines, self.stop_after = [], stop_after

    def say(self, line):
        self.lines.append(line)

    def after_round(self, search):
        if search.rounds == self.stop_after:
            os.kill(os.getpid(), signal.SIGINT)


def read(out, name):
    return json.loads((out / name).read_text(encoding="utf8"))


def trained(cell, **options):
    """What `xnas train` would begin with."""
    config = TrainConfig(cell=cell, device="cpu", **options)
    return prepare_training(config, stripes(), architecture_of(cell))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out, display = tmp_path_factory.mktemp("limits") / "run", Listening()
    result = search(tiny(out=out, max_params=MOST, **BENCHMARK), stripes(), display=display)
    return out, result, display


def test_the_network_that_a_training_builds_by_default_obeys(finished):
    out, _, _ = finished
    costs = read(out, "discretization.json")["limits"]["costs"]
    plain = trained(out)
    assert plain.parameters == costs["params"] <= MOST
    assert plain.macs == costs["macs"]
    limited = trained(out, max_params=MOST)
    assert limited.parameters <= MOST
    assert limited.plan.network.channels >= plain.plan.network.channels


def test_experts_have_paid_and_the_bound_of_theorem_1_holds_for_what_was_left(finished):
    _, result, _ = finished
    (ledger,) = result.ledgers.values()
    paid = torch.tensor(ledger.charged)
    operations = ("skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
    of = {name: paid[:, column] for column, name in enumerate(operations)}
    assert bool((of["nor_conv_3x3"] > of["nor_conv_1x1"]).all())
    assert bool((of["nor_conv_1x1"] > 0).all())
    assert not of["skip_connect"].any()
    assert ledger.bound_note == "the bound covers all experts (Theorem 1)"
    assert all(r <= b for r, b in zip(ledger.regret, ledger.regret_bound, strict=True))


def test_the_run_says_what_limits_and_prices_have_decided(finished):
    out, result, display = finished
    why = read(out, "discretization.json")
    assert why["limits"]["most"] == {"params": MOST}
    assert [line["epoch"] for line in why["limits"]["epochs"]] == [1, 2, 3, 4, 5, 6]
    first, *later = [line["prices"]["params"] for line in why["limits"]["epochs"]]
    assert first == 0.0
    assert max(later) > 0.0
    choices = [EdgeChoice(**edge) for edge in why["edges"]]
    (ledger,) = result.ledgers.values()
    operations = ("skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
    for row, choice in enumerate(choices):
        assert choice.charged == ledger.charged[row][operations.index(choice.operation)]
        assert choice.unpriced in operations
        assert choice.limited == (choice.decided_by == "limit")
    limit = next(line for line in display.lines if line.startswith("limit: "))
    assert "--max-params 380000, for the network that xnas train builds by default (5 cells per" in limit
    assert any("within --max-params 380000" in line or "not within" in line for line in display.lines)


def test_every_epoch_records_a_cell_within_the_limit_and_the_last_is_the_result(finished):
    out, result, _ = finished
    cells = [Genotype.from_json(json.dumps(epoch.cell)) for epoch in result.epochs]
    assert all(trained(cell).parameters <= MOST for cell in set(cells))
    assert cells[-1] == result.genotype == Genotype.load(out / "genotype.json")


def test_a_search_that_was_stopped_ends_like_one_that_was_not(tmp_path):
    limits = {"max_params": 330_000.0, "max_macs": 3e6, "epochs": 2, "relaxation": 0.5}
    whole = search(small(out=tmp_path / "whole", **limits), stripes(), display=Silence())
    path = tmp_path / "parts"
    with pytest.raises(Interrupted):
        search(small(out=path, **limits), stripes(), display=Listening(stop_after=7))
    parts = resume_search(path, data=stripes(), display=Silence())
    assert (parts.genotype, parts.ledgers) == (whole.genotype, whole.ledgers)
    assert torch.tensor(whole.ledgers["normal"].charged).any()
    for name in ("discretization.json", "ledger.json", "genotype.json"):
        assert (path / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    saved = [checkpoint(tmp_path / name) for name in ("whole", "parts")]
    assert saved[0]["limits"] == saved[1]["limits"]
    for name, value in saved[0]["supernet"].items():
        assert torch.equal(value, saved[1]["supernet"][name]), name


def test_a_limit_that_nothing_obeys_leaves_no_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["search", "digits", "--max-params", "1000", "--device", "cpu", "--out", "run"])
    err = capsys.readouterr().err
    assert end.value.code == 2
    assert err.startswith("xnas: no cell of the space darts is within --max-params 1000: in the network")
    assert err.count("\n") == 1
    assert not (tmp_path / "run").exists()
    with pytest.raises(ConfigError, match="--max-macs must be positive and finite, got 0"):
        small(max_macs=0)


def test_other_methods_obey_by_the_final_choice_alone_and_say_so(tmp_path):
    display, out = Listening(), tmp_path / "run"
    settings = BENCHMARK | {"method": "darts", "epochs": 1, "max_params": 90_000.0}
    search(tiny(out=out, **settings), stripes(), display=display)
    assert any(line.startswith("the method darts has no prices: the limit") for line in display.lines)
    why = read(out, "discretization.json")
    assert why["limits"]["costs"]["params"] <= 90_000
    assert {edge["price"] for edge in why["edges"]} == {None}
    assert why["limits"]["epochs"][0]["prices"] is None


def test_without_limits_nothing_is_written_of_them(tmp_path):
    out = tmp_path / "run"
    search(tiny(out=out, **BENCHMARK | {"epochs": 1}), stripes(), display=Silence())
    why = read(out, "discretization.json")
    assert "limits" not in why
    assert not {"limited", "price", "charged", "unpriced"} & why["edges"][0].keys()
    assert "charged" not in read(out, "ledger.json")["normal"]
    assert "limits" not in checkpoint(out)


@pytest.fixture
def timed(monkeypatch):
    """A machine on which time is the number of weights, in thousands; counts what it timed."""
    asked = []

    def taken(module, *_, **__):
        asked.append(module)
        thousands = sum(p.numel() for p in module.parameters()) / 1000
        return Latency(runtime="x", batch=1, milliseconds=thousands, lower=0.0, upper=0.0, runs=5)

    monkeypatch.setattr(cell_costs, "measure_latency", taken)
    monkeypatch.setattr(cell_costs, "steady_latency", taken)
    return asked


def test_latencies_are_measured_once_and_kept(tmp_path, timed):
    path = tmp_path / "run"
    settings = BENCHMARK | {"epochs": 2, "max_latency": 380.0}
    with pytest.raises(Interrupted):
        search(tiny(out=path, **settings), stripes(), display=Listening(stop_after=6))
    assert read(path, "latency.json")["times"]
    timed.clear()
    result = resume_search(path, data=stripes(), display=Silence())
    assert 1 <= len(timed) <= 8  # whole networks at the end
    assert trained(result.genotype).parameters <= 380_000
    (path / "genotype.json").unlink()
    (path / "latency.json").write_text("{")
    with pytest.raises(DamagedFileError, match=r"cannot read .*latency.json"):
        resume_search(path, data=stripes())


def test_prices_reach_a_captured_round_without_another_capture(tmp_path, monkeypatch):
    captures, places = [], set()

    def captured(engine):
        captures.append(engine.epoch)
        return lambda: play_round(engine)

    def note(limits, prepared):
        charge(limits, prepared)
        for mixture in prepared.search.mixtures.values():
            places.add(prepared.search.method.state[mixture]["prices"].data_ptr())

    charge = SearchLimits.charge
    monkeypatch.setattr(SearchLimits, "charge", note)
    monkeypatch.setattr(job, "is_captured", lambda *_: True)
    monkeypatch.setattr(job, "captured_round", captured)
    settings = BENCHMARK | {"epochs": 4, "max_params": 200_000.0, "wipeout": False}
    result = search(tiny(out=tmp_path / "run", **settings), stripes(), display=Silence())
    assert captures == [0]
    assert len(places) == 1
    assert torch.tensor(result.ledgers["normal"].charged).any()


def test_a_checkpoint_without_prices_is_called_damaged():
    limits = SearchLimits.of(prepare(tiny(max_params=MOST, **BENCHMARK), stripes()), stripes())
    with pytest.raises(DamagedFileError, match="the checkpoint does not fit this search"):
        limits.restore({})


def test_no_limit_makes_none():
    assert SearchLimits.of(prepare(tiny(**BENCHMARK), stripes()), stripes()) is None


def test_a_space_whose_latency_is_unknown_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(cell_costs, "adds_up", lambda _: False)
    with pytest.raises(ConfigError, match="the latency of a cell of the space nasbench201 cannot be pr"):
        search(tiny(out=Path(tmp_path / "run"), max_latency=1.0, **BENCHMARK), stripes())
    assert not (tmp_path / "run").exists()


def test_limits_are_for_the_network_that_is_trained_by_the_options_that_are_given():
    prepared = prepare(tiny(max_params=MOST, **BENCHMARK), stripes())
    usual = SearchLimits.of(prepared, stripes())
    own = SearchLimits.of(prepared, stripes(), trained=TrainConfig(cells=1, channels=4, device="cpu"))
    assert "xnas train builds by default (5 cells per stage, 16 channels)" in usual.lines("xnas")[0]
    assert "that is trained here (1 cells per stage, 4 channels)" in own.lines("xnas")[0]
    cell = Genotype.random("nasbench201", 0)
    counted = trained(cell, cells=1, channels=4).parameters
    assert own.costs.predicted(cell)["params"] == counted
    assert usual.costs.predicted(cell)["params"] > counted


def test_a_resumed_search_has_the_limits_of_the_network_that_is_trained(tmp_path):
    small_network = {"trained": TrainConfig(cells=1, channels=4, device="cpu")}
    given = tiny(out=tmp_path / "run", max_params=9_000, **BENCHMARK)
    with pytest.raises(Interrupted):
        search(given, stripes(), display=Listening(3), **small_network)
    found = resume_search(tmp_path / "run", data=stripes(), quiet=True, **small_network)
    assert trained(found.genotype, cells=1, channels=4).parameters <= 9_000
