"""What a round of a method costs, estimated from its passes; `xnas bench methods` measures it."""

from __future__ import annotations

import re

PASS_COSTS = {"W": 0.5, "M": 0.5, "J": 0.5, "F": 1 / 6}
"""Of a round of XNAS, which is W + M; a forward pass is a third of a pass forward and backward."""


def relative_cost(costs: str) -> float | None:
    """Rounds of XNAS that a round costs, from passes such as `2W + J + M/5`; None if that is unknown."""
    each = costs.split(",", maxsplit=1)[0].split(" + ")
    total = 0.0
    for term in each:
        found = re.fullmatch(r"(\d*)([WMJF])(?:/(\d+))?", term.strip())
        if found is None:
            return None
        times, kind, share = found.groups()
        total += int(times or 1) * PASS_COSTS[kind] / int(share or 1)
    return total
