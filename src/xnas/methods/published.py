"""What papers report of the methods: error or accuracy, and the cost of the search.

They are for orientation. Searches differ in what they were allowed: `none` in the space or not, 16 or 24
channels, 25 to 250 epochs, the best or the last epoch, running or batch statistics. Where others trained
the CIFAR-10 cells of six of these methods again, errors lay within 2.60 to 2.71, so 0.1 is noise.

Nothing here is asserted by a test or used by a search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Source = Literal["paper", "code", "quoted", "unchecked"]
"""paper: its own table. code: the authors' README. quoted: in another publication. unchecked: none of
these was found."""

SOURCES: dict[Source, str] = {
    "paper": "in its own paper",
    "code": "in its authors' README",
    "quoted": "quoted in other publications",
    "unchecked": "ascribed to its paper, not checked",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cifar10Figure:
    """A cell trained on CIFAR-10 for 600 epochs with cutout: in percent, millions and days."""

    error: float
    spread: float | None = None
    parameters: float | None = None
    days: float | None = None
    source: Source
    note: str = ""

    def __str__(self) -> str:
        """The error with its spread."""
        return _with_spread(self.error, self.spread)


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkFigure:
    """Test accuracy on NAS-Bench-201 after 200 epochs, in percent; most searched on CIFAR-10."""

    cifar10: float
    cifar100: float | None = None
    imagenet16: float | None = None
    source: Source
    note: str = ""

    def __str__(self) -> str:
        """The three accuracies."""
        known = (self.cifar10, self.cifar100, self.imagenet16)
        return " / ".join("-" if value is None else f"{value:.2f}" for value in known)


CIFAR10: dict[str, Cifar10Figure] = {
    "xnas": Cifar10Figure(
        error=1.81, parameters=3.7, days=0.3, source="paper", note="1500 epochs with AutoAugment"
    ),
    "darts": Cifar10Figure(error=3.00, spread=0.14, parameters=3.3, days=0.4, source="quoted"),
    "darts2": Cifar10Figure(error=2.76, spread=0.09, parameters=3.3, days=1.0, source="quoted"),
    "snas": Cifar10Figure(error=2.85, spread=0.02, parameters=2.8, days=1.5, source="quoted"),
    "enas": Cifar10Figure(error=2.89, parameters=4.6, days=0.5, source="quoted"),
    "random": Cifar10Figure(error=2.85, spread=0.08, parameters=4.3, days=2.7, source="unchecked"),
    "dso": Cifar10Figure(error=2.84, spread=0.07, parameters=3.0, days=1.0, source="unchecked"),
    "pdarts": Cifar10Figure(
        error=2.50, parameters=3.4, days=0.3, source="quoted", note="again 2.70 ± 0.15"
    ),
    "pc-darts": Cifar10Figure(
        error=2.57, spread=0.07, parameters=3.6, days=0.1, source="code", note="again 2.71 ± 0.11"
    ),
    "gdas": Cifar10Figure(error=2.93, parameters=3.4, days=0.3, source="quoted"),
    "gaea-pc": Cifar10Figure(error=2.50, spread=0.06, parameters=3.7, days=0.1, source="unchecked"),
    "drnas-progressive": Cifar10Figure(error=2.46, spread=0.03, parameters=4.1, days=0.6, source="code"),
    "beta": Cifar10Figure(error=2.53, spread=0.08, parameters=3.8, days=0.4, source="quoted"),
    "fair": Cifar10Figure(
        error=2.54, spread=0.05, parameters=3.3, days=0.4, source="code", note="7 cells; again 2.71"
    ),
    "sdarts-rs": Cifar10Figure(error=2.67, spread=0.03, parameters=3.4, days=0.4, source="unchecked"),
    "sdarts-adv": Cifar10Figure(error=2.61, spread=0.02, parameters=3.3, days=1.3, source="quoted"),
    "darts-pt": Cifar10Figure(error=2.61, spread=0.08, parameters=3.0, days=0.8, source="quoted"),
    "darts-minus": Cifar10Figure(error=2.59, spread=0.08, parameters=3.5, days=0.4, source="quoted"),
    "lambda": Cifar10Figure(error=2.52, spread=0.11, parameters=3.5, source="quoted"),
    "oles": Cifar10Figure(error=2.30, parameters=3.4, days=0.4, source="quoted", note="the best cell"),
    "proxyless": Cifar10Figure(
        error=2.08, parameters=5.7, days=4.0, source="quoted", note="another space"
    ),
    "sharp": Cifar10Figure(
        error=1.93, parameters=3.6, days=0.8, source="code", note="2000 epochs with AutoAugment"
    ),
    "asap": Cifar10Figure(
        error=1.68, parameters=3.7, days=0.2, source="quoted", note="1.94 elsewhere; AutoAugment"
    ),
}

BENCHMARK: dict[str, BenchmarkFigure] = {
    "random": BenchmarkFigure(
        cifar10=87.66, cifar100=58.33, imagenet16=31.14, source="quoted", note="batch statistics"
    ),
    "enas": BenchmarkFigure(
        cifar10=53.89, cifar100=13.96, imagenet16=14.84, source="quoted", note="running statistics"
    ),
    "darts": BenchmarkFigure(cifar10=54.30, cifar100=15.61, imagenet16=16.32, source="quoted"),
    "darts2": BenchmarkFigure(cifar10=54.30, cifar100=15.61, imagenet16=16.32, source="quoted"),
    "snas": BenchmarkFigure(cifar10=92.77, cifar100=69.34, imagenet16=43.16, source="quoted"),
    "gdas": BenchmarkFigure(cifar10=93.61, cifar100=70.70, imagenet16=41.71, source="quoted"),
    "pc-darts": BenchmarkFigure(cifar10=93.41, cifar100=67.48, imagenet16=41.31, source="quoted"),
    "darts-minus": BenchmarkFigure(cifar10=93.80, cifar100=71.53, imagenet16=45.12, source="quoted"),
    "darts-pt": BenchmarkFigure(cifar10=88.11, source="quoted", note="93.80 if α never learns"),
    "gaea": BenchmarkFigure(cifar10=91.63, cifar100=71.87, imagenet16=45.69, source="unchecked"),
    "gaea-erm": BenchmarkFigure(cifar10=94.10, cifar100=73.43, imagenet16=46.36, source="quoted"),
    "drnas": BenchmarkFigure(cifar10=94.36, cifar100=73.51, imagenet16=46.34, source="code"),
    "beta": BenchmarkFigure(cifar10=94.36, cifar100=73.51, imagenet16=46.34, source="quoted"),
    "lambda": BenchmarkFigure(cifar10=94.36, cifar100=73.51, imagenet16=46.34, source="quoted"),
}


def _with_spread(value: float, spread: float | None) -> str:
    return f"{value:.2f}" if spread is None else f"{value:.2f} ± {spread:.2f}"
