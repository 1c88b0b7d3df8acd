"""The public names, gathered; `xnas` gives them when they are first asked for."""

from xnas import __version__
from xnas.data import ImageData
from xnas.errors import ConfigError, DatasetError, GenotypeError, RoundError, XnasError
from xnas.model.classifier import Classifier, load
from xnas.nn import Forecaster, split_parameters, uniform_mixture
from xnas.optim import ExpertsOptimizer
from xnas.runs.comparison.compare import compare, resume_comparison
from xnas.runs.comparison.config import CompareConfig
from xnas.runs.displays import Callback
from xnas.runs.fit.config import FitConfig
from xnas.runs.fit.fit import fit, resume_fit
from xnas.runs.reports.figures import write_figures
from xnas.runs.reports.write import write_report
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.sample import resume_sampling, sample
from xnas.runs.search import resume_search, search
from xnas.runs.search_config import SearchConfig, faithful
from xnas.runs.train import resume_training, train
from xnas.runs.train_config import TrainConfig
from xnas.space import (
    Genotype,
    Wiring,
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

__all__ = [
    "Callback",
    "Classifier",
    "CompareConfig",
    "ConfigError",
    "DatasetError",
    "ExpertsOptimizer",
    "FitConfig",
    "Forecaster",
    "Genotype",
    "GenotypeError",
    "ImageData",
    "Replay",
    "RoundError",
    "SampleConfig",
    "SearchConfig",
    "TrainConfig",
    "Wiring",
    "XnasError",
    "__version__",
    "cell_depth",
    "compare",
    "count_macs",
    "count_parameters",
    "create_model",
    "discretize",
    "effective_horizon",
    "faithful",
    "fit",
    "list_cells",
    "load",
    "normalized_entropy",
    "optimal_learning_rate",
    "replay",
    "resume_comparison",
    "resume_fit",
    "resume_sampling",
    "resume_search",
    "resume_training",
    "sample",
    "search",
    "split_parameters",
    "train",
    "uniform_mixture",
    "write_figures",
    "write_report",
]
