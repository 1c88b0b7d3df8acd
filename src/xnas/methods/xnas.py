"""XNAS: Algorithm 1 on the mixtures of both kinds of cell, each with its own horizon and rate."""

from __future__ import annotations

from collections.abc import Mapping

from torch import nn

from xnas.methods.game import Game
from xnas.methods.registered import METHODS
from xnas.optim import ExpertsOptimizer
from xnas.theory import effective_horizon, optimal_learning_rate


def experts_learning_rates(experts: int, kind: str, game: Game) -> dict[str, float]:
    """The rate `paper` (Sec. 3.1: T_c = d · E · r_c) and the rate `matched` to the rounds played.

    Departure: `matched` is the default. The paper's T_c counts a feedback for every sample and replica,
    while an update with the mean loss is one round; at its rate mixtures stay nearly uniform to the end.
    """
    feedbacks = effective_horizon(game.examples, game.epochs, game.replications[kind])
    return {
        "paper": optimal_learning_rate(experts, feedbacks, game.reward_bound),
        "matched": optimal_learning_rate(experts, game.rounds(kind), game.reward_bound),
    }


def xnas(mixtures: Mapping[str, nn.Parameter], game: Game) -> ExpertsOptimizer:
    """An `ExpertsOptimizer` with one parameter group for each kind of cell."""
    groups = []
    for kind, mixture in mixtures.items():
        rate = game.experts_lr
        if isinstance(rate, str):
            rate = experts_learning_rates(mixture.shape[1], kind, game)[rate]
        groups.append({"params": [mixture], "lr": rate, "horizon": game.rounds(kind)})
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
)
