"""Evaluators that look cells up: validation accuracies alone, and the sizes that go with them."""

import pickle
from pathlib import Path

import darts_cells
import pytest
from benchmark_files import read_once
from nasbench201 import HEADER, OTHERS, all_cells, arch, parameters, rows, with_others, write_table

from xnas.benchmarks import TabularBenchmark
from xnas.errors import ConfigError
from xnas.runs.sampling import benchmark_evaluators  # noqa: F401 - registers
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.evaluators import EVALUATORS
from xnas.samplers import Trial
from xnas.space import Genotype, count_parameters, create_model

FOLDER = Path("unused")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "table.csv"
    return write_table(path, with_others(rows()), (*HEADER, *OTHERS))


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    path = tmp_path_factory.mktemp("cells") / "cells.csv"
    return darts_cells.write_cells(path, darts_cells.rows())


@pytest.fixture(scope="module", autouse=True)
def _read_once():
    with read_once():
        yield


def built(data=None, **settings):
    config = SampleConfig(**settings)
    return EVALUATORS[config.evaluator].build(config, data)


def test_the_table_gives_validation_accuracies_and_never_test(table):
    names = all_cells()[12_345]
    cell, entry = Genotype.from_arch(arch(names)), TabularBenchmark.load(table)[arch(names)]
    given = {"evaluator": "table", "space": "nasbench201", "truth": table}
    for settings, data, expected in (
        ({}, None, entry.valid_12),
        ({"epochs": 200}, "CIFAR-10", entry.valid_200),
        ({"epochs": 200}, "cifar100", entry.others["c100_valid_200"]),
        ({}, "imagenet16", entry.others["in16_valid_12"]),
    ):
        evaluator = built(data, **given, **settings)
        result = evaluator.evaluate(Trial(number=4, genotype=cell), FOLDER)
        assert (result.number, result.value) == (4, expected / 100)
        assert result.at == settings.get("epochs", 12)
        assert result.cost["parameters"] == evaluator.size(cell).parameters == parameters(names)
    rung = evaluator.evaluate(Trial(number=5, genotype=cell, budget=200), FOLDER)
    assert (rung.value, rung.at) == (entry.others["in16_valid_200"] / 100, 200)
    assert evaluator.size(cell).macs == 7_500_000
    with pytest.raises(ConfigError, match="asks for a training of 3 epochs, and the table knows 12 and"):
        evaluator.evaluate(Trial(number=6, genotype=cell, budget=3), FOLDER)


def test_the_judge_gives_estimates_and_the_sizes_of_the_benchmarks_network(cells):
    evaluator = built(evaluator="surrogate", truth=cells)
    cell = Genotype.random("darts", 3)
    result = evaluator.evaluate(Trial(number=0, genotype=cell), FOLDER)
    assert result.value == pytest.approx(evaluator.judge.accuracy(cell) / 100)
    assert result.at == 100
    # What a ledger is compared with.
    assert evaluator.known_value(Trial(number=0, genotype=cell)) == (pytest.approx(result.value), 100)
    assert evaluator.size(cell).parameters == count_parameters(create_model(cell, channels=32, cells=8))
    again = pickle.loads(pickle.dumps(evaluator))  # noqa: S301 - as for the processes of a pool
    assert again.evaluate(Trial(number=0, genotype=cell), FOLDER) == result
    with pytest.raises(ConfigError, match="the judge estimates trainings of 100 epochs, not of 50"):
        evaluator.evaluate(Trial(number=0, genotype=cell, budget=50), FOLDER)


@pytest.mark.parametrize(
    ("settings", "data", "words"),
    [
        (
            {"space": "darts"},
            None,
            "the evaluator table knows cells of the space nasbench201, not of da",
        ),
        (
            {"truth": None},
            None,
            "the evaluator table reads the CSV of a benchmark; name it with --truth",
        ),
        ({"epochs": 90}, None, "the table knows accuracies after 12 and 200 epochs, not after 90"),
        ({}, "photos", "the table knows the data sets cifar10, cifar100 and imagenet16, not photos"),
        (
            {"evaluator": "surrogate", "space": "nasnet"},
            None,
            "the evaluator surrogate knows cells of the space darts, not of nasnet",
        ),
        (
            {"evaluator": "surrogate", "space": "darts", "epochs": 24},
            None,
            "100 epochs, not of 24; leave",
        ),
        (
            {"evaluator": "surrogate", "space": "darts"},
            "digits",
            "cells trained on cifar10, not on digits",
        ),
        ({"evaluator": "tabel"}, None, "no evaluator called 'tabel'; did you mean table"),
    ],
)
def test_what_a_benchmark_does_not_know_is_refused(settings, data, words, table):
    given = {"evaluator": "table", "space": "nasbench201", "truth": table} | settings
    with pytest.raises(ConfigError, match=words):
        built(data, **given)


def test_a_table_without_the_column_is_refused(tmp_path):
    path = write_table(tmp_path / "table.csv", rows())
    with pytest.raises(ConfigError, match="no validation accuracy on cifar100 after 12 epochs"):
        built("cifar100", evaluator="table", space="nasbench201", truth=path)
