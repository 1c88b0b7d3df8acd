"""What is printed of a method."""

from functools import partial

import pytest

from xnas.cli.method_description import (
    method_lines,
    method_table,
    needs_of,
    recipe_words,
    rule_of,
    stage_words,
)
from xnas.methods import METHODS, Darts, Recipe, RegisteredMethod, Stage
from xnas.methods.gdas import gdas
from xnas.methods.measured import Measured


def test_a_recipe_is_the_numbers_that_it_fixes():
    assert recipe_words(Recipe()) == "the package's own numbers"
    assert recipe_words(Recipe(epochs=5, weights_lr=0.025, nesterov=True)) == (
        "epochs 5, weights lr 0.025, nesterov yes"
    )
    assert stage_words(Stage(epochs=3, cells=5)) == "epochs 3, cells 5"
    assert stage_words(Stage(epochs=3, fresh_weights=False)) == "epochs 3, keeps the weights"
    assert stage_words(Stage(epochs=3, experts=2, fresh_method=False)) == (
        "epochs 3, experts 2, keeps the method"
    )


def test_needs_follow_from_recipe_and_stages():
    assert needs_of(METHODS["gaea"]) == "-"
    assert needs_of(METHODS["snas"]) == "single level"
    assert needs_of(METHODS["darts2"]) == "fp32"
    assert needs_of(METHODS["drnas-progressive"]) == "stages, multiples of 12 channels"  # K 6 and 4
    assert needs_of(METHODS["pc-darts"]) == needs_of(METHODS["gaea-pc"]) == "multiples of 4 channels"


def test_measurements_are_what_decides_at_the_end_of_epochs_not_what_a_round_looks_at():
    assert needs_of(METHODS["random"]) == needs_of(METHODS["xnas-pt"]) == "measurements"
    assert needs_of(METHODS["darts-pt"]) == "stages, measurements"
    assert needs_of(METHODS["proxyless-rl"]) == "-"


def test_departures_stand_in_the_rule():
    assert "Departure:" in rule_of(METHODS["fair"])
    assert "zero-one loss" in rule_of(METHODS["fair"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fair", "0.85"),
        ("dso", "a norm of 5"),
        ("dso", "`none` is not among the experts"),
        ("beta", "does not scale with the number of epochs"),
        ("drnas", "No such recipe was published"),
        ("gdas", "function only"),
    ],
)
def test_what_differs_from_the_original_or_surprises_is_said(name, words):
    assert words in " ".join(rule_of(METHODS[name]).split())


def test_every_method_is_shown_with_the_order_of_its_steps():
    for name in METHODS:
        assert any(
            line.startswith("order of a round: first the weights'") for line in method_lines(name)
        )


def test_a_method_of_your_own_is_described_by_its_docstring():
    def mine(mixtures, game):
        """Learns by luck."""
        return Darts(mixtures, game)

    assert rule_of(RegisteredMethod(factory=mine)) == "Learns by luck."


def test_a_variant_is_described_as_what_it_varies():
    variant = RegisteredMethod(factory=partial(gdas, form="selected"))
    assert rule_of(variant) == rule_of(METHODS["gdas"])


def test_a_space_without_stages_says_why():
    lines = method_lines("pdarts")
    assert any(line.startswith("on nasbench201: pdarts deepens") for line in lines)
    assert "  stage 3: epochs 25, cells 17, experts 3" in lines


def test_costs_are_measured_ones_or_marked_as_estimates(monkeypatch):
    monkeypatch.setattr("xnas.cli.method_description.MEASURED", {"gdas": Measured(0.98, 3.4)})
    rows = {line.split()[0]: line.split() for line in method_table() if line}
    assert rows["gdas"][1:4] == ["0.98", "3.4", "GiB"]
    assert rows["darts"][1:4] == ["~1.0", "as", "xnas"]
    assert rows["pc-darts"][1:3] == ["<1.0", "less"]
    assert "measured on one H200: 0.98 rounds of xnas, 3.4 GiB" in method_lines("gdas")


def test_methods_without_figures_say_so():
    assert method_lines("xnas-pt")[-1] == "published: no figures are known here"
