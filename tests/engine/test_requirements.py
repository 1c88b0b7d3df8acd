"""A method that a supernet or the settings cannot serve is refused in one line."""

import pytest
from hooked import Plain, Sampled, hooked
from torch import nn

from xnas import ConfigError
from xnas.engine import SearchSettings
from xnas.engine.requirements import require_supernet


class Own(nn.Module):
    """A supernet that does not separate its cells."""


class ByPasses(Plain):
    def learn(self, passes):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        (Plain, {"accounting": "sample"}, "Own does not spread .* use accounting='update'"),
        (Sampled, {}, "Own does not spread .* which the method Sampled needs; give it spread, ident"),
        (Plain, {"joint": True}, "Own does not spread .* which a joint gradient needs; give it"),
    ],
)
def test_what_a_supernet_of_one_s_own_cannot_serve_is_named(method, settings, words):
    with pytest.raises(ConfigError, match=words):
        require_supernet(
            Own(), method({}, None), SearchSettings(epochs=1, rounds_per_epoch=1, **settings)
        )


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        (Sampled, {"accounting": "sample"}, "the method Sampled has one gradient per batch; use acc"),
        (Plain, {"accounting": "sample", "joint": True}, "a joint gradient has one gradient per batch"),
        (ByPasses, {"joint": True}, "ByPasses learns by passes of its own, .*; set joint=False"),
    ],
)
def test_settings_that_a_method_cannot_serve_are_named(method, settings, words):
    supernet = hooked(Plain).supernet
    with pytest.raises(ConfigError, match=words):
        require_supernet(
            supernet, method({}, None), SearchSettings(epochs=1, rounds_per_epoch=1, **settings)
        )


def test_methods_without_hooks_go_with_any_supernet():
    require_supernet(Own(), Plain({}, None), SearchSettings(epochs=1, rounds_per_epoch=1))
