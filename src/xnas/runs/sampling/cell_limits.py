"""Limits on the cells of a search by sampling: none above them is evaluated, and none is the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xnas.errors import ConfigError
from xnas.runs.cell_costs import CellCosts, Latencies
from xnas.runs.limits import Limits, flag, in_words
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.evaluators import EVALUATORS, Evaluator, TimesNetworks
from xnas.space import Encoding, Genotype
from xnas.space.limited_encoding import LimitedEncoding, smallest_cell
from xnas.words import alternatives


@dataclass(frozen=True, slots=True)
class CellLimits:
    """The most that the evaluator's network of a cell may cost."""

    costs: CellCosts
    limits: Limits
    fixed: bool = False
    """Whether no option makes the evaluator's networks smaller."""

    @classmethod
    def of(
        cls,
        config: SampleConfig,
        evaluator: Evaluator,
        saved: Callable[[Latencies], Latencies] | None = None,
    ) -> CellLimits:
        """The limits that the options set. `saved` puts the times of a run in place of new ones."""
        fixed = {"cells", "channels"} <= EVALUATORS[config.evaluator].unused
        latencies = None
        if config.max_latency is not None:
            if not isinstance(evaluator, TimesNetworks):
                raise ConfigError(
                    f"the evaluator {config.evaluator} has no network whose --max-latency could be "
                    "measured here; use --max-macs, or --evaluator train"
                )
            latencies = evaluator.latencies(config, saved)
        return cls(CellCosts(evaluator.size, latencies), Limits.of(config), fixed)

    def beyond(self, genotype: Genotype) -> str | None:
        """Which limit a cell is beyond, by what is predicted, in words; None if it obeys all."""
        return self.limits.beyond(self.costs.predicted(genotype)) if self.limits.most else None

    def measured_beyond(self, genotype: Genotype) -> str | None:
        """Which limit the network of a cell is beyond, its latency measured."""
        return self.limits.beyond(self.costs.measured(genotype, self.limits))

    def applied(self, encoding: Encoding) -> Encoding:
        """The encoding without cells beyond the limits; raises if none obeys them."""
        if not self.limits.most:
            return encoding
        start = smallest_cell(encoding, lambda cell: self.limits.used(self.costs.predicted(cell)))
        if self.beyond(encoding.decode(start)) is not None:
            raise ConfigError(self._impossible(encoding))
        return LimitedEncoding(encoding, lambda cell: self.beyond(cell) is None, start)

    def _impossible(self, encoding: Encoding) -> str:
        """Why no cell is within the limits, with the least of each cost and what to do."""

        def least(name: str) -> str:
            cell = smallest_cell(encoding, lambda cell: self.costs.predicted(cell)[name])
            return in_words(name, self.costs.predicted(encoding.decode(cell))[name])

        fewer = "" if self.fixed else ", or use fewer --channels or --cells"
        return (
            f"no cell of the space {encoding.space} is within {self.limits.words}: the least that one "
            f"can have is {', '.join(map(least, self.limits.most))}; raise "
            f"{alternatives([flag(name) for name in self.limits.most])}{fewer}"
        )
