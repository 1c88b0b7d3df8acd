"""`xnas methods --json` prints one JSON document with stable keys."""

import json

import pytest
from commands import call

from xnas.cli.method_record import method_record
from xnas.methods import METHODS

SUMMARY = {
    *("name", "summary", "paper", "passes", "round_cost", "measured_round_cost", "measured_gib"),
    *("memory", "needs", "error", "error_source"),
}


def test_all_methods_are_listed(capsys):
    status, out, _ = call(capsys, "methods", "--json")
    listed = json.loads(out)["methods"]
    assert status == 0
    assert {entry["name"] for entry in listed} == {*METHODS}
    assert listed[0]["name"] == "xnas"
    assert all({*entry} == SUMMARY for entry in listed)
    assert {tuple(entry["needs"]) for entry in listed} >= {(), ("stages",)}


def test_one_method_has_rule_recipe_and_published_figures(capsys):
    record = json.loads(call(capsys, "methods", "darts", "--json")[1])
    assert {*record} == SUMMARY | {"format", "version", "rule", "spaces", "published"}
    assert record["spaces"]["darts"]["recipe"]["batch_size"] == METHODS["darts"].recipe.batch_size
    assert record["published"]["cifar10"]["error"] == record["error"]


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_is_plain_values(name):
    json.dumps(method_record(name))


def test_a_space_that_a_method_refuses_says_why():
    refused = [
        space
        for name in METHODS
        for space in method_record(name)["spaces"].values()
        if space["refusal"] is not None
    ]
    assert refused
    assert all(space["recipe"] is None for space in refused)
