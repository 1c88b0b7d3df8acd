"""Layers that know nothing of search: forecasters, and the split of parameters into two kinds."""

from xnas.nn.forecaster import Forecaster, uniform_mixture
from xnas.nn.parameters import split_parameters

__all__ = ["Forecaster", "split_parameters", "uniform_mixture"]
