"""Neural architecture search with expert advice (XNAS), on PyTorch.

Each edge of a cell is a forecaster that mixes experts (operations), learns the mixture by exponentiated
gradients and wipes out experts that can no longer win. Start with `xnas.theory` beside the paper, or
with `ExpertsOptimizer` and `Forecaster` in a network of your own.
"""

import sys

from xnas.data import ImageData
from xnas.errors import ConfigError, DatasetError, GenotypeError, RoundError, XnasError
from xnas.nn import Forecaster, split_parameters, uniform_mixture
from xnas.optim import ExpertsOptimizer
from xnas.runs.classifier import Classifier, load
from xnas.runs.search import resume_search, search
from xnas.runs.search_config import SearchConfig
from xnas.runs.train import resume_training, train
from xnas.runs.train_config import TrainConfig
from xnas.space import (
    Genotype,
    cell_depth,
    count_macs,
    count_parameters,
    create_model,
    discretize,
    list_cells,
)
from xnas.theory import (
    Replay,
    effective_horizon,
    normalized_entropy,
    optimal_learning_rate,
    replay,
)

if "timm" in sys.modules:  # whoever uses timm finds our networks there; nobody else waits for it
    from xnas import timm as timm

__version__ = "0.1.0"

__all__ = [
    "Classifier",
    "ConfigError",
    "DatasetError",
    "ExpertsOptimizer",
    "Forecaster",
    "Genotype",
    "GenotypeError",
    "ImageData",
    "Replay",
    "RoundError",
    "SearchConfig",
    "TrainConfig",
    "XnasError",
    "__version__",
    "cell_depth",
    "count_macs",
    "count_parameters",
    "create_model",
    "discretize",
    "effective_horizon",
    "list_cells",
    "load",
    "normalized_entropy",
    "optimal_learning_rate",
    "replay",
    "resume_search",
    "resume_training",
    "search",
    "split_parameters",
    "train",
    "uniform_mixture",
]
