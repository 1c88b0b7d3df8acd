"""The optimizer of the architecture: `ExpertsOptimizer`, a `torch.optim.Optimizer`."""

from xnas.optim.experts import ExpertsOptimizer

__all__ = ["ExpertsOptimizer"]
