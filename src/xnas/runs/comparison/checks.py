"""Checks of a comparison that take images: what a run would refuse, it refuses before any is begun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from xnas.data import Images, load_data
from xnas.engine.distributed import ALONE
from xnas.errors import ConfigError, XnasError
from xnas.runs.cells import architecture_of
from xnas.runs.comparison.config import CompareConfig
from xnas.runs.comparison.plan import ComparedData, PlannedRun, first_of_each
from xnas.runs.displays import Silence
from xnas.runs.prepare import prepare
from xnas.runs.prepare_training import prepare_training
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.evaluators import EVALUATORS
from xnas.runs.sampling.sample_job import SampleJob
from xnas.runs.search_config import SearchConfig
from xnas.runs.sources import GivenImages, given_data, whereabouts
from xnas.runs.train_config import require_cells
from xnas.runs.truth import DATA_OF
from xnas.space import Genotype

Given = TypeVar("Given", bound=Images | str)


def compared_data(
    given: Sequence[str | Path | GivenImages], config: CompareConfig
) -> tuple[ComparedData, ...]:
    """Load all data; raises for two of one name."""
    found: dict[str, ComparedData] = {}
    for one in given:
        read = given_data(one, config.out, config)
        if isinstance(read, str):
            images, place = load_data(read, config), whereabouts(read)
        else:
            images, place = read, None
        if images.name in found:
            raise ConfigError(
                f"two data sets are called {images.name!r}; give each once, under its own name"
            )
        found[images.name] = ComparedData(images.name, place, images)
    return tuple(found.values())


def require_possible(runs: Sequence[PlannedRun], data: Mapping[str, ComparedData]) -> None:
    """Raise if a run would refuse its settings; each entry is tried once per data set and space.

    Networks are built and thrown away. Nothing is written.
    """
    for run in first_of_each(runs):
        images = data[run.data].images
        try:
            if isinstance(run.search, SearchConfig):
                prepare(run.search, images)
            elif isinstance(run.search, SampleConfig):
                SampleJob(run.search, sampled_data(run.search, run.data, images), Silence())
            if run.train is not None:
                architecture = architecture_of(Genotype.random(run.space, run.seed))
                require_cells(run.train, architecture)
                prepare_training(run.train, images, architecture, ALONE)
        except XnasError as error:
            raise type(error)(f"the entry {run.entry!r} cannot run on {run.data}: {error}") from error


def sampled_data(config: SampleConfig, label: str, images: Given) -> Given | str | None:
    """What a sampling is given as data: images or, where none are needed, a benchmark's data set."""
    return images if EVALUATORS[config.evaluator].needs_images else benchmark_data(label)


def benchmark_data(label: str) -> str | None:
    """The benchmark's name for a data set; None if it does not know that."""
    return DATA_OF.get("".join(c for c in label.lower() if c.isalnum()))
