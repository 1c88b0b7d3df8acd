"""Limits on the model that a search finds: prices while it learns, and a final cell that obeys.

A limit is for the network that `xnas train RUN` builds unless its options say otherwise. Methods whose
experts can pay have prices (`prices`). Whatever those have done, the cell that a search gives is within
the limits (`limited_cells`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from xnas.data import Images
from xnas.engine import Search
from xnas.engine.restore import fitting
from xnas.methods import Charging
from xnas.records import EdgeChoice
from xnas.runs.cell_costs import CellCosts, Latencies, latencies_of, network_sizes
from xnas.runs.expert_costs import expert_costs
from xnas.runs.limited_cells import LimitedCell, LimitedCells
from xnas.runs.limits import Limits, in_words, require_one_process
from xnas.runs.prepare import Prepared
from xnas.runs.prices import Prices, charges, paid_by, unpriced_sums
from xnas.runs.train_config import TrainConfig
from xnas.runs.truth import space_of
from xnas.space import Genotype
from xnas.space.cell_genotype import NONE


class SearchLimits:
    """The limits of one search."""

    def __init__(
        self, cells: LimitedCells, prices: Prices | None, builder: str = "xnas train builds by default"
    ) -> None:
        """`builder` says in words who builds the network that is limited."""
        self.cells, self.prices, self.builder = cells, prices, builder
        self.track: list[dict[str, Any]] = []
        """After every epoch what the strongest cell would cost, and the prices that were paid in it."""

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        images: Images,
        saved: Callable[[Latencies], Latencies] | None = None,
        trained: TrainConfig | None = None,
    ) -> SearchLimits | None:
        """The limits of a search that is prepared, None without any; raises if no cell obeys them.

        `saved` puts the times that a run has measured in place of new ones. The limits are for the
        network that is `trained` by these options, without any for that of `xnas train`.
        """
        options, search = prepared.plan.options, prepared.search
        if not options.limited:
            return None
        require_one_process(options, search.ranks)
        space, limits = space_of(search), Limits.of(options)
        sample = Genotype.random(space.name, seed=0)
        usual = TrainConfig(device=options.device)
        sizes = network_sizes(replace(trained or usual, cell=sample), sample, images)
        latencies = None
        if options.max_latency is not None:
            latencies = latencies_of(options, sizes, space.name, search.device, saved)
        costs = CellCosts(sizes.size, latencies)
        experts = expert_costs(space, costs, sizes, list(limits.most))
        network = f"{sizes.spec.cells} {sample.defaults.cells_unit}, {sizes.spec.channels} channels"
        cells = LimitedCells(limits, costs, experts, network)
        prices = None
        if isinstance(search.method, Charging):
            epochs = search.settings.epochs - search.settings.warmup_epochs
            prices = Prices(experts, limits.most, epochs)
        return cls(cells, prices) if trained is None else cls(cells, prices, "is trained here")

    @property
    def costs(self) -> CellCosts:
        """What the networks of cells cost."""
        return self.cells.costs

    def lines(self, method: str) -> list[str]:
        """Which network is limited, what cells of the space cost, and whether prices are paid."""
        limits, experts = self.cells.limits, self.cells.experts
        ends = zip(limits.most, experts.least.tolist(), experts.most.tolist(), strict=True)
        ranges = ", ".join(
            f"{in_words(name, low).split()[0]} to {in_words(name, high)}" for name, low, high in ends
        )
        network = f"for the network that {self.builder} ({self.cells.network})"
        line = f"limit: {limits.words}, {network}; those of the space have {ranges}"
        if self.prices is not None:
            return [line]
        return [line, f"the method {method} has no prices: the limit only narrows the final choice"]

    def charge(self, prepared: Prepared) -> None:
        """Let experts pay the present prices; at first 0, as a captured round keeps what it reads."""
        if self.prices is not None:
            self.prices.charge(prepared.search, prepared.game)

    def follow(self, prepared: Prepared) -> None:
        """Let prices follow the strongest cell at the end of an epoch, unless it was the last."""
        search = prepared.search
        costs = self.costs.predicted(search.standing().cell(self.cells.space))
        paid = None if self.prices is None else self.prices.by_name()
        self.track.append({"epoch": search.epoch, "strongest": costs, "prices": paid})
        if self.prices is not None and search.epoch < search.settings.epochs and not search.settled_at:
            self.prices.follow(costs, search, prepared.game)

    def strongest(self, search: Search, *, measured: bool = False) -> LimitedCell:
        """The strongest cell within the limits; `measured` times its network if latency is limited."""
        paid = None if self.prices is None else {k: paid_by(search, k) for k in search.mixtures}
        return self.cells.strongest(search.standing(), paid=paid, measured=measured)

    def explained(self, choices: Sequence[EdgeChoice], prepared: Prepared) -> list[EdgeChoice]:
        """The choices with what their operations have paid, and with those that paid nothing count."""
        if self.prices is None:
            return list(choices)
        space, found = self.cells.space, []
        for kind, mixture in prepared.search.mixtures.items():
            prices, sums = self.prices.of(kind, prepared.game), unpriced_sums(prepared.search, kind)
            charged = charges(prepared.search, kind).tolist()
            able = prepared.search.method.alive(mixture).cpu()
            if NONE in space.operations:
                able[:, space.operations.index(NONE)] = False
            best = sums.masked_fill(~able, -torch.inf).argmax(-1).tolist()
            for choice in (choice for choice in choices if choice.kind == kind):
                row = space.edges.index((choice.source, choice.node))
                column = space.operations.index(choice.operation)
                found.append(
                    replace(
                        choice,
                        price=float(prices[row, column]),
                        charged=charged[row][column],
                        unpriced=space.operations[best[row]],
                    )
                )
        return found

    def to_json(self, cell: LimitedCell) -> dict[str, Any]:
        """What discretization.json says of the limits."""
        limits = dict(self.cells.limits.most)
        return {"most": limits, "costs": cell.costs, "strongest": cell.strongest, "epochs": self.track}

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        own: dict[str, Any] = {"track": self.track}
        return own if self.prices is None else own | self.prices.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue with the prices of a checkpoint; raises if it has none."""
        with fitting("search"):
            self.track = list(state["track"])
            if self.prices is not None:
                self.prices.restore(state)
