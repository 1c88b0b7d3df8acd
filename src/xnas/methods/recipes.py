"""Numbers that the recipes of several methods share.

Sizes of the supernet stand in a recipe only where they differ from the package's own on a GPU, 8 cells
of 16 channels (nasbench201: 5 per stage), which are those of most papers. On a CPU they are smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xnas.methods.recipe import Recipe

DARTS = Recipe(
    epochs=50,
    batch_size=64,
    weights_lr=0.025,
    final_weights_lr=0.001,
    momentum=0.9,
    weight_decay=3e-4,
    gradient_clip=5.0,
    include_none=True,
)
"""DARTS's own search; many methods changed the step of the mixtures alone."""

BENCHMARK = replace(DARTS, epochs=100)
"""On NAS-Bench-201, as several papers ran it."""


def by_space(usual: Recipe, *, nasbench201: Recipe) -> Callable[[str], Recipe]:
    """One recipe for the benchmark's space, and the usual one for all others."""
    return lambda space: nasbench201 if space == "nasbench201" else usual
