"""Checks of the mixtures, settings and saved states of `ExpertsOptimizer`, and their messages.

Each check names the fault, the value and the remedy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from numbers import Real
from reprlib import repr as brief
from typing import Any

import torch
from torch import Tensor

from xnas.errors import ConfigError
from xnas.optim.accounts import LOG_INITIAL, Accounts
from xnas.theory import optimal_learning_rate, require_simplex
from xnas.theory.mixture import simplex_tolerance

Group = dict[str, Any]

MOST_ROUNDS = 2**31 - 1  # `wiped_at` is int32

WITHOUT_FLOAT64 = frozenset({"mps"})
"""Kinds of device without float64, which the sums need: exact ties decide wipeouts."""


def require_mixtures(mixtures: Sequence[Tensor], *, first: Sequence[Tensor]) -> None:
    """Raise unless these are mixtures (forecasters, experts), each listed once, on one device.

    The device is that of the `first` group.
    """
    if not mixtures:
        raise ConfigError("a parameter group has no mixtures; leave the group out")
    if len({id(p) for p in mixtures}) < len(mixtures):
        raise ConfigError("a mixture stands twice in one parameter group; list each once")
    device = first[0].device
    for mixture in mixtures:
        if mixture.device != device:
            raise ConfigError(
                f"mixtures on {device} and {mixture.device} in one optimizer; move them to one device, "
                "or make an optimizer for each"
            )
        require_mixture(mixture)


def require_mixture(mixture: Tensor) -> None:
    """Raise unless `mixture` is (forecasters, experts) on the simplex, on a device with float64."""
    if mixture.dim() != 2 or 0 in mixture.shape or not mixture.is_floating_point():
        raise ConfigError(
            "a mixture is a floating-point tensor (forecasters, experts), at least (1, 1), got "
            f"{mixture.dtype} of shape {tuple(mixture.shape)}"
        )
    if mixture.device.type in WITHOUT_FLOAT64:
        raise ConfigError(
            f"device {mixture.device} has no float64, which sums of rewards need; keep the mixtures on "
            "the CPU and move them where they are used"
        )
    require_simplex(mixture)


def require_uniform(mixture: Tensor) -> None:
    """Raise unless `mixture` (forecasters, experts) has equal weights."""
    uniform = 1 / mixture.shape[1]
    off = (mixture.detach().double() - uniform).abs().max().item()
    if off > simplex_tolerance(mixture.dtype):
        raise ConfigError(
            f"a mixture must start uniform at 1/{mixture.shape[1]} = {uniform:.6g}, but a weight is off "
            f"by {off:.3g}; start with xnas.uniform_mixture, or pass initial; to resume, build the "
            "optimizer, then load"
        )


def require_starts(mixtures: Sequence[Tensor], initial: object) -> dict[Tensor, Tensor]:
    """What to write into each mixture (forecasters, experts) first; nothing if they start uniform."""
    if initial is None:
        for mixture in mixtures:
            require_uniform(mixture)
        return {}
    return {mixture: require_initial(initial, mixture) for mixture in mixtures}


def require_initial(initial: object, mixture: Tensor) -> Tensor:
    """The initial mixture for a parameter (forecasters, experts), in float64, or an error."""
    try:
        given = torch.as_tensor(initial, dtype=None if isinstance(initial, Tensor) else torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(
            f"initial must be numbers, one for each expert, got {brief(initial)}"
        ) from error
    if tuple(given.shape) not in (tuple(mixture.shape), tuple(mixture.shape[1:])):
        raise ConfigError(
            f"initial must be (experts) or (forecasters, experts), here {tuple(mixture.shape)[1:]} or "
            f"{tuple(mixture.shape)}, got {tuple(given.shape)}; give mixtures of other shapes a group "
            "of their own"
        )
    require_simplex(given)
    if not bool((given > 0).all()):
        raise ConfigError(
            "initial has an expert of weight 0, which exponentiated gradients never raise; give it a "
            "small weight, or leave the expert out of the mixture"
        )
    exact = given.detach().to(mixture.device, torch.float64)
    return (exact / exact.sum(-1, keepdim=True)).expand(mixture.shape)


def require_settings(group: Group) -> dict[str, int | float]:
    """Settings of a group as plain numbers, η* put in for `lr=None`."""
    horizon, bound = _number("horizon", group), _number("reward_bound", group)
    relaxation = _number("relaxation", group)
    if not isinstance(group["wipeout"], bool):
        raise ConfigError(f"wipeout must be True or False, got {group['wipeout']!r}")
    if not (math.isfinite(horizon) and 1 <= horizon <= MOST_ROUNDS and horizon == int(horizon)):
        raise ConfigError(
            "horizon must be a whole number of rounds, at least 1 and at most 2**31 - 1, got "
            f"{horizon:g}"
        )
    if not (math.isfinite(bound) and bound > 0):
        raise ConfigError(f"reward_bound must be positive and finite, got {bound}")
    if not 0 < relaxation <= 1:
        raise ConfigError(
            f"relaxation must lie in (0, 1], got {relaxation}; 1 is the paper's safe wipeout"
        )
    sizes = sorted({p.shape[1] for p in group["params"]})
    if group["lr"] is None:
        if len(sizes) > 1:
            raise ConfigError(
                f"lr=None derives the rate from the number of experts, but this group has mixtures of "
                f"{' and '.join(map(str, sizes))}; give each a group of its own, or pass lr"
            )
        rate = optimal_learning_rate(sizes[0], int(horizon), bound)
    else:
        rate = _number("lr", group)
        may_be_zero = sizes == [1] or isinstance(group["lr"], Tensor)  # where a schedule ended
        if not (math.isfinite(rate) and (rate > 0 or (rate == 0 and may_be_zero))):
            raise ConfigError(f"lr must be positive and finite, or None for the best one, got {rate}")
    return {"lr": rate, "horizon": int(horizon), "reward_bound": bound, "relaxation": relaxation}


def require_saved(saved: object) -> None:
    """Raise unless this has the form of an optimizer's saved state."""
    if not isinstance(saved, Mapping) or not {"state", "param_groups"} <= saved.keys():
        raise ConfigError(
            f"a saved state is what ExpertsOptimizer.state_dict() gave, got {brief(saved)}; load that"
        )


def require_same_shapes(saved: Mapping[str, Any], accounts: Sequence[Accounts]) -> None:
    """Raise unless a saved state has an account of the right shape for each mixture."""
    keys = list(chain.from_iterable(group["params"] for group in saved["param_groups"]))
    if len(keys) != len(accounts):
        raise ConfigError(
            f"the saved state has {len(keys)} mixtures, this optimizer {len(accounts)}; load it into an "
            "optimizer of the same mixtures"
        )
    for number, (key, account) in enumerate(zip(keys, accounts, strict=True)):
        entry = saved["state"].get(key, {})
        if (LOG_INITIAL in entry) != (LOG_INITIAL in account):
            raise ConfigError(
                f"mixture {number} was saved by an optimizer that started "
                f"{'from an initial mixture' if LOG_INITIAL in entry else 'uniform'}; build this one "
                f"{'with' if LOG_INITIAL in entry else 'without'} initial, then load"
            )
        for name, value in account.items():
            if name not in entry:
                raise ConfigError(
                    f"the saved state of mixture {number} has no {name!r}; it was not saved by "
                    "ExpertsOptimizer.state_dict()"
                )
            if (entry[name].shape, entry[name].dtype) != (value.shape, value.dtype):
                raise ConfigError(
                    f"{name!r} of mixture {number} was saved as {entry[name].dtype} "
                    f"{tuple(entry[name].shape)}, here it is {value.dtype} {tuple(value.shape)}; load "
                    "it into an optimizer of the same mixtures"
                )


def explain_fault(fault: str, settings: Mapping[str, Tensor], rewards: Tensor | None = None) -> str:
    """Return one line on why a round was refused.

    Shapes: `rewards` are (rounds, ...), those of living experts; settings are single numbers.
    """
    if fault == "past the horizon":
        return f"the horizon of {int(settings['horizon'])} rounds has passed; set a longer one"
    if fault == "bad settings":
        listed = ", ".join(f"{name} {float(value):g}" for name, value in settings.items())
        return f"settings are out of range: {listed}; check the scheduler"
    remedy = "lower the learning rate of the weights, or look for a division by zero in the loss"
    if rewards is None:
        return f"rewards were not finite; {remedy}"
    _, forecaster, expert = (~rewards.isfinite()).nonzero().tolist()[0]
    value = rewards[~rewards.isfinite()][0].item()
    return f"the reward of forecaster {forecaster}, expert {expert} is {value}; {remedy}"


def _number(name: str, group: Group) -> float:
    value = group[name]
    if isinstance(value, bool) or not isinstance(value, Real | Tensor):
        raise ConfigError(f"{name} must be a number, got {value!r}")
    return float(value)
