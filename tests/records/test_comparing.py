"""A comparison as a record: what its file must hold."""

import json
from dataclasses import asdict

import pytest
from comparing import failed, found, run

from xnas.records import RunComparison


def saved():
    runs = [run(name, seed, 90.0 + seed) for name in ("xnas", "darts") for seed in range(2)]
    comparison = found(*runs, failed("darts", 2), test="welch", random_means={("digits", "darts"): 80.0})
    return comparison, json.loads(json.dumps(asdict(comparison)))


def test_a_comparison_comes_back_from_its_file_whatever_else_that_holds():
    comparison, whole = saved()
    assert RunComparison.from_json(whole | {"config": {}, "state": "finished"}) == comparison
    assert (comparison.done, comparison.failed) == (4, 1)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda whole: whole.pop("reference"), "the key 'reference' is missing"),
        (lambda whole: whole.update(reference=3), "reference is a int, not text"),
        (lambda whole: whole.update(measure=None), "measure is a NoneType, not text"),
        (lambda whole: whole["runs"][0].pop("seed"), "the key 'seed' is missing in 'runs'"),
        (lambda whole: whole["runs"][0].update(more=1), "the key 'more' is unknown in 'runs'"),
        (lambda whole: whole["runs"][0].update(reason=[]), "reason is a list, not text"),
        (lambda whole: whole["summaries"][0].update(mean="x"), "mean holds a str, not a number"),
        (lambda whole: whole.update(random_mean={"a": "x"}), "random_mean holds a str"),
    ],
)
def test_a_fault_is_named(spoil, words):
    _, whole = saved()
    spoil(whole)
    with pytest.raises(TypeError, match=words):
        RunComparison.from_json(whole)
