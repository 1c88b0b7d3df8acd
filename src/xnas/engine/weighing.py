"""What cells multiply by in a step: the mixtures, or what the method puts in their place.

Some experts may be dropped from it in the weight step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from xnas.engine.interfaces import Replicated
from xnas.methods import Weighing
from xnas.methods.protocol import Step
from xnas.nn.partial import with_bypass

if TYPE_CHECKING:
    from xnas.engine.search import Search


def cell_weights(search: Search, step: Step) -> dict[str, Tensor] | None:
    """What the method lets cells multiply by: (replications, forecasters, experts), by kind.

    None for a supernet that does not separate its cells.
    """
    if search.replicated is None:
        return None
    given = None
    if isinstance(search.method, Weighing):
        given = search.method.weights(step, search.passes)
    return spread_weights(search.replicated, given)


def spread_weights(supernet: Replicated, weights: Mapping[str, Tensor] | None) -> dict[str, Tensor]:
    """Weights, of whole kinds or of single cells, once for every cell; None: the mixtures."""
    spread = supernet.spread()
    if weights is None:
        return spread
    return {kind: weights[kind].detach().to(u).expand(u.shape) for kind, u in spread.items()}


def with_gradients(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Leaves of autograd with the same values."""
    return {kind: w.clone().requires_grad_() for kind, w in weights.items()}


def dropped(search: Search, weights: dict[str, Tensor] | None) -> dict[str, Tensor] | None:
    """Weights for the weight step: experts dropped by chance, those kept scaled up for it.

    Departure: a guard against collapse that the paper does not have. One draw for each edge, cell and
    step; without it the supernet leans on its skip connections, and mixtures follow. By default these
    alone are dropped. With `expert_dropout` every expert may be, by a draw of its own, an identity with
    the larger of the two probabilities. Channels that bypass the experts are never dropped.
    """
    supernet, settings, chance = search.replicated, search.settings, search.keep_chance
    nothing_goes = max(*settings.skip_dropout, settings.expert_dropout) == 0
    if supernet is None or weights is None or nothing_goes:
        return weights
    kept = {}
    for kind, u in weights.items():
        if settings.expert_dropout > 0:
            others = 1 - settings.expert_dropout
            keep = torch.where(supernet.identities(kind), chance.clamp(max=others), others)
            kept[kind] = u * (keep.expand(u.shape).bernoulli(generator=search.dropout) / keep)
            continue
        drawn = chance.expand(u.shape[:2]).bernoulli(generator=search.dropout)
        kept[kind] = u * torch.where(supernet.identities(kind), drawn[..., None] / chance, 1.0)
    if getattr(supernet, "partial_channels", 1) > 1:
        return {kind: with_bypass(kept[kind], u) for kind, u in weights.items()}
    return kept
