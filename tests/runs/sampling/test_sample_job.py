"""What a search by sampling leaves and says: its answer, limits, rungs, failures and remarks."""

import json
import os
import signal
from dataclasses import replace

import pytest
from commands import call
from searching import stripes

from xnas import ConfigError, Genotype, SampleConfig, resume_sampling, sample
from xnas.errors import RoundError
from xnas.runs.displays import Silence
from xnas.runs.sampling.benchmark_evaluators import TableEvaluator
from xnas.runs.sampling.sample_job import _remark
from xnas.samplers import SAMPLERS
from xnas.samplers.random_search import RandomSearch
from xnas.space import create_model


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


def test_the_limits_hold_for_the_answer(config):
    result = sample(replace(config, max_params=400_000, max_macs=1e8))
    assert max(record.parameters for record in result.evaluations) <= 400_000
    with pytest.raises(
        ConfigError, match=r"no cell of the space nasbench201 is within --max-params 1000: the least"
    ):
        sample(replace(config, max_params=1000, out=config.out.with_name("none")))


@pytest.mark.parametrize("sampler", sorted(SAMPLERS))
def test_more_evaluations_than_there_are_cells_are_refused(config, sampler):
    if sampler in {"tpe", "halving", "bohb"}:
        pytest.importorskip("optuna")
    rungs = "min_epochs=12,max_epochs=200,eta=17" if sampler in {"halving", "bohb"} else None
    most, each = ("31,250", ", each with 2 rungs") if rungs else ("15,625", "")
    with pytest.raises(
        ConfigError, match=rf"--evaluations must be at most {most}, .* 15,625 cells{each}, got 31251$"
    ):
        sample(replace(config, sampler=sampler, settings=rungs, evaluations=31_251))
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
    assert any(line.startswith("sampler progressive: rank correlation at step 2 ") for line in said)
    assert warned == []
    stuck = "controller=logits,learning_rate=5.0"
    sample(
        replace(few, sampler="controller", settings=stuck, evaluations=80, out=tmp_path / "stuck"),
        display=Display(),
    )
    assert ["the controller has collapsed" in line for line in warned] == [True]


def test_a_remark_that_is_not_defined_says_so():
    assert _remark("rank_correlation_2", None) == "rank correlation at step 2 not defined"


class Warned(Silence):
    """Keeps what it is told."""

    def __init__(self):
        self.warnings = []

    def warn(self, line):
        self.warnings.append(line)


def test_a_search_that_ends_before_its_evaluations_says_why(config):
    display = Warned()
    few = replace(config, sampler="progressive", settings="steps=2,members=1,beam=3", max_params=1e6)
    sample(replace(few, evaluations=100), display=display)
    (line,) = display.warnings
    assert line == (  # after five cells of one node, and twice three
        "the search ended after 11 of 100 evaluations: the sampler progressive has no further cells "
        "within --max-params 1000000 to ask"
    )


def test_a_search_that_evaluates_the_same_cells_again_says_so(config, monkeypatch):
    display, one = Warned(), Genotype.random("nasbench201", 0)
    monkeypatch.setattr(RandomSearch, "ask", lambda self: self.book.ask(one))
    sample(replace(config, sampler="random", settings=None), display=display)
    (line,) = display.warnings
    assert line.startswith("12 evaluations were of 1 different cell alone: the sampler random asks for")


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


def test_an_interrupt_stops_a_sampler_that_plans(config, monkeypatch, capsys):
    def plans(_):
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("the sampler went on")

    monkeypatch.setattr("xnas.samplers.random_search.RandomSearch.ask", plans)
    flags = ["--space", "nasbench201", "--evaluator", "table", "--truth", config.truth, "--sampler"]
    status, _, told = call(capsys, "sample", *flags, "random", "--out", config.out)
    assert status == 130
    assert told == f"xnas: stopped after evaluation 0; resume with: xnas sample --resume {config.out}\n"
