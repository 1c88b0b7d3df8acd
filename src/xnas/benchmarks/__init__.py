"""Benchmarks that know the accuracy of architectures, trained by others; a search never sees them."""

from xnas.benchmarks.surrogate import Estimate, Quality, SurrogateBenchmark
from xnas.benchmarks.tabular import Entry, TabularBenchmark, same_function_key

__all__ = [
    "Entry",
    "Estimate",
    "Quality",
    "SurrogateBenchmark",
    "TabularBenchmark",
    "same_function_key",
]
