"""Results, and entries of SAMPLERS."""

from dataclasses import dataclass

import pytest

from xnas.errors import ConfigError
from xnas.options import POSITIVE, Options, option
from xnas.samplers import SAMPLERS, Result, SamplerKind
from xnas.space import encoding_of


@dataclass(frozen=True, kw_only=True)
class Settings(Options):
    rate: float = option(0.1, POSITIVE)


KIND = SamplerKind(lambda *given: given, Settings, "for tests", spaces=("darts",))


def test_settings_are_typed_and_bounded():
    assert KIND(encoding_of("darts"), 3, {"rate": 0.5})[1:] == (3, Settings(rate=0.5))
    with pytest.raises(ConfigError, match="the sampler has no setting 'rat'; did you mean rate"):
        KIND.checked({"rat": 1})
    with pytest.raises(ConfigError, match="the setting rate of --settings must be positive"):
        KIND.checked({"rate": 0.0})


def test_a_sampler_for_other_spaces_says_so():
    with pytest.raises(ConfigError, match="draws cells of the space darts, not of nasnet"):
        KIND(encoding_of("nasnet"), 0, {})


def test_an_unknown_sampler_is_named():
    with pytest.raises(ConfigError, match="no sampler called 'rundom'; did you mean random"):
        SAMPLERS["rundom"]


@pytest.mark.parametrize(
    ("value", "state", "words"),
    [
        (None, "done", "trial 4 is 'done' with the value None"),
        (0.5, "failed", "trial 4 is 'failed' with the value 0.5"),
        (float("nan"), "done", "the value of trial 4 is nan; one that is not finite, or has "),
        (10**400, "done", r"the value of trial 4 is 1000.*000; one that is not finite"),
        (1e308, "done", r"the value of trial 4 is 1e\+308; .* or has 1e\+15 or more, has failed"),
    ],
)
def test_a_result_has_a_value_or_has_failed(value, state, words):
    with pytest.raises(ConfigError, match=words):
        Result(number=4, value=value, state=state)
