"""Searches of NAS-Bench-201's space: both strings, and a truth that is logged and never used."""

import json
import os
import signal
from pathlib import Path

import pytest
import torch
from nasbench201 import HEADER, rows, write_table
from searching import stripes, tiny

from xnas import ConfigError, DatasetError, Genotype, resume_search, search
from xnas.benchmarks import TabularBenchmark
from xnas.engine import load_checkpoint
from xnas.process.interrupt import Interrupted
from xnas.runs.briefing import cautions
from xnas.runs.prepare import prepare
from xnas.runs.search import Silence
from xnas.space import SPACES
from xnas.space.benchmark_supernet import BenchmarkSupernet


def quick(**arguments):
    return tiny(**{"space": "nasbench201", "cells": 1, "epochs": 2, "batch_size": 16} | arguments)


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("truth") / "c10.csv", rows())


@pytest.fixture(scope="module")
def permuted(tmp_path_factory):
    """The same table with the accuracies of others."""
    table = rows()
    shifted = [[*a[:2], *b[2:6], *a[6:]] for a, b in zip(table, table[1:] + table[:1], strict=True)]
    return write_table(tmp_path_factory.mktemp("truth") / "permuted.csv", shifted)


def metrics(out):
    """Metrics of a run without what depends on the machine."""
    lines = (Path(out) / "metrics.jsonl").read_text(encoding="utf8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "cost"} for line in lines]


def told(out):
    return json.loads((Path(out) / "discretization.json").read_text(encoding="utf8"))


def equal(one, other):
    """Whether two nests of tensors and numbers are the same, bit for bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


class Stopping(Silence):
    """Asks to stop after a round."""

    def __init__(self, after):
        self.after = after

    def after_round(self, search):
        if search.rounds == self.after:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(scope="module")
def watched(tmp_path_factory, truth):
    out = tmp_path_factory.mktemp("watched") / "run"
    # Relaxed, so that deletions are among what is compared.
    return search(quick(out=out, truth=truth, include_none=True, relaxation=0.05, epochs=3), stripes())


def test_the_truth_of_the_present_cell_is_logged_in_every_epoch(watched, truth):
    bench = TabularBenchmark.load(truth)
    assert len(watched.epochs) == 3
    for record in watched.epochs:
        seen = record.truth
        assert seen.test_200 == bench.accuracy(seen.arch)
        assert seen.test_12 == bench.accuracy(seen.arch, 12)
        assert seen.rank == bench.rank(seen.arch)
        assert "none" not in seen.arch
        assert seen.test_200_with_none == bench.accuracy(seen.arch_with_none)
    final = Genotype.load(Path(watched.out) / "genotype.json")
    assert watched.epochs[-1].truth.arch == final.arch == told(watched.out)["arch"]
    assert watched.epochs[-1].truth.arch_with_none == told(watched.out)["arch_with_none"]
    assert metrics(watched.out)[0]["truth"]["arch"] == watched.epochs[0].truth.arch


@pytest.mark.parametrize("other", ["permuted", None])
def test_a_search_never_uses_the_truth(tmp_path, watched, request, other):
    table = request.getfixturevalue(other) if other else None
    config = quick(out=tmp_path / "run", truth=table, include_none=True, relaxation=0.05, epochs=3)
    result = search(config, stripes())
    first, second = metrics(watched.out), metrics(result.out)
    differ = [mine["truth"] != theirs["truth"] for mine, theirs in zip(first, second, strict=True)]
    assert all(differ)
    assert sum(len(e.deleted) for e in result.epochs) > 0
    for line in (*first, *second):
        del line["truth"]
    assert first == second
    assert result.genotype == watched.genotype
    assert result.ledgers == watched.ledgers
    assert told(result.out) == told(watched.out)
    cpu = torch.device("cpu")
    kept = [max((Path(r.out) / "checkpoints").iterdir()) for r in (watched, result)]
    states = [load_checkpoint(path, cpu) for path in kept]
    for state in states:
        del state["metrics"]  # those of the truth among them
    assert equal(*states)


def test_a_stopped_search_goes_on_with_its_truth(tmp_path, truth, watched, monkeypatch):
    config = quick(
        out=tmp_path / "run", truth=Path(truth.name), include_none=True, relaxation=0.05, epochs=3
    )
    monkeypatch.chdir(truth.parent)
    with pytest.raises(Interrupted):
        search(config, stripes(), display=Stopping(after=3))
    monkeypatch.chdir(tmp_path)  # the table is found from anywhere
    result = resume_search(tmp_path / "run", data=stripes())
    assert metrics(result.out) == metrics(watched.out)
    assert result.genotype == watched.genotype


def test_a_damaged_truth_stops_a_resumed_search_before_it_touches_anything(tmp_path):
    table = write_table(tmp_path / "c10.csv", rows())
    with pytest.raises(Interrupted):
        search(quick(out=tmp_path / "run", truth=table), stripes(), display=Stopping(after=3))
    before = (tmp_path / "run" / "metrics.jsonl").read_bytes()
    write_table(table, rows()[1:])
    with pytest.raises(DatasetError, match="has 15,624 architectures"):
        resume_search(tmp_path / "run", data=stripes())
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == before


def test_a_damaged_truth_is_refused_before_there_is_a_run_folder(tmp_path):
    for table, words in ((rows()[1:], "has 15,624 architectures"), ([], "has 0 architectures")):
        path = write_table(tmp_path / "c10.csv", table)
        with pytest.raises(DatasetError, match=words):
            search(quick(out=tmp_path / "run", truth=path), stripes())
    other = write_table(tmp_path / "c10.csv", [[0, "|a~0|", 1, 1, 1, 1, 1, 1]], HEADER)
    with pytest.raises(DatasetError, match=r"line 2 of .* is of another space"):
        search(quick(out=tmp_path / "run", truth=other), stripes())
    assert not (tmp_path / "run").exists()


def test_the_truth_of_another_space_is_not_known(truth):
    with pytest.raises(
        ConfigError, match="truth is known of the space nasbench201, not of darts; leave"
    ):
        tiny(space="darts", truth=truth)


class TestSearches:
    @pytest.mark.parametrize(
        ("arguments", "with_none"),
        [
            ({}, False),
            ({"include_none": True}, True),
            ({"faithful": True}, True),
            ({"faithful": True, "include_none": False}, False),
            ({"method": "darts"}, True),
        ],
    )
    def test_who_has_none_in_the_space(self, arguments, with_none):
        prepared = prepare(quick(**arguments), stripes())
        assert prepared.config.include_none is with_none
        assert isinstance(prepared.search.supernet, BenchmarkSupernet)
        space = SPACES["nasbench201"]
        assert prepared.search.supernet.space == (space.with_none() if with_none else space)
        assert set(prepared.search.mixtures) == {"normal"}

    def test_a_faithful_search_without_none_says_so(self):
        for arguments, said in (({}, False), ({"include_none": False}, True)):
            prepared = prepare(quick(faithful=True, **arguments), stripes())
            lines = cautions(prepared, stripes())
            assert ("faithful to the paper except for include-none False" in lines) is said

    def test_rewards_are_logged_by_operation_and_stage(self, watched):
        names = ("none", *SPACES["nasbench201"].operations)
        first = watched.epochs[0]
        assert set(first.rewards) == {"normal"}
        assert tuple(first.rewards["normal"]) == names
        assert list(first.rewards_by_stage["normal"]) == ["0", "1", "2"]
        for name in names:
            stages = [stage[name] for stage in first.rewards_by_stage["normal"].values()]
            assert sum(stages) == pytest.approx(first.rewards["normal"][name], abs=1e-6)
        assert first.rewards["normal"]["none"] == 0  # its advice is zero, and so is -∇ℓ · f

    def test_every_round_is_played_and_one_expert_is_left(self, watched):
        ledger = watched.ledgers["normal"]
        assert ledger.rounds in (watched.rounds, watched.settled_at)
        assert watched.epochs[-1].experts_alive == {"normal": 6}

    def test_rounds_a_sample_count_every_cell(self, tmp_path):
        config = quick(out=tmp_path / "run", accounting="sample", epochs=1)
        result = search(config, stripes(count=64))
        # 32 validation images, one cell in each of three stages.
        assert result.ledgers["normal"].rounds == 32 * 3
        assert result.genotype.space == "nasbench201"

    def test_cells_are_counted_by_stage(self):
        with pytest.raises(ConfigError, match="cells must be at least 1, got 0"):
            quick(cells=0)
        supernet = prepare(quick(cells=None), stripes()).search.supernet
        assert supernet.replications == {"normal": 6}  # two a stage on a CPU


def stopped_with(truth, out):
    """A search that was stopped in its second epoch."""

    class Stopping(Silence):
        def after_epoch(self, record, epochs):  # noqa: ARG002
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        search(quick(out=out, truth=truth, epochs=3), stripes(), display=Stopping())
    return out


class Heard(Silence):
    def __init__(self):
        self.lines = []

    def warn(self, line):
        self.lines.append(line)


def test_a_search_whose_table_is_gone_goes_on_without_it(tmp_path):
    table = write_table(tmp_path / "c10.csv", rows())
    out = stopped_with(table, tmp_path / "run")
    table.unlink()
    heard = Heard()
    resumed = resume_search(out, data=stripes(), display=heard)
    assert [record.truth is None for record in resumed.epochs] == [False, True, True]
    assert any("is gone; the search continues without true accuracies" in line for line in heard.lines)


def test_a_search_does_not_go_on_with_another_table(tmp_path):
    table = write_table(tmp_path / "c10.csv", rows())
    out = stopped_with(table, tmp_path / "run")
    lines = table.read_text(encoding="utf8").splitlines()
    column = lines[0].split(",").index("c10_test_200")
    changed = [lines[0]]
    for line in lines[1:]:
        fields = line.split(",")
        fields[column] = "12.5"
        changed.append(",".join(fields))
    table.write_text("\n".join(changed), encoding="utf8")
    with pytest.raises(DatasetError, match=r"is not the one that the run began with: it has 12\.5 for"):
        resume_search(out, data=stripes())
