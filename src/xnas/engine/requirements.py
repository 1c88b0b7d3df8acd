"""What a method and settings ask of a supernet, checked before the first round."""

from __future__ import annotations

from torch import nn

from xnas.engine.interfaces import Replicated
from xnas.engine.settings import SearchSettings
from xnas.errors import ConfigError
from xnas.methods import Correcting, EpochClosing, Learning, Method, Weighing

BY_CELL = (Weighing, Learning, Correcting, EpochClosing)
"""Hooks that hand out weights of cells, or are handed their gradients."""


def require_supernet(supernet: nn.Module, method: Method, settings: SearchSettings) -> None:
    """Raise unless supernet, method and settings go together."""
    name, rule = type(supernet).__name__, type(method).__name__
    by_cell = isinstance(method, BY_CELL)
    if not isinstance(supernet, Replicated):
        if (
            settings.accounting == "sample"
            or max(*settings.skip_dropout, settings.expert_dropout) > 0
            or settings.absence_batches
        ):
            raise ConfigError(
                f"{name} does not spread its mixtures over cells, which per-sample accounting, dropout "
                "and the cost of absences need; use accounting='update', skip_dropout=(0, 0), "
                "expert_dropout=0 and absence_batches=0"
            )
        if by_cell or settings.joint:
            needs = f"the method {rule} needs" if by_cell else "a joint gradient needs"
            raise ConfigError(
                f"{name} does not spread its mixtures over cells, which {needs}; give it spread, "
                "identities and stages, as xnas.space.ParentNetwork has them"
            )
    if settings.accounting == "sample" and (by_cell or settings.joint):
        whose = f"the method {rule} has" if by_cell else "a joint gradient has"
        raise ConfigError(
            f"accounting sample pays every sample, but {whose} one gradient per batch; use "
            "accounting='update'"
        )
    if settings.joint and isinstance(method, Learning):
        raise ConfigError(
            f"the method {rule} learns by passes of its own, and has no use for a joint gradient; set "
            "joint=False"
        )
