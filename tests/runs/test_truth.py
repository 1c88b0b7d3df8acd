"""Searches with a truth, looked up or judged, that is logged and never used; NAS-Bench-201's space."""

import json
import os
import shutil
import signal
from dataclasses import asdict, replace
from pathlib import Path

import darts_cells
import pytest
import torch
from benchmark_files import read_once
from nasbench201 import HEADER, OTHERS, rows, with_others, write_table
from searching import stripes, tiny

from xnas import ConfigError, DatasetError, Genotype, resume_search, search
from xnas.benchmarks import SurrogateBenchmark, TabularBenchmark
from xnas.engine import load_checkpoint
from xnas.errors import DamagedFileError
from xnas.methods import METHODS
from xnas.process.interrupt import Interrupted
from xnas.records import Judgement, SearchEpoch
from xnas.runs.briefing import cautions
from xnas.runs.displays import Silence
from xnas.runs.prepare import prepare
from xnas.runs.tensorboard import search_curves
from xnas.runs.truth import load_truth, recorded_cell, require_benchmark, require_same
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


def final_state(out):
    """The last checkpoint of a run without its metrics, which hold the truth."""
    state = load_checkpoint(max((Path(out) / "checkpoints").iterdir()), torch.device("cpu"))
    del state["metrics"]
    return state


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
    for line, record in zip(metrics(watched.out), watched.epochs, strict=True):
        assert line["truth"]["arch"] == line["cell"]["arch"] == record.truth.arch
        assert search_curves(record)["true accuracy"] == record.truth.test_200


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
    assert equal(*(final_state(run.out) for run in (watched, result)))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(METHODS))
def test_no_method_uses_the_truth(tmp_path, request, name):
    space = "darts" if name == "pdarts" else "nasbench201"
    known = request.getfixturevalue("cells" if space == "darts" else "truth")
    settings = {"method": name, "space": space, "cells": 3 if space == "darts" else 1}
    settings["epochs"] = 6 if METHODS[name].stages_on(space) else 3
    if METHODS[name].recipe_on(space).partial_channels or name == "drnas-progressive":
        settings["channels"] = 12
    runs = [
        search(quick(out=tmp_path / str(number), truth=table, **settings), stripes())
        for number, table in enumerate((known, None))
    ]
    first, second = (metrics(run.out) for run in runs)
    assert all(line.pop("truth") is not None for line in first)
    assert all(line.pop("truth") is None for line in second)
    assert first == second
    assert told(runs[0].out) == told(runs[1].out)
    assert equal(*(final_state(run.out) for run in runs))


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


def test_a_space_without_benchmarks_is_named(tmp_path):
    words = "no benchmark knows cells of the space narrow, only of darts and nasbench201; leave --truth"
    with pytest.raises(ConfigError, match=words):
        require_benchmark("narrow")
    with pytest.raises(ConfigError, match=words):
        load_truth(tmp_path / "cells.csv", "narrow")
    assert load_truth(None, "narrow") is None


def darts(**arguments):
    """A search with `none` among the experts, which the judge does not know and cells do not have."""
    usual = {"epochs": 2, "batch_size": 16, "relaxation": 0.05, "include_none": True}
    return tiny(**usual | arguments)


@pytest.fixture(scope="module", autouse=True)
def _read_once():
    with read_once():
        yield


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    path = tmp_path_factory.mktemp("cells") / "cells.csv"
    return darts_cells.write_cells(path, darts_cells.rows(100))


@pytest.fixture(scope="module")
def judged(tmp_path_factory, cells):
    return search(darts(out=tmp_path_factory.mktemp("judged") / "run", truth=cells), stripes())


class TestJudged:
    def test_the_present_cell_is_judged_in_every_epoch(self, judged, cells):
        judge = SurrogateBenchmark.load(cells)
        for line, record in zip(metrics(judged.out), judged.epochs, strict=True):
            found = judge.estimate(recorded_cell(record))
            assert record.truth == Judgement(
                accuracy=found.accuracy, error=found.error, percentile=found.percentile
            )
            assert SearchEpoch.from_json(line | {"cost": asdict(record.cost)}) == record
        assert recorded_cell(judged.epochs[-1]) == judged.genotype
        curves = [search_curves(record)["judged accuracy"] for record in judged.epochs]
        assert curves == [record.truth.accuracy for record in judged.epochs]

    def test_a_search_never_uses_the_judge(self, judged, tmp_path):
        alone = search(darts(out=tmp_path / "run"), stripes())
        first, second = metrics(judged.out), metrics(alone.out)
        assert [line.pop("truth") is None for line in (*first, *second)] == [False, False, True, True]
        assert first == second
        assert sum(len(e.deleted) for e in alone.epochs) > 0
        assert (alone.genotype, alone.ledgers) == (judged.genotype, judged.ledgers)
        assert told(alone.out) == told(judged.out)
        states = [final_state(run.out) for run in (judged, alone)]
        assert equal(*states)

    def test_a_stopped_search_goes_on_with_its_judge_and_with_no_other(self, judged, cells, tmp_path):
        own, out = shutil.copy(cells, tmp_path / "cells.csv"), tmp_path / "run"
        with pytest.raises(Interrupted):
            search(darts(out=out, truth=own), stripes(), display=Stopping(after=3))
        copy = shutil.copytree(out, tmp_path / "copy")
        resumed = resume_search(out, data=stripes())
        assert metrics(resumed.out) == metrics(judged.out)
        table = darts_cells.rows(100)
        for row in table:
            row[2] = round(185 - row[2], 4)
        darts_cells.write_cells(own, table)
        before = (copy / "metrics.jsonl").read_bytes()
        words = "is not the one that the run began with: it has .* for the cell of epoch 1, which had"
        with pytest.raises(DatasetError, match=words):
            resume_search(copy, data=stripes())
        assert (copy / "metrics.jsonl").read_bytes() == before

    def test_how_good_the_judge_is_is_said_in_one_line(self, cells):
        judge = load_truth(cells, "darts")
        assert judge.on("cifar100") is judge
        assert judge.line.startswith(
            "judged accuracy: estimated from the 100 cells of cells.csv; on held-out ones the error is "
        )


class TestDataSets:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _table(cls, tmp_path_factory):
        path = tmp_path_factory.mktemp("all") / "all.csv"
        columns = [name for name in OTHERS if name != "in16_test_12"]
        cls.path = write_table(path, with_others(rows(), columns), (*HEADER, *columns))
        cls.table = load_truth(path, "nasbench201")

    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("cifar10", "cifar10"),
            ("cifar100", "cifar100"),
            ("CIFAR-100", "cifar100"),
            ("ImageNet16-120", "imagenet16"),
            ("imagenet16", "imagenet16"),
        ],
    )
    def test_a_search_is_watched_by_its_own_data_set(self, name, data):
        mine = self.table.on(name)
        assert mine.line == f"true accuracy: on {data} after 200 epochs, from all.csv"
        cell = Genotype.random("nasbench201", 3)
        seen = mine.truth(cell, with_none=cell)
        table = self.table.table
        assert seen.data == data
        assert seen.accuracy == seen.test_200 == table.accuracy(cell, data=data)
        assert seen.test_200_with_none == seen.test_200
        missing = data == "imagenet16"
        assert seen.test_12 == (None if missing else table.accuracy(cell, 12, data=data))
        assert seen.rank == table.rank(cell, data=data)

    @pytest.mark.parametrize("name", ["digits", "imagenet", "cifar"])
    def test_cifar10_serves_others_and_that_is_said(self, name):
        mine = self.table.on(name)
        assert mine.data == "cifar10"
        assert mine.line == (
            f"true accuracy: on cifar10 after 200 epochs, from all.csv, which has none on {name}"
        )

    def test_a_search_says_which_data_set_and_logs_it(self, tmp_path):
        heard = Heard()
        config = quick(out=tmp_path / "run", truth=self.path, epochs=1, batch_size=40)
        search(config, replace(stripes(), name="cifar100"), display=heard)
        assert "true accuracy: on cifar100 after 200 epochs, from all.csv" in heard.said
        (line,) = metrics(tmp_path / "run")
        assert line["truth"]["data"] == "cifar100"
        arch = line["cell"]["arch"]
        assert line["truth"]["test_200"] == self.table.table.accuracy(arch, data="cifar100")


class TestRecordedCells:
    def test_a_line_of_an_earlier_version_has_the_cell_of_its_truth_or_none(self, watched, judged):
        assert recorded_cell(replace(watched.epochs[0], cell=None)).arch == watched.epochs[0].truth.arch
        assert recorded_cell(replace(judged.epochs[0], cell=None)) is None
        assert recorded_cell(replace(watched.epochs[0], cell=None, truth=None)) is None
        require_same(load_truth(None, "darts"), judged.epochs)

    def test_a_judged_epoch_without_its_cell_cannot_be_compared(self, judged, cells):
        require_same(load_truth(cells, "darts"), [replace(judged.epochs[0], cell=None)])

    def test_a_damaged_cell_is_named_by_its_epoch(self, judged):
        with pytest.raises(
            DamagedFileError, match=r"metrics\.jsonl is damaged in epoch 1: .*restore it"
        ):
            recorded_cell(replace(judged.epochs[0], cell={"format": "xnas-genotype"}))


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

    def test_a_faithful_search_with_none_says_so(self):
        for arguments, said in (({}, True), ({"include_none": False}, False)):
            prepared = prepare(quick(faithful=True, **arguments), stripes())
            lines = cautions(prepared, stripes())
            [line] = [line for line in lines if line.startswith("faithful to the paper except for")]
            assert ("include-none" in line) is said

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
        self.lines, self.said = [], []

    def say(self, line):
        self.said.append(line)

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
