"""Known and judged accuracies of cells in words."""

from __future__ import annotations

from xnas.records import Judgement, Truth


def truth_text(truth: Truth | Judgement) -> str:
    """The accuracy in a few words, with the error bar of one that is estimated."""
    if isinstance(truth, Truth):
        return f"true accuracy {truth.accuracy:.2f} %"
    return f"judged accuracy {truth.accuracy:.2f} ± {truth.error:.2f} %"


def place_text(truth: Truth | Judgement) -> str:
    """Where that is among other cells, in a few words."""
    if isinstance(truth, Truth):
        return f"rank {truth.rank:,}"
    return f"better than {truth.percentile:.1f} % of random cells"
