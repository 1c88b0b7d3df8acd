"""One run of a comparison as a job: begun, resumed or found finished, in whatever process."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from xnas.data import Images
from xnas.errors import FinishedError, XnasError
from xnas.files import whole_file
from xnas.process.failures import failure
from xnas.runs.comparison.checks import sampled_data
from xnas.runs.comparison.plan import PlannedRun, place_in, training_in
from xnas.runs.config_file import NAME as CONFIG
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.sample import resume_sampling, sample
from xnas.runs.search import resume_search, search
from xnas.runs.search_config import SearchConfig
from xnas.runs.train import resume_training, train
from xnas.space import Genotype
from xnas.words import cut, whole

LONGEST_REASON = 5000
"""Characters of a reason: files and pages have all of it, and a terminal its beginning."""
FAILURE = "failure.txt"
"""What an unexpected error leaves next to the run folder's name: its traceback."""


def perform(run: PlannedRun, folder: Path, data: Images | str) -> str | None:
    """Do a run, or what is left of it; gives the reason in one line if it failed.

    A run that failed is tried again when it is performed again. A stop by the user is raised. `data` are
    images, or where they are.
    """
    try:
        if run.search is not None:
            _searched(run, folder, data)
        if run.train is not None:
            _trained(run, folder, data)
    except XnasError as error:
        return cut(whole(error), LONGEST_REASON)
    except Exception as error:  # noqa: BLE001 - the other runs go on
        _keep_traceback(place_in(folder, run).with_suffix(f".{FAILURE}"))
        return failure(error) or f"{type(error).__name__}: {cut(whole(error), LONGEST_REASON)}"
    return None


def _searched(run: PlannedRun, folder: Path, data: Images | str) -> None:
    """The search, or the sampling."""
    place, config = place_in(folder, run), run.search
    if isinstance(config, SearchConfig):
        begin: Callable[[], object] = partial(search, replace(config, out=place), data)
        _begun_or_resumed(place, begin, partial(resume_search, place, data=_memory(data), quiet=True))
    elif isinstance(config, SampleConfig):
        given = sampled_data(config, run.data, data)
        begin = partial(sample, replace(config, out=place), given)
        _begun_or_resumed(place, begin, partial(resume_sampling, place, data=_memory(given), quiet=True))


def _trained(run: PlannedRun, folder: Path, data: Images | str) -> None:
    """The training of the cell that was found or, of the baseline, drawn."""
    assert run.train is not None  # noqa: S101 - asked before
    place, found = training_in(folder, run), place_in(folder, run)
    cell = Genotype.random(run.space, run.seed) if run.search is None else found
    begin = partial(train, replace(run.train, out=place, cell=cell), data)
    _begun_or_resumed(place, begin, partial(resume_training, place, data=_memory(data), quiet=True))


def _begun_or_resumed(place: Path, begin: Callable[[], object], resume: Callable[[], object]) -> None:
    if not (place / CONFIG).exists():
        begin()
        return
    with suppress(FinishedError):
        resume()


def _memory(data: Images | str | None) -> Images | None:
    """Images that a resumed run has to be given again."""
    return None if isinstance(data, str) else data


def _keep_traceback(path: Path) -> None:
    with whole_file(path) as file:
        file.write(traceback.format_exc().encode())
