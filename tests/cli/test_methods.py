"""`xnas methods`: the table of all methods and one of them."""

import pytest
from commands import call

from xnas.methods import METHODS


def test_all_methods_are_listed_one_per_line(capsys):
    status, out, err = call(capsys, "methods")
    assert (status, err) == (0, "")
    names = [line.split()[0] for line in out.split("\n\n")[0].splitlines()[1:]]
    assert names[0] == "xnas"
    assert sorted(names) == sorted(METHODS)
    assert "1.81 p" in out


@pytest.mark.parametrize("name", ["gaea", "pdarts", "darts-pt-quick"])
def test_one_method_is_described_with_rule_recipe_and_departures(capsys, name):
    status, out, _ = call(capsys, "methods", name)
    assert status == 0
    assert out.startswith(f"{name}: {METHODS[name].summary}")
    assert "recipe on darts: epochs" in out
    assert METHODS[name].paper in out
    assert "published: " in out


def test_an_unknown_method_is_one_line(capsys):
    status, _, err = call(capsys, "methods", "gaia")
    assert status == 2
    assert "no method called 'gaia'; did you mean gaea" in err
