"""What a whole job is: settings in, a folder of results out."""

from xnas.runs.bench_theory import BenchTheoryConfig, bench_theory
from xnas.runs.reproduce import ITEMS, ReproduceConfig, reproduce

__all__ = ["ITEMS", "BenchTheoryConfig", "ReproduceConfig", "bench_theory", "reproduce"]
