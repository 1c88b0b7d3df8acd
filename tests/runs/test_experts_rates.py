"""Rates of the mixtures as a user writes them."""

import pytest

from xnas import ConfigError
from xnas.runs.experts_rates import parse_experts_lr


@pytest.mark.parametrize(
    ("given", "rates"),
    [
        ("matched", "matched"),
        ("matched-by-kind", "matched-by-kind"),
        (0.25, 0.25),
        (0.123456789, 0.123456789),
        ("0.25", 0.25),
        ("paper,matched", {"normal": "paper", "reduction": "matched"}),
        ("1e-3, 0.1", {"normal": 1e-3, "reduction": 0.1}),
    ],
)
def test_one_rate_or_one_for_each_kind(given, rates):
    assert parse_experts_lr(given) == rates


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("fast", "must be paper, matched, matched-by-kind or a number above 0 .* got 'fast'$"),
        ("", "got ''$"),
        (0.0, "got '0'$"),
        (0, "got '0'$"),
        ("nan", "got 'nan'"),
        ("paper,", "must be paper, matched or a number .* got '' in 'paper,'"),
        ("0.1,0", "got '0' in '0.1,0'"),
        ("0.1,matched-by-kind", "paper, matched or a number .* got 'matched-by-kind' in"),
        ("1,2,3", "one rate, or two as NORMAL,REDUCTION, got 3 in '1,2,3'"),
    ],
)
def test_what_is_no_rate_is_named(given, words):
    with pytest.raises(ConfigError, match=words):
        parse_experts_lr(given)
