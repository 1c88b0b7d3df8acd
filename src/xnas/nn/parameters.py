"""Weights on one side, mixtures on the other: they must never share an optimizer.

A module says which of its own parameters are mixtures by a class attribute:

    class Supernet(nn.Module):
        mixture_parameters = ("normal_mixture", "reduction_mixture")
"""

from __future__ import annotations

from torch import nn

from xnas.errors import ConfigError


def split_parameters(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """All parameters of `model`, as (weights, mixtures); each stands in one list, once."""
    mixtures: dict[int, nn.Parameter] = {}
    for module in model.modules():
        for name in getattr(module, "mixture_parameters", ()):
            parameter = getattr(module, name, None)
            if isinstance(parameter, nn.Parameter):
                mixtures[id(parameter)] = parameter
            elif not hasattr(module, name):
                raise ConfigError(
                    f"{type(module).__name__}.mixture_parameters names {name!r}, but the module has no "
                    "such parameter; assign it in __init__ or correct the name"
                )
    weights = [p for p in model.parameters() if id(p) not in mixtures]
    return weights, list(mixtures.values())
