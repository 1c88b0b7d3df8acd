"""Places where the truth is known: the accuracy of every architecture of a space, trained by others."""

from xnas.benchmarks.tabular import Entry, TabularBenchmark, same_function_key

__all__ = ["Entry", "TabularBenchmark", "same_function_key"]
