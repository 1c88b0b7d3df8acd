"""What rounds of methods cost on a GPU, as far as they were measured.

On one NVIDIA H200, on the DARTS space with 8 cells of 16 channels and batch 96, each by its own recipe:
the numbers of results/method_costs.jsonl. `xnas bench methods` measures them elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Measured(NamedTuple):
    """A round, and its peak of memory."""

    rounds: float
    """Rounds of `xnas` that take as long."""
    gib: float


MEASURED: Mapping[str, Measured] = {
    "xnas": Measured(1.00, 3.4),
    "asap": Measured(0.98, 3.4),
    "beta": Measured(0.98, 3.4),
    "darts2": Measured(5.80, 7.2),
    "darts-minus": Measured(0.98, 3.4),
    "darts-pt": Measured(0.98, 3.4),
    "darts-pt-quick": Measured(0.98, 3.4),
    "darts-pt-blank": Measured(0.74, 3.3),
    "xnas-pt": Measured(0.99, 3.4),
    "drnas": Measured(0.98, 3.4),
    "dso": Measured(0.97, 3.4),
    "enas": Measured(1.25, 7.9),
    "fair": Measured(0.98, 3.4),
    "gaea": Measured(0.98, 3.4),
    "gaea-erm": Measured(0.97, 3.4),
    "gdas": Measured(0.98, 3.4),
    "lambda": Measured(4.54, 10.0),
    "oles": Measured(2.48, 3.5),
    "pdarts": Measured(0.98, 3.4),
    "proxyless": Measured(0.78, 8.8),
    "proxyless-two": Measured(0.79, 8.8),
    "proxyless-rl": Measured(1.06, 7.9),
    "random": Measured(0.75, 3.3),
    "sdarts-rs": Measured(0.98, 3.4),
    "pc-darts": Measured(1.02, 1.2),
    "gaea-pc": Measured(1.02, 1.2),
    "sdarts-adv": Measured(6.12, 4.4),
    "sharp": Measured(1.00, 3.4),
    "snas": Measured(0.58, 3.3),
    "darts": Measured(1.00, 3.4),
}
