"""Registries: found by name, added to once, and clear about what is missing."""

from collections.abc import Mapping

import pytest

from xnas.errors import ConfigError
from xnas.registry import Registry, known_names


@pytest.fixture
def colours():
    registry = Registry("colour")
    registry.add("red", 0xFF0000)
    registry.add("blue", 0x0000FF)
    return registry


def test_a_registry_is_a_mapping_in_the_order_of_registration(colours):
    assert isinstance(colours, Mapping)
    assert dict(colours) == {"red": 0xFF0000, "blue": 0x0000FF}
    assert list(colours) == ["red", "blue"]
    assert len(colours) == 2
    assert "red" in colours
    assert "green" not in colours
    assert colours.get("green") is None
    assert colours.get("green", 7) == 7
    assert repr(colours) == "Registry('colour': red, blue)"


def test_a_decorator_registers_and_returns_what_it_decorates():
    shapes = Registry("shape")

    @shapes.register("square")
    def area(side):
        return side**2

    assert shapes["square"] is area
    assert area(3) == 9


def test_a_miss_lists_the_known_names(colours):
    with pytest.raises(ConfigError, match=r"^no colour called 'green'; there are: red, blue$"):
        colours["green"]
    with pytest.raises(ConfigError, match="there are: none yet"):
        Registry("colour")["green"]


def test_a_near_miss_offers_what_was_meant(colours):
    with pytest.raises(ConfigError, match=r"called 'Bleu'; did you mean blue\? there are: red, blue$"):
        colours["Bleu"]


def test_several_near_misses_are_alternatives():
    names = ("xnas", "xnas_small", "pnas", "darts_v2")
    assert known_names("xnass", names).startswith("did you mean xnas, xnas_small or pnas? there are: ")


def test_a_miss_is_a_key_error_that_shows_its_message_plainly(colours):
    with pytest.raises(KeyError) as caught:
        colours["green"]
    assert str(caught.value).startswith("no colour")


def test_a_name_is_taken_once_unless_its_entry_is_to_be_replaced(colours):
    with pytest.raises(ConfigError, match=r"'red' is registered already; .* or pass replace=True"):
        colours.add("red", 1)
    with pytest.raises(ConfigError, match="'blue' is registered already"):
        colours.register("blue")(1)
    assert colours["red"] == 0xFF0000
    colours.add("red", 1, replace=True)
    colours.register("blue", replace=True)(2)
    assert dict(colours) == {"red": 1, "blue": 2}


def test_a_thing_without_a_name_is_refused(colours):
    with pytest.raises(ConfigError, match="a colour needs a name to be found by, got ''"):
        colours.add("", 1)
