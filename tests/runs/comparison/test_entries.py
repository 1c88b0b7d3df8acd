"""What is compared."""

import pytest

from xnas import CompareConfig, ConfigError
from xnas.runs.comparison.entries import entries_of, measure_of, reference_of, require_seeds


def test_entries_are_listed_ones_own_ones_and_random_cells():
    entries = {"darts": {"epochs": 3}, "plain": {"method": "xnas", "skip_dropout": 0}}
    own = {"quick": {"sampler": "random", "evaluations": 3}}
    config = CompareConfig(methods="xnas,darts", samplers="local", train="quick", entries=entries | own)
    assert [(entry.name, entry.kind, entry.settings) for entry in entries_of(config)] == [
        ("xnas", "method", {"method": "xnas"}),
        ("darts", "method", {"method": "darts", "epochs": 3}),
        ("sample-local", "sampler", {"sampler": "local"}),
        ("plain", "method", {"method": "xnas", "skip_dropout": 0}),
        ("quick", "sampler", {"sampler": "random", "evaluations": 3}),
        ("random cells", "random", {}),
    ]


def test_the_measure_follows_from_what_is_given():
    assert measure_of(CompareConfig(truth="a.csv")) == "judged"
    assert measure_of(CompareConfig(truth="a.csv", space="nasbench201")) == "true"
    assert measure_of(CompareConfig(train="quick")) == "trained"
    assert measure_of(CompareConfig()) == "supernet"


def test_the_reference_is_xnas_or_the_first():
    for methods, against, wanted in (("darts,xnas", None, "xnas"), ("gaea,darts", None, "gaea")):
        config = CompareConfig(methods=methods, against=against)
        assert reference_of(config, entries_of(config)) == wanted
    config = CompareConfig(against="darts")
    assert reference_of(config, entries_of(config)) == "darts"


@pytest.mark.parametrize(
    ("given", "needed"),
    [
        ({"methods": "xnas,darts"}, 4),
        ({"methods": "xnas,darts", "test_kind": "paired"}, 6),
        ({"methods": "xnas,darts,gaea,random", "samplers": "random,evolution"}, 5),
    ],
)
def test_fewer_seeds_than_the_test_needs_are_refused(given, needed):
    few = CompareConfig(truth="a.csv", seeds=list(range(needed - 1)), **given)
    enough = CompareConfig(truth="a.csv", seeds=list(range(needed)), **given)
    require_seeds(enough, entries_of(enough), 1)
    with pytest.raises(ConfigError, match=f"needs {needed} seeds .*--seeds 0-{needed - 1}.*--no-test"):
        require_seeds(few, entries_of(few), 1)
    for other in ({"test": False}, {"test_kind": "welch"}, {"truth": None}):
        config = CompareConfig(**{"truth": "a.csv", "seeds": "0-1", **given, **other})
        require_seeds(config, entries_of(config), 1)


def test_the_baseline_keeps_its_name():
    config = CompareConfig(train="quick", entries={"random cells": {"method": "xnas"}})
    with pytest.raises(ConfigError, match="cannot be called 'random cells'"):
        entries_of(config)
    with pytest.raises(ConfigError, match="must be a table of settings, got 3"):
        entries_of(CompareConfig(entries={"a": 3}))
