"""How a mixture learns: one file a method, found by name."""

from xnas.methods.darts import Darts
from xnas.methods.protocol import METHODS, Game, Method
from xnas.methods.xnas import experts_learning_rates, xnas

__all__ = ["METHODS", "Darts", "Game", "Method", "experts_learning_rates", "xnas"]
