"""The cells of a space whose networks are within limits, and the strongest of them for a search.

Operations are chosen by sums of their costs. The network of a cell may still be beyond a limit: by a
latency, which is measured, or in a space whose costs do not add up. Then operations are held to less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from xnas.engine.search import Standing
from xnas.errors import ConfigError
from xnas.records import EdgeChoice
from xnas.runs.cell_costs import CellCosts
from xnas.runs.expert_costs import ExpertCosts
from xnas.runs.limits import Limits, flag, in_words
from xnas.space import Genotype, SearchSpace, discretize
from xnas.space.discretize import chosen_cells
from xnas.space.limited_choices import limited_choices, picks_within
from xnas.space.strongest_within import Pick, strongest_anywhere
from xnas.words import alternatives, counted

TRIES = 6
"""Networks that are looked at before the smallest one is taken."""


@dataclass(frozen=True, slots=True)
class LimitedCell:
    """The cell that a search gives, and what limits had to do with it."""

    choices: tuple[EdgeChoice, ...]
    genotype: Genotype
    costs: Mapping[str, float]
    strongest: Mapping[str, float]
    """What the strongest cell would cost."""

    @property
    def changed(self) -> int:
        """How many edges a limit has changed."""
        return sum(bool(choice.limited) for choice in self.choices)


class LimitedCells:
    """The cells of a space that are within limits."""

    def __init__(self, limits: Limits, costs: CellCosts, experts: ExpertCosts, network: str) -> None:
        """`network` says in words which network is limited; raises if no cell is within the limits."""
        self.limits, self.costs, self.experts, self.network = limits, costs, experts, network
        self.most = torch.tensor(list(limits.most.values()), dtype=torch.float64)
        smallest = strongest_anywhere(
            self.space,
            strengths={kind: -(cost / self.most).sum(-1) for kind, cost in experts.each.items()},
            costs=experts.each,
            room=self.most - experts.rest,
        )
        if smallest is None or limits.beyond(costs.predicted(self._cell(smallest))):
            raise ConfigError(self._impossible())
        self.smallest = smallest
        """Edges and operations of a cell of small costs."""

    @property
    def space(self) -> SearchSpace:
        """The space that is searched."""
        return self.experts.space

    def strongest(
        self,
        standing: Standing,
        *,
        paid: Mapping[str, Tensor] | None = None,
        measured: bool = False,
    ) -> LimitedCell:
        """The strongest cell within the limits; `measured` times its network where latency is limited.

        If the strongest of all is beyond them, what experts have `paid` is given back to choose another
        (`picks_within`). If none of the networks that were timed is within them, the smallest is taken.
        """
        choices = standing.choices(self.space)
        genotype = chosen_cells(choices, self.space)
        strongest = costs = self._actual(genotype, measured=measured)
        if self.limits.beyond(strongest):
            picks, costs = self._within(choices, standing, paid, measured=measured)
            sums = {kind: table.cpu() for kind, table in standing.sums.items()}
            choices = limited_choices(
                choices, picks, self.space, strengths=standing.strengths, sums=sums
            )
        else:
            choices = tuple(replace(choice, limited=False) for choice in choices)
        return LimitedCell(choices, chosen_cells(choices, self.space), costs, strongest)

    def line(self, cell: LimitedCell) -> str:
        """What a cell costs, and whether a limit has chosen it, in one line."""
        own = ", ".join(in_words(name, cell.costs[name]) for name in self.limits.most)
        fault = self.limits.beyond(cell.strongest)
        if fault is None:
            return f"the cell is within {self.limits.words}: {own}"
        if self.limits.beyond(cell.costs):
            return f"no network was measured to be within {self.limits.words}; the smallest has {own}"
        return (
            f"the strongest cell is not within the limits, as {fault}; the strongest that is differs in "
            f"{counted(cell.changed, 'edge')} and has {own}"
        )

    def _within(
        self,
        choices: Sequence[EdgeChoice],
        standing: Standing,
        paid: Mapping[str, Tensor] | None,
        *,
        measured: bool,
    ) -> tuple[Sequence[Pick], dict[str, float]]:
        """Edges and operations of the strongest cell within the limits, and what its network costs."""
        most = self.most
        for _ in range(TRIES):
            picks = picks_within(
                choices,
                self.space,
                strengths=standing.strengths,
                costs=self.experts.each,
                room=most - self.experts.rest,
                paid=paid,
            )
            if picks is None:
                break
            costs = self._actual(self._cell(picks), measured=measured)
            if self.limits.beyond(costs) is None:
                return picks, costs
            most = torch.minimum(most, self._lowered(picks, costs))
        return self.smallest, self._actual(self._cell(self.smallest), measured=measured)

    def _lowered(self, picks: Sequence[Pick], costs: Mapping[str, float]) -> Tensor:
        """Limits on sums that a cell is not within, lower in proportion to what its network exceeds."""
        summed = self.experts.total(picks)
        lowered = [
            summed[name] * most / costs[name] if costs[name] > most else torch.inf
            for name, most in self.limits.most.items()
        ]
        return torch.tensor(lowered, dtype=torch.float64)

    def _actual(self, cell: Genotype, *, measured: bool) -> dict[str, float]:
        return self.costs.measured(cell, self.limits) if measured else self.costs.predicted(cell)

    def _cell(self, picks: Sequence[Pick]) -> Genotype:
        """The genotype of edges and operations."""
        alone = {kind: torch.zeros(costs.shape[:2]) for kind, costs in self.experts.each.items()}
        for kind, row, column in picks:
            alone[kind][row, column] = 1.0
        every = {kind: torch.ones_like(table, dtype=torch.bool) for kind, table in alone.items()}
        return discretize(alone, every, self.space)

    def _impossible(self) -> str:
        """Why no cell is within the limits, with the least of each cost and what to do."""
        named = zip(self.limits.most, self.experts.least.tolist(), strict=True)
        least = ", ".join(in_words(name, value) for name, value in named)
        flags = alternatives([flag(name) for name in self.limits.most])
        return (
            f"no cell of the space {self.space.name} is within {self.limits.words}: in the network that "
            f"xnas train builds by default ({self.network}) the least that one can have is {least}; "
            f"raise {flags}, or give it to xnas train alone, which takes fewer channels"
        )
