"""Weights on one side, mixtures on the other: they must never share an optimizer.

A module names those of its own parameters that are mixtures in an attribute:

    class Supernet(nn.Module):
        mixture_parameters = ("normal_mixture", "reduction_mixture")
"""

from __future__ import annotations

from collections.abc import Iterator
from reprlib import repr as brief

from torch import nn

from xnas.errors import ConfigError


def split_parameters(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Return all parameters of `model` as (weights, mixtures); each is in one list, once.

    >>> from xnas import Forecaster
    >>> model = Forecaster({"linear": nn.Linear(3, 3), "identity": nn.Identity()})
    >>> weights, mixtures = split_parameters(model)
    >>> [tuple(p.shape) for p in weights], [tuple(p.shape) for p in mixtures]
    ([(3, 3), (3,)], [(1, 2)])
    """
    require_module(model)
    mixtures = {id(p): p for module in model.modules() for p in _mixtures_of(module)}
    weights = [p for p in model.parameters() if id(p) not in mixtures]
    return weights, list(mixtures.values())


def require_module(model: object) -> None:
    """Raise a ConfigError unless `model` is a module."""
    if not isinstance(model, nn.Module):
        raise ConfigError(
            f"a model is a torch.nn.Module, got {brief(model)}; xnas.create_model builds one"
        )


def _mixtures_of(module: nn.Module) -> Iterator[nn.Parameter]:
    """What a module names as mixtures: parameters, lists or dictionaries of them, or None."""
    names = getattr(module, "mixture_parameters", ())
    for name in (names,) if isinstance(names, str) else names:
        value = getattr(module, name, nn.Module)  # the class stands for nothing found
        if isinstance(value, nn.Parameter):
            yield value
        elif isinstance(value, nn.ParameterList | nn.ParameterDict):
            yield from value.parameters()
        elif value is not None:
            found = (
                "has nothing of that name" if value is nn.Module else f"holds a {type(value).__name__}"
            )
            raise ConfigError(
                f"{type(module).__name__}.mixture_parameters names {name!r}, but the module {found}; "
                "name a Parameter, a ParameterList or a ParameterDict that __init__ assigns"
            )
