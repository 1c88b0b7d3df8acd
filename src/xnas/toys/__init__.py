"""The supplement's toy problems, on `theory` alone."""

from xnas.toys.adversary import adversary_study
from xnas.toys.axes import attenuation, toy_2d, toy_3d
from xnas.toys.lower_bound import coin_study
from xnas.toys.stochastic import stochastic_study

__all__ = [
    "adversary_study",
    "attenuation",
    "coin_study",
    "stochastic_study",
    "toy_2d",
    "toy_3d",
]
