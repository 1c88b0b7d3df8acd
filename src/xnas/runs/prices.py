"""Prices: what experts pay for the operations that they choose, while a cell is above a limit.

Each limit has a price, a Lagrange multiplier. After every epoch it rises by a step if the strongest cell
is above the limit, falls by one if it is below, and is never negative: dual ascent along the sign of the
excess. How far above a cell is does not matter. Cells are discrete, and one that is above by a little is
as little use; steps in proportion to the excess let prices stall just above a limit.

In the rounds of the next epoch an expert pays, for each limit, the price times the cost of its
operation, in units of the largest difference between two operations of one edge.

A price of 1 is the mean spread of what the experts of an edge have earned so far, without prices. It
therefore weighs the same whatever the rewards are: all of them may be a thousand times smaller.

Prices are taken before rewards are clipped (`ExpertsOptimizer.charge`): Theorem 1 and Lemma 1 hold for
what is left.

Departure: the paper has no prices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from xnas.engine import Search
from xnas.methods import Charging, Game
from xnas.runs.expert_costs import ExpertCosts

STEP = 5.0
"""What a price would rise to in a search whose cell is above the limit throughout. A price of 1 reverses
a typical choice if it is paid from the start; here it is reached after a fifth of the epochs, which
leaves the rest for the price to work, and to fall again. In simulated searches steps of 2 were often
still too low at the end, and those of 10 led to cells that are smaller than they had to be."""


class Prices:
    """The prices of a search, one for each limit."""

    def __init__(self, costs: ExpertCosts, most: Mapping[str, float], epochs: int) -> None:
        """`most` are the limits by resource, `epochs` those in which mixtures learn."""
        self.costs, self.epochs = costs, epochs
        self.most = torch.tensor([most[name] for name in costs.resources], dtype=torch.float64)
        self.prices = torch.zeros_like(self.most)
        self.unit = 0.0
        """What a price of 1 is, as a reward per update."""

    def follow(self, cell: Mapping[str, float], search: Search, game: Game) -> None:
        """Let prices follow what the present cell costs, and their unit what has been earned."""
        present = torch.tensor([cell[name] for name in self.costs.resources], dtype=torch.float64)
        step = STEP / self.epochs * (present - self.most).sign()
        self.prices = (self.prices + step).clamp(min=0.0)
        self.unit = spread(search, game)

    def charge(self, search: Search, game: Game) -> None:
        """Let experts pay in the rounds to come."""
        for kind, mixture in search.mixtures.items():
            _method(search).charge(mixture, self.of(kind, game).to(mixture.device))

    def of(self, kind: str, game: Game) -> Tensor:
        """What every expert of a kind of cell pays per round, (edges, experts)."""
        scale = self.costs.spreads.clamp(min=torch.finfo(torch.float64).tiny)
        per_update = self.unit * (self.costs.each[kind] / scale) @ self.prices
        return per_update * (game.updates / game.rounds(kind))

    def by_name(self) -> dict[str, float]:
        """The prices by resource."""
        return dict(zip(self.costs.resources, self.prices.tolist(), strict=True))

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        return {"prices": self.by_name(), "unit": self.unit}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue with the prices of a checkpoint."""
        saved = [float(state["prices"][name]) for name in self.costs.resources]
        self.prices, self.unit = torch.tensor(saved, dtype=torch.float64), float(state["unit"])


def charges(search: Search, kind: str) -> Tensor:
    """By how much prices have lowered the sum of rewards of every expert, (edges, experts)."""
    mixture = search.mixtures[kind]
    charged = _method(search).ledger(mixture).charged
    if charged is None:
        return torch.zeros(mixture.shape, dtype=torch.float64)
    return torch.tensor(charged, dtype=torch.float64)


def unpriced_sums(search: Search, kind: str) -> Tensor:
    """What every expert has earned (edges, experts), without what it has paid."""
    sums = _method(search).cumulative_rewards(search.mixtures[kind])
    return sums.cpu() + charges(search, kind)


def paid_by(search: Search, kind: str) -> Tensor:
    """By how much prices have lowered the logarithm of every expert's weight, (edges, experts)."""
    rate = _method(search).ledger(search.mixtures[kind]).learning_rate
    return rate * charges(search, kind)


def spread(search: Search, game: Game) -> float:
    """By how much living experts of an edge differ in what they earn per update; the mean over edges.

    Edges with one expert left do not count; 0 if all have one, or no round was played.
    """
    found: list[float] = []
    for kind, mixture in search.mixtures.items():
        rounds = _method(search).ledger(mixture).rounds
        updates = max(1.0, rounds * game.updates / game.rounds(kind))
        alive, sums = search.method.alive(mixture).cpu(), unpriced_sums(search, kind)
        best = sums.masked_fill(~alive, -torch.inf).amax(-1)
        worst = sums.masked_fill(~alive, torch.inf).amin(-1)
        found += ((best - worst) / updates)[alive.sum(-1) > 1].tolist()
    return sum(found) / len(found) if found else 0.0


def _method(search: Search) -> Charging:
    method = search.method
    assert isinstance(method, Charging)  # noqa: S101 - prices are made for such methods alone
    return method
