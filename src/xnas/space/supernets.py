"""The parent network of a search space."""

from __future__ import annotations

from xnas.space.benchmark_supernet import BenchmarkSupernet
from xnas.space.spaces import SearchSpace
from xnas.space.supernet import Supernet


def build_supernet(
    space: SearchSpace, *, num_classes: int, in_chans: int, cells: int, channels: int
) -> Supernet | BenchmarkSupernet:
    """With uniform mixtures and random weights; `cells` are those of a stage on NAS-Bench-201."""
    kind = BenchmarkSupernet if space.as_string else Supernet
    return kind(space, num_classes=num_classes, in_chans=in_chans, cells=cells, channels=channels)
