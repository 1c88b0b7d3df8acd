"""Whole searches by sampling: run folders, resumption, refusals."""

import json
import os
import signal
from dataclasses import replace

import pytest
from benchmark_files import read_once
from commands import call
from nasbench201 import rows, write_table
from searching import stripes

from xnas import ConfigError, DatasetError, Genotype, SampleConfig, resume_sampling, sample
from xnas.errors import DamagedFileError, FinishedError, RoundError
from xnas.process.interrupt import Interrupted
from xnas.runs.displays import Silence
from xnas.runs.sampling import sample as runs
from xnas.runs.sampling.benchmark_evaluators import TableEvaluator
from xnas.runs.sampling.pools import LocalPool, PoolKind
from xnas.samplers import SAMPLERS
from xnas.space import create_model


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("table") / "table.csv", rows())


@pytest.fixture(scope="module", autouse=True)
def _read_once():
    with read_once():
        yield


@pytest.fixture
def config(table, tmp_path, request):
    if "figure" not in request.node.name:
        request.getfixturevalue("no_figure")
    return SampleConfig(
        space="nasbench201",
        evaluator="table",
        truth=table,
        settings="population=5,sample=2",
        evaluations=12,
        at_once=3,
        out=tmp_path / "run",
    )


@pytest.fixture
def no_figure(monkeypatch):
    """Figures take a second each."""
    monkeypatch.setattr(runs, "_draw", lambda *_: None)


@pytest.fixture
def stop_after(monkeypatch):
    """Make the local pool stop the run, as its user would, at a given trial."""

    def install(number):
        class Stopping(LocalPool):
            def result(self, which=None):
                if which == number:
                    raise Interrupted("stopped inside a training")
                return super().result(which)

        monkeypatch.setitem(runs.POOLS._entries, "local", PoolKind(Stopping, "stops"))

    return install


def files(folder):
    return {
        p.name: p.read_bytes() for p in folder.iterdir() if p.name in {"ledger.jsonl", "genotype.json"}
    }


def test_a_search_leaves_its_best_cell_ledger_curve_and_figure(config):
    result = sample(config)
    folder = config.out
    assert result.out == str(folder)
    assert Genotype.load(folder / "genotype.json") == result.genotype
    values = [record.value for record in result.evaluations]
    assert result.value == max(values) == result.evaluations[-1].best
    assert result.cells[values.index(result.value)] == result.genotype
    assert result.truth.arch == result.genotype.arch
    curve = json.loads((folder / "curve.json").read_text())
    assert (curve["format"], curve["version"]) == ("xnas-curve", 1)
    assert [row["epochs"] for row in curve["evaluations"]] == [12 * n for n in range(1, 13)]
    assert all(row["seconds"] > 0 for row in curve["evaluations"])
    assert (folder / "figures" / "evaluations.svg").exists()
    assert len((folder / "costs.jsonl").read_text().splitlines()) == 12
    saved = json.loads((folder / "config.json").read_text())
    assert (saved["kind"], saved["data"]) == ("sample", "cifar10")
    assert repr(result).startswith(
        f"SampleResult(out={str(folder)!r}, space='nasbench201', evaluations=12"
    )
    assert create_model(folder, channels=2, cells=1)  # what `xnas train RUN` builds


@pytest.mark.parametrize("at", [0, 7])
def test_a_stopped_search_resumes_to_the_same_ledger(config, tmp_path, stop_after, at):
    whole = replace(config, out=tmp_path / "whole")
    sample(whole)
    stop_after(at)
    with pytest.raises(
        Interrupted, match=rf"stopped after evaluation {at}; resume with: xnas sample --resume .*run"
    ):
        sample(config)
    assert not (config.out / "genotype.json").exists()
    stop_after(None)
    resume_sampling(config.out)
    assert files(config.out) == files(whole.out)


def test_a_finished_search_says_so_and_can_be_given_more(config, tmp_path):
    config = replace(config, at_once=1)  # with more, the last ones are asked later than they would be
    sample(config)
    with pytest.raises(FinishedError, match=r"is finished; its best cell is in genotype\.json"):
        resume_sampling(config.out)
    with pytest.raises(
        ConfigError, match="is planned for 12 evaluations; --evaluations may raise them, got 3"
    ):
        resume_sampling(config.out, evaluations=3)
    more = resume_sampling(config.out, evaluations=20)
    assert len(more.evaluations) == 20
    whole = replace(config, evaluations=20, out=tmp_path / "whole")
    sample(whole)
    assert files(config.out) == files(whole.out)
    with pytest.raises(FinishedError):
        resume_sampling(config.out)


def test_a_damaged_answer_is_written_again(config):
    sample(config)
    before = files(config.out)
    (config.out / "genotype.json").write_text("{")
    resume_sampling(config.out)
    assert files(config.out) == before


def test_the_last_rung_has_the_epochs_of_an_evaluation(config):
    pytest.importorskip("optuna")
    settings = replace(config, sampler="halving", settings="min_epochs=12,eta=17", epochs=200)
    sample(settings)
    lines = [json.loads(line) for line in (config.out / "ledger.jsonl").read_text().splitlines()]
    rungs = {line["number"]: line for line in lines if line["event"] == "ask"}
    assert {rung["budget"] for rung in rungs.values()} == {12, 200}
    for rung in rungs.values():
        if rung["budget"] == 200:
            assert rungs[rung["parent"]]["genotype"] == rung["genotype"]
    told = [line for line in lines if line["event"] == "tell"]
    assert all(line["at"] == rungs[line["number"]]["budget"] for line in told)


def test_a_sampler_that_has_planned_cannot_be_given_more(config, monkeypatch):
    fixed = replace(SAMPLERS["evolution"], extendable=False)
    sample(config)
    monkeypatch.setitem(SAMPLERS._entries, "evolution", fixed)
    with pytest.raises(ConfigError, match="the sampler evolution has planned for 12 evaluations"):
        resume_sampling(config.out, evaluations=20)


def test_what_changed_since_the_beginning_is_refused(config, tmp_path, table):
    sample(config)
    (config.out / "genotype.json").unlink()
    other = tmp_path / "other.csv"
    other.write_bytes(table.read_bytes() + b"\n")
    with pytest.raises(
        DatasetError, match=r"other.csv is not the benchmark that the search in .* began"
    ):
        resume_sampling(config.out, truth=other)
    with pytest.raises(DatasetError, match=r"cannot read the benchmark .*gone.csv: No such file"):
        resume_sampling(config.out, truth=tmp_path / "gone.csv")
    with pytest.raises(ConfigError, match="a resumed run keeps its --seed"):
        resume_sampling(config.out, seed=3)
    saved = json.loads((config.out / "config.json").read_text())
    saved["config"]["seed"] = 1
    (config.out / "config.json").write_text(json.dumps(saved))
    asks = r"line 2 of .*: the sampler asks another cell .* may have been changed"
    with pytest.raises(DamagedFileError, match=asks + "; restore them from a copy, or begin"):
        resume_sampling(config.out)
    saved["made_with"]["torch"] = "1.0"
    (config.out / "config.json").write_text(json.dumps(saved))
    with pytest.raises(DamagedFileError, match=asks + r", or .*: xnas 0.*, torch 1\.0.* wrote it; "):
        resume_sampling(config.out)


def test_the_limits_hold_for_the_answer(config):
    result = sample(replace(config, max_params=400_000, max_macs=1e8))
    assert max(record.parameters for record in result.evaluations) <= 400_000
    with pytest.raises(
        ConfigError, match=r"no cell of the space nasbench201 is within --max-params 1000: the least"
    ):
        sample(replace(config, max_params=1000, out=config.out.with_name("none")))


@pytest.mark.parametrize(
    ("changes", "data", "words"),
    [
        ({"sampler": "evolutoin"}, None, "no sampler called 'evolutoin'; did you mean evolution"),
        (
            {"settings": "populatoin=3"},
            None,
            "the sampler has no setting 'populatoin'; did you mean pop",
        ),
        (
            {"settings": "population=0"},
            None,
            "the setting population of --settings must be at least 1",
        ),
        ({"pool": "lokal"}, None, "no pool called 'lokal'; did you mean local"),
        ({"tied": True}, None, "have one kind; there is nothing to tie"),
        ({}, object(), "the evaluator table needs no images; leave them out, or name the data set"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_written(config, changes, data, words):
    with pytest.raises(ConfigError, match=words):
        sample(replace(config, **changes), data)
    assert not config.out.exists()


@pytest.mark.parametrize("evaluator", ["surrogate", "shared"])
def test_cells_that_grow_need_an_evaluator_that_takes_them(tmp_path, evaluator):
    """On nasbench201 they have all edges from the beginning: see the remarks below."""
    config = SampleConfig(sampler="progressive", evaluator=evaluator, out=tmp_path / "run")
    data = None if evaluator == "surrogate" else stripes()
    with pytest.raises(
        ConfigError, match=rf"fewer nodes than the space darts has, which the evaluator {evaluator} can"
    ):
        sample(config, data)
    assert not config.out.exists()


@pytest.mark.parametrize("sampler", ["halving", "bohb"])
def test_rungs_that_the_table_does_not_know_are_refused_with_those_that_it_knows(config, sampler):
    pytest.importorskip("optuna")
    config = replace(config, sampler=sampler, settings=None)
    with pytest.raises(
        ConfigError,
        match=r"a training of 1 epoch, and .* --settings min_epochs=12,max_epochs=200,eta=17",
    ):
        sample(config)
    with pytest.raises(ConfigError, match="a training of 36 epochs, and the table knows 12 and 200"):
        sample(replace(config, settings="min_epochs=12,max_epochs=200"))
    assert not config.out.exists()
    sample(replace(config, settings="min_epochs=12,max_epochs=200,eta=17"))


def test_all_failures_are_a_search_without_an_answer(config, monkeypatch):
    def fail(*_):
        raise RoundError("the loss is nan")

    monkeypatch.setattr("xnas.runs.sampling.benchmark_evaluators.TableEvaluator.evaluate", fail)
    with pytest.raises(
        ConfigError, match=r"all of its 12 evaluations failed.*: the loss is nan; .*begin an"
    ):
        sample(config)


def test_what_a_sampler_remarks_is_recorded_and_its_warning_shown(config, tmp_path):
    said, warned = [], []

    class Display(Silence):
        def say(self, line):
            said.append(line)

        def warn(self, line):
            warned.append(line)

    few = replace(config, sampler="progressive", settings="steps=2,members=1", evaluations=24)
    sample(few, display=Display())
    curve = json.loads((tmp_path / "run" / "curve.json").read_text())
    assert list(curve["remarks"]) == ["rank_correlation_2", "rank_correlation_3"]
    assert any(line.startswith("sampler progressive: rank_correlation_2 ") for line in said)
    assert warned == []
    stuck = "controller=logits,learning_rate=5.0"
    sample(
        replace(few, sampler="controller", settings=stuck, evaluations=80, out=tmp_path / "stuck"),
        display=Display(),
    )
    assert ["the controller has collapsed" in line for line in warned] == [True]


def test_a_search_killed_at_any_byte_of_its_ledger_resumes_to_the_same(config):
    config = replace(config, evaluations=6)
    sample(config)
    whole = files(config.out)
    ledger, ends = config.out / "ledger.jsonl", len(whole["ledger.jsonl"])
    for cut in {0, 1, 40, 58, 59, *range(60, ends, ends // 25), ends - 1, ends}:
        for later in ("genotype.json", "curve.json", "costs.jsonl"):
            (config.out / later).unlink(missing_ok=True)
        ledger.write_bytes(whole["ledger.jsonl"][:cut])
        resume_sampling(config.out)
        assert files(config.out) == whole, cut


def test_a_search_without_its_ledger_is_not_begun_again(config):
    sample(config)
    ledger = config.out / "ledger.jsonl"
    ledger.write_bytes(b"")
    before = {path: path.read_bytes() for path in config.out.iterdir() if path.is_file()}
    with pytest.raises(
        DamagedFileError, match=r"is missing or empty, though .* of 12 evaluations; rest"
    ):
        resume_sampling(config.out, evaluations=20)
    assert before == {path: path.read_bytes() for path in config.out.iterdir() if path.is_file()}


def test_a_ledger_that_does_not_fit_costs_a_finished_search_nothing(config):
    sample(config)
    ledger = config.out / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"done"', '"gone"', 1))
    before = {path: path.read_bytes() for path in config.out.iterdir() if path.is_file()}
    with pytest.raises(DamagedFileError, match="its state is 'gone'"):
        resume_sampling(config.out, evaluations=20)
    assert before == {path: path.read_bytes() for path in config.out.iterdir() if path.is_file()}


def test_an_interrupted_search_ends_with_its_resume_command(config, monkeypatch, capsys):
    """Ctrl-C during the fifth evaluation: it is finished, and the search stops."""
    evaluate = TableEvaluator.evaluate

    def interrupted(self, trial, folder):
        if trial.number == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return evaluate(self, trial, folder)

    monkeypatch.setattr(TableEvaluator, "evaluate", interrupted)
    flags = ["--space", "nasbench201", "--evaluator", "table", "--truth", config.truth, "--sampler"]
    status, _, told = call(capsys, "sample", *flags, "random", "--out", config.out)
    assert status == 130
    assert told == f"xnas: stopped after evaluation 5; resume with: xnas sample --resume {config.out}\n"
    assert not (config.out / "genotype.json").exists()
    assert len(resume_sampling(config.out).evaluations) == 100
