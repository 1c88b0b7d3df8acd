"""What a search asks a method for."""

import pytest
from method_games import build

from xnas import ConfigError
from xnas.methods import METHODS, ledgers


def test_unknown_methods_are_named():
    with pytest.raises(ConfigError, match="no method called 'magic'; there are: "):
        METHODS["magic"]


def test_ledgers_are_kept_by_methods_of_expert_advice_alone():
    mixtures, xnas = build("xnas")
    assert set(ledgers(xnas, mixtures)) == {"normal", "reduction"}
    mixtures, darts = build("darts")
    assert ledgers(darts, mixtures) == {}
