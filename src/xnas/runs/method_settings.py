"""Settings that some methods have: a setting that was given to another is refused, not forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xnas.errors import ConfigError
from xnas.methods import ExpertAdvice, LearnsLogits, Method
from xnas.options import flag_name
from xnas.runs.search_config import SearchConfig

OF_LOGITS = ("logits_lr", "logits_weight_decay")
"""What methods have whose logits Adam learns."""
OF_EXPERTS: dict[str, tuple[Any, ...]] = {
    "experts_lr": (None,),
    "relaxation": (None, 1.0),
    "reward_bound": (1.0,),
    "wipeout": (True,),
}
"""What methods have that play with expert advice, with the values that ask for nothing."""
RECORDED_ONCE = ("paper", "matched")
"""Rates that config.json had for every method, before it left out what a method does not have."""


def recorded(config: SearchConfig, method: Method) -> SearchConfig:
    """The settings as config.json has them: open where the method does not have one.

    So a setting that was given differs from one that was filled in.
    """
    if isinstance(method, ExpertAdvice):
        return config
    return replace(config, experts_lr=None, relaxation=None)


def require_settings(options: SearchConfig, method: Method, *, resumed: bool = False) -> None:
    """Raise if a setting was given that the method does not have.

    With `resumed` the settings are those of a config.json, in which an earlier version may have filled
    in a rate.
    """
    name = options.method
    if resumed and options.experts_lr in RECORDED_ONCE:
        options = replace(options, experts_lr=None)
    for setting in OF_LOGITS:
        if getattr(options, setting) is not None and not isinstance(method, LearnsLogits):
            raise ConfigError(
                f"the method {name} has no logits that Adam learns, and no {flag_name(setting)}; leave "
                "it out, or use a method that has them, such as darts"
            )
    for setting, unset in OF_EXPERTS.items():
        if getattr(options, setting) not in unset and not isinstance(method, ExpertAdvice):
            flag = "--no-wipeout" if setting == "wipeout" else flag_name(setting)
            raise ConfigError(
                f"the method {name} does not play with expert advice, and has no {flag}; leave it out, "
                "or use a method that does, such as xnas"
            )
