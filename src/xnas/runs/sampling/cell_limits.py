"""Limits on the cells of a search by sampling: none above them is evaluated, and none is the answer."""

from __future__ import annotations

from dataclasses import dataclass

from xnas.errors import ConfigError
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.evaluators import EVALUATORS, Evaluator
from xnas.space import Encoding, Genotype
from xnas.space.limited_encoding import LimitedEncoding, smallest_cell
from xnas.space.network_size import NetworkSize


@dataclass(frozen=True, slots=True)
class CellLimits:
    """The most that the evaluator's network of a cell may cost; None for no limit."""

    evaluator: Evaluator
    max_params: float | None = None
    max_macs: float | None = None
    fixed: bool = False
    """Whether no option makes the evaluator's networks smaller."""

    @classmethod
    def of(cls, config: SampleConfig, evaluator: Evaluator) -> CellLimits:
        """The limits that the options set."""
        fixed = {"cells", "channels"} <= EVALUATORS[config.evaluator].unused
        return cls(evaluator, config.max_params, config.max_macs, fixed)

    @property
    def set(self) -> bool:
        """Whether there is one."""
        return self.max_params is not None or self.max_macs is not None

    def beyond(self, genotype: Genotype) -> str | None:
        """Which limit the network of a cell is beyond, in words; None if it obeys both."""
        return self._fault(self.evaluator.size(genotype)) if self.set else None

    def applied(self, encoding: Encoding) -> Encoding:
        """The encoding without cells beyond the limits; raises if none obeys them."""
        if not self.set:
            return encoding
        least = [
            smallest_cell(encoding, lambda cell: self.evaluator.size(cell).parameters),
            smallest_cell(encoding, lambda cell: self.evaluator.size(cell).macs),
            smallest_cell(encoding, self._excess),
        ]
        *alone, start = (encoding.decode(choices) for choices in least)
        fault = self.beyond(start)
        if fault is not None:
            sizes = [self.evaluator.size(cell) for cell in alone]
            fewer = "" if self.fixed else ", or use fewer --channels or --cells"
            raise ConfigError(
                f"no cell of the space {encoding.space} is within the limits: the smallest network has "
                f"{sizes[0].parameters:,} parameters, the cheapest {sizes[1].macs:,} "
                f"multiply-accumulates; raise --max-params or --max-macs{fewer}"
            )
        return LimitedEncoding(encoding, lambda cell: self.beyond(cell) is None, least[2])

    def _excess(self, genotype: Genotype) -> float:
        """The larger of both costs as a share of its limit."""
        size = self.evaluator.size(genotype)
        limits = ((size.parameters, self.max_params), (size.macs, self.max_macs))
        return max(cost / limit for cost, limit in limits if limit is not None)

    def _fault(self, size: NetworkSize) -> str | None:
        if self.max_params is not None and size.parameters > self.max_params:
            return f"{size.parameters:,} parameters are above --max-params {self.max_params:.7g}"
        if self.max_macs is not None and size.macs > self.max_macs:
            return f"{size.macs:,} multiply-accumulates are above --max-macs {self.max_macs:.7g}"
        return None
