"""Settings that some methods have: a setting that was given to another is refused, not forgotten."""

from __future__ import annotations

from typing import Any

from xnas.errors import ConfigError
from xnas.methods import ExpertAdvice, LearnsLogits, Method
from xnas.options import flag_name
from xnas.runs.search_config import SearchConfig

OF_LOGITS = ("logits_lr", "logits_weight_decay")
"""What methods have whose logits Adam learns."""
OF_EXPERTS: dict[str, tuple[Any, ...]] = {
    "experts_lr": (None, "paper", "matched"),
    "relaxation": (None, 1.0),
    "reward_bound": (1.0,),
    "wipeout": (True,),
}
"""What methods have that play with expert advice, with the values that ask for nothing: config.json of
every search has a rate."""


def require_settings(options: SearchConfig, method: Method) -> None:
    """Raise if a setting was given that the method does not have."""
    name = options.method
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
