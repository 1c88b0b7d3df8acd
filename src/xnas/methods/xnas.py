"""XNAS: Algorithm 1 on the mixtures of both kinds of cell, each with a horizon and a rate.

Sec. 3.1 has "multiple learning rates": a kind with fewer cells collects fewer feedbacks, and learns at
a higher rate. That holds for the rates `paper` and `matched-by-kind`.

Departure: `matched`, the default, is one rate for both kinds, whose mixtures take equally many steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from torch import Tensor, nn

from xnas.methods.game import Game
from xnas.methods.registered import METHODS
from xnas.optim import ExpertsOptimizer
from xnas.theory import effective_horizon, optimal_learning_rate


def experts_learning_rates(experts: int, kind: str, game: Game) -> dict[str, float]:
    """The rate `paper` (Sec. 3.1: T_c = d · E · r_c), and those `matched` to the rounds played.

    Departure: `matched` is the default. The paper's T_c counts a feedback for every sample and replica,
    while an update with the mean loss is one round; at its rate mixtures stay nearly uniform to the end.
    `matched-by-kind` shares the rounds of all kinds out in proportion to their cells, as T_c does: its
    rates are in the paper's ratio, sqrt(r_N / r_R) between a reduction and a normal cell.
    """
    feedbacks = effective_horizon(game.examples, game.epochs, game.replications[kind])
    matched = optimal_learning_rate(experts, game.rounds(kind), game.reward_bound)
    mean = sum(game.replications.values()) / len(game.replications)
    share = game.replications[kind] / mean if game.accounting == "update" else 1.0
    return {
        "paper": optimal_learning_rate(experts, feedbacks, game.reward_bound),
        "matched": matched,
        "matched-by-kind": matched / math.sqrt(share),  # sample accounting counts cells already
    }


def learning_rate_of(experts: int, kind: str, game: Game) -> float:
    """The rate at which the mixture of a kind of cell learns."""
    chosen = game.experts_lr
    rate = chosen[kind] if isinstance(chosen, Mapping) else chosen
    return experts_learning_rates(experts, kind, game)[rate] if isinstance(rate, str) else rate


def xnas(
    mixtures: Mapping[str, nn.Parameter],
    game: Game,
    *,
    initial: Mapping[str, Tensor] | None = None,
) -> ExpertsOptimizer:
    """An `ExpertsOptimizer` with one parameter group for each kind of cell.

    `initial` has the mixtures to start from, by kind, (experts) or (forecasters, experts); without one
    they start uniform. Register a variant with `METHODS.add(name, partial(xnas, initial=...))`.
    """
    groups = []
    for kind, mixture in mixtures.items():
        rate = learning_rate_of(mixture.shape[1], kind, game)
        group = {"params": [mixture], "lr": rate, "horizon": game.rounds(kind)}
        groups.append(group if initial is None else group | {"initial": initial[kind]})
    return ExpertsOptimizer(
        groups,
        horizon=game.updates,
        reward_bound=game.reward_bound,
        relaxation=game.relaxation,
        wipeout=game.wipeout,
    )


METHODS.add(
    "xnas",
    xnas,
    summary="prediction with expert advice: exponentiated gradients, and wipeout",
    paper="Nayman et al., 2019, arXiv:1906.08031",
    costs="W + M",
    guarded=True,
)
