"""Options of a search that draws whole cells."""

import pytest

from xnas.errors import ConfigError
from xnas.runs.sampling.config import SampleConfig, parse_settings, settings_text


def test_settings_are_names_with_values():
    text = "population=10, rate=0.5,controller=logits,copies=none,mutate=true"
    expected = {"population": 10, "rate": 0.5, "controller": "logits", "copies": None, "mutate": True}
    assert parse_settings(text) == expected
    assert parse_settings(settings_text(expected)) == expected
    assert (settings_text({}), SampleConfig().sampler_settings) == (None, {})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"settings": "population"},
            "--settings must be like .*, got 'population'$",
        ),
        ({"settings": "a=1,nope"}, "--settings must be like .*, got 'nope' in 'a=1,nope'"),
        ({"settings": "a=1,a=2"}, "--settings names 'a' twice"),
        ({"evaluations": 0}, "--evaluations must be at least 1, got 0"),
        ({"evaluations": 10**11}, "--evaluations must be at most 100,000, got 100000000000"),
        ({"at_once": 0}, "--at-once must be at least 1, got 0"),
        ({"max_params": -1.0}, "--max-params must be positive and finite, got -1.0"),
        ({"space": "dartz"}, "no search space called 'dartz'; did you mean darts"),
    ],
)
def test_what_cannot_be_used_is_refused(given, words):
    with pytest.raises(ConfigError, match=words):
        SampleConfig(**given)
