"""What is refused before anything starts; whole calls are in test_compare."""

import pytest
from comparing import images

from xnas import CompareConfig, ConfigError
from xnas.runs.comparison.checks import benchmark_data, compared_data, sampled_data
from xnas.runs.sampling.config import SampleConfig


def test_data_are_loaded_by_name_or_taken_as_they_are():
    named, given = compared_data(["digits", images()], CompareConfig())
    assert (named.label, named.place) == ("digits", "digits")
    assert (given.label, given.place) == ("stripes", None)


def test_two_of_one_name_are_refused():
    with pytest.raises(ConfigError, match="two data sets are called 'digits'; give each once"):
        compared_data(["digits", "digits"], CompareConfig())


def test_a_benchmark_knows_data_by_their_name():
    assert benchmark_data("CIFAR-100") == "cifar100"
    assert benchmark_data("photos") is None
    table = SampleConfig(space="nasbench201", evaluator="table")
    assert sampled_data(table, "cifar10", "x") == "cifar10"
    assert sampled_data(SampleConfig(), "cifar10", "x") == "x"
