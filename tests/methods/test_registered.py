"""A method is found by name, with its recipe and what `xnas methods` prints."""

import pytest
from method_games import game

from xnas import ConfigError, uniform_mixture
from xnas.methods import METHODS, Darts, Recipe, RegisteredMethod, Stage
from xnas.methods.registered import Methods


def test_what_is_found_by_name_makes_a_method():
    mixtures = {"normal": uniform_mixture(4, 5)}
    assert isinstance(METHODS["darts"](mixtures, game()), Darts)
    assert METHODS["darts"].factory is Darts


@pytest.mark.parametrize("name", ["xnas", "darts"])
def test_every_method_of_ours_says_what_it_is_and_costs(name):
    entry = METHODS[name]
    assert entry.summary
    assert entry.paper
    assert entry.costs == "W + M"


def test_a_recipe_may_depend_on_the_space():
    methods = Methods("method")
    methods.add("plain", Darts)
    methods.add(
        "staged",
        Darts,
        recipe=lambda space: Recipe(channels=24 if space == "nasbench201" else None),
        stages=lambda space: [Stage(epochs=2)] * (2 if space == "darts" else 1),
    )
    assert methods["plain"].recipe_on("darts") == Recipe()
    assert methods["plain"].stages_on("darts") == ()
    assert [methods["staged"].recipe_on(s).channels for s in ("darts", "nasbench201")] == [None, 24]
    assert [len(methods["staged"].stages_on(s)) for s in ("darts", "nasbench201")] == [2, 1]


def test_a_method_may_be_registered_as_what_it_decorates():
    methods = Methods("method")

    @methods.register("mine")
    def mine(mixtures, played):
        return Darts(mixtures, played)

    assert methods["mine"] == RegisteredMethod(factory=mine)
    with pytest.raises(ConfigError, match="'mine' is registered already"):
        methods.add("mine", mine)
    methods.add("mine", mine, replace=True, summary="anew")
    assert methods["mine"].summary == "anew"
