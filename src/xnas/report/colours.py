"""The colours of all charts, graphs and figures of runs.

They are those of Okabe and Ito and some between them, which people with colour-blindness tell apart:
`tests/report/test_colours.py` measures how far, as they are seen with each kind of it.
"""

from __future__ import annotations

from collections.abc import Sequence

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#8A8F98")
"""Of series in their order; after the last it begins again."""
OPERATION_COLOURS = {
    "sep_conv_3x3": "#0072B2",
    "sep_conv_5x5": "#56B4E9",
    "sep_conv_7x7": "#7A5195",
    "dil_conv_3x3": "#009E73",
    "dil_conv_5x5": "#7FBF9F",
    "max_pool_3x3": "#E69F00",
    "avg_pool_3x3": "#D55E00",
    "skip_connect": "#CC79A7",
    "conv_7x1_1x7": "#8C6D31",
    "none": "#6B7280",
    "nor_conv_3x3": "#0072B2",
    "nor_conv_1x1": "#56B4E9",
}
"""Of known operations; others take what is left of the palette."""
GREY = "#9AA1AB"
"""Of what stands behind the rest: other evaluations, a bound, a baseline."""
DARK, LIGHT = "#14181d", "#ffffff"
"""Letters on a coloured ground."""


def operation_colours(operations: Sequence[str]) -> dict[str, str]:
    """A colour for every operation, by name; those of this package always have the same."""
    known = {name: OPERATION_COLOURS[name] for name in operations if name in OPERATION_COLOURS}
    free = [colour for colour in PALETTE if colour not in known.values()] or list(PALETTE)
    others = [name for name in operations if name not in known]
    return known | {name: free[at % len(free)] for at, name in enumerate(others)}


def ink_on(colour: str) -> str:
    """Dark or light letters, whichever have more contrast on a colour `#rrggbb`."""
    ground = luminance(colour) + 0.05
    return DARK if ground / (luminance(DARK) + 0.05) > (luminance(LIGHT) + 0.05) / ground else LIGHT


def luminance(colour: str) -> float:
    """How light a colour is, from 0 to 1, as WCAG 2 defines it."""
    levels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in levels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
