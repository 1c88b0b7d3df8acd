"""Options of a search that draws whole cells: where they come from, how they are evaluated, how many."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from xnas.errors import ConfigError
from xnas.options import at_least, at_most, option
from xnas.runs.train_config import TrainOptions

MOST_EVALUATIONS = 100_000
"""Of one search: its ledger is read as a whole, and samplers remember every cell."""
WORDS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True, kw_only=True)
class SampleConfig(TrainOptions):
    """Options of one search by sampling. Those of a training hold for the evaluator that trains.

    >>> SampleConfig(sampler="evolution", settings="population=10,sample=3").sampler_settings
    {'population': 10, 'sample': 3}
    """

    GROUP: ClassVar[str] = "Search"

    space: str = "darts"
    """Search space: darts, nasbench201, nasnet, or another that has an encoding."""
    sampler: str = "evolution"
    """How cells are drawn: random, evolution, local, or another (docs/sampling.md)."""
    settings: str | None = None
    """Settings of the sampler, such as population=10,sample=3. Default: the sampler's own."""
    evaluator: str = "train"
    """How cells are evaluated: train (train each cell), table (look it up in NAS-Bench-201, see
    --truth), surrogate (estimate it from the cells of --truth), shared (use the weights of a search, see
    --weights), or another that is registered."""
    evaluations: int = option(100, at_least(1), at_most(MOST_EVALUATIONS), on_resume="change")
    """Cells to evaluate. A resumed search may be given more."""
    at_once: int = option(1, at_least(1), at_most(1 << 16))
    """Cells that are evaluated in parallel. Cell n + AT_ONCE is proposed once cells 0 to n are
    evaluated."""
    unordered: bool = False
    """Report each result to the sampler immediately, without waiting for slow ones; another run with the
    same seed may then propose other cells."""
    pool: str = option("local", on_resume="change")
    """Where cells are evaluated: local (in this process), processes (AT_ONCE processes of this machine),
    ray (a Ray cluster), or another pool that is registered."""
    tied: bool = False
    """Use the same cell as normal and as reduction cell."""
    truth: Path | None = option(None, on_resume="change")
    """CSV file of benchmark accuracies, read by the evaluators table and surrogate. With others, only
    the best cell is looked up, for the report."""
    weights: Path | None = option(None, on_resume="change")
    """Run folder of the search whose weights the evaluator shared uses."""
    epochs: int | None = option(None, at_least(1))
    """Training epochs per cell. Default: the recipe's. The evaluator table has 12 (its default) and
    200."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.sampler_settings
        from xnas.space import SPACES  # noqa: PLC0415 - imports torch, which --help does without

        _ = SPACES[self.space]

    @property
    def sampler_settings(self) -> dict[str, Any]:
        """The settings of the sampler, by name."""
        return parse_settings(self.settings or "")


def parse_settings(text: str, flag: str = "--settings") -> dict[str, Any]:
    """`population=10,rate=0.1` as names with numbers, true, false, none or words."""
    found: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not name or not equals or not value:
            whole = "" if part == text else f" in {text!r}"
            raise ConfigError(f"{flag} must be like population=10,sample=3, got {part!r}{whole}")
        if name in found:
            raise ConfigError(f"{flag} names {name!r} twice, got {text!r}; give it once")
        found[name] = _value(value)
    return found


def settings_text(settings: Mapping[str, object]) -> str | None:
    """The settings of a sampler as `--settings` takes them; None without any."""
    return ",".join(f"{name}={value}" for name, value in settings.items()) or None


def _value(text: str) -> object:
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float) else text
