"""How a mixture learns: one file a method, found by name."""

from xnas.methods.darts import Darts
from xnas.methods.protocol import METHODS, ExpertAdvice, Game, Method, ledgers
from xnas.methods.xnas import experts_learning_rates, xnas

__all__ = [
    "METHODS",
    "Darts",
    "ExpertAdvice",
    "Game",
    "Method",
    "experts_learning_rates",
    "ledgers",
    "xnas",
]
