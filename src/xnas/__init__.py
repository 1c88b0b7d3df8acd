"""Neural architecture search with expert advice (XNAS), on PyTorch.

Each edge of a cell is a forecaster that mixes experts (operations), learns the mixture by exponentiated
gradients and wipes out experts that can no longer win. Start with `xnas.theory` beside the paper, or
with `ExpertsOptimizer` and `Forecaster` in a network of your own.
"""

from xnas.errors import ConfigError, RoundError, XnasError
from xnas.nn import Forecaster, split_parameters, uniform_mixture
from xnas.optim import ExpertsOptimizer
from xnas.theory import (
    Replay,
    effective_horizon,
    normalized_entropy,
    optimal_learning_rate,
    replay,
)

__version__ = "0.1.0"

__all__ = [
    "ConfigError",
    "ExpertsOptimizer",
    "Forecaster",
    "Replay",
    "RoundError",
    "XnasError",
    "__version__",
    "effective_horizon",
    "normalized_entropy",
    "optimal_learning_rate",
    "replay",
    "split_parameters",
    "uniform_mixture",
]
