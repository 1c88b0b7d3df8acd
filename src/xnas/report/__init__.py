"""Figures drawn from records alone, and the files that hold them."""

from xnas.report.figures import method_style, save_figure
from xnas.report.forecaster import draw_forecaster
from xnas.report.toys import (
    draw_adversary,
    draw_attenuation,
    draw_stochastic,
    draw_toy_2d,
    draw_toy_3d,
)

__all__ = [
    "draw_adversary",
    "draw_attenuation",
    "draw_forecaster",
    "draw_stochastic",
    "draw_toy_2d",
    "draw_toy_3d",
    "method_style",
    "save_figure",
]
