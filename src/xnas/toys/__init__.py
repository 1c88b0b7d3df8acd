"""The supplement's toy problems, on `theory` alone, and the paper's claims judged by them."""

from xnas.toys.adversary import adversary_study
from xnas.toys.axes import attenuation, toy_2d, toy_3d
from xnas.toys.axes_claims import attenuation_claims, toy_2d_claims, toy_3d_claims
from xnas.toys.regret_claims import adversary_claims, memory_claims, stochastic_claims
from xnas.toys.stochastic import stochastic_study

__all__ = [
    "adversary_claims",
    "adversary_study",
    "attenuation",
    "attenuation_claims",
    "memory_claims",
    "stochastic_claims",
    "stochastic_study",
    "toy_2d",
    "toy_2d_claims",
    "toy_3d",
    "toy_3d_claims",
]
