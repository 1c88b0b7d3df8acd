"""A whole search by sampling: options and data -> a run folder, which `SampleJob` plays to its end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from xnas.data import Images, load_data
from xnas.errors import ConfigError, DatasetError, FinishedError, GenotypeError
from xnas.options import flag_name, given_options, saved_options
from xnas.runs.cell_costs import first_files, saved_times
from xnas.runs.config_file import ConfigFile, config_of
from xnas.runs.displays import Callback, SampleDisplay, showing
from xnas.runs.results import SampleResult
from xnas.runs.run_data import inherit_data_options, place_of
from xnas.runs.run_folder import RunFolder
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.evaluators import EVALUATORS
from xnas.runs.sampling.lost_ledger import require_evaluations, require_ledger
from xnas.runs.sampling.sample_job import COMMAND, GENOTYPE, SampleJob
from xnas.runs.sampling.shared_evaluator import saved_search
from xnas.runs.sources import (
    EMBEDDED,
    GivenImages,
    config_and_data,
    given_data,
    saved_images,
    whereabouts,
)
from xnas.runs.train_config import resolve_images
from xnas.samplers import SAMPLERS
from xnas.space import Genotype

UNNAMED = "cifar10"
"""The data that benchmarks know cells of, where none are named."""


def sample(
    config: SampleConfig | str | Path | GivenImages | None = None,
    data: str | Path | GivenImages | None = None,
    *,
    display: SampleDisplay | None = None,
    callbacks: Sequence[Callback] = (),
    **settings: Any,  # noqa: ANN401 - of SampleConfig
) -> SampleResult:
    """Search by drawing whole cells and evaluating them.

    `data` are images, as for `search`; for the evaluators `table` and `surrogate` the name of the
    benchmark's data set, by default cifar10. Settings may be given by name, and progress is shown, as
    by `search`.

    >>> from xnas import SampleConfig
    >>> config = SampleConfig(space="nasbench201", sampler="random", evaluator="table")
    >>> sample(config)
    Traceback (most recent call last):
    xnas.errors.ConfigError: the evaluator table reads the CSV of a benchmark; name it with --truth FILE
    """
    config, data = config_and_data(COMMAND, SampleConfig, config, data, settings)
    with _showing(display, callbacks, quiet=config.quiet) as shown:
        return _sample(config, data, shown)


def _sample(
    config: SampleConfig, data: str | Path | GivenImages | None, shown: SampleDisplay
) -> SampleResult:
    config, images, place = _data(config, data)
    job = SampleJob(config, place if images is None else images, shown)
    _warn_of_unused(config, shown)
    name = place or (images.name if images is not None else UNNAMED)
    folder = RunFolder.create(
        lambda: config.out or RunFolder.next_free(COMMAND, name), first=first_files(job.limits.costs)
    )
    truth = None if config.truth is None else config.truth.resolve()
    settings = replace(config, out=folder.path, truth=truth)
    saved = config_of(COMMAND, place, _fingerprint(config, images), settings)
    with folder.locked(new=True):
        folder.write_start(saved)
        return job.play(folder, saved, {})


def resume_sampling(
    path: Path | str,
    *,
    data: GivenImages | None = None,
    display: SampleDisplay | None = None,
    callbacks: Sequence[Callback] = (),
    quiet: bool = False,
    **changes: Any,  # noqa: ANN401 - settings
) -> SampleResult:
    """Resume a search by sampling that was stopped: it asks what the uninterrupted one would have asked.

    Its settings hold, except for those that concern the machine alone, and `evaluations`, which may be
    raised, also when the search is finished.
    """
    with _showing(display, callbacks, quiet=quiet) as shown:
        return _resume(Path(path), data, changes, shown)


def _showing(
    display: SampleDisplay | None, callbacks: Sequence[Callback], *, quiet: bool
) -> AbstractContextManager[SampleDisplay]:
    def usual() -> AbstractContextManager[SampleDisplay]:
        from xnas.runs.sampling.progress import SampleProgress  # noqa: PLC0415 - imports rich

        return SampleProgress(quiet=False)

    return showing(display, usual, quiet=quiet, callbacks=callbacks)


def _resume(
    path: Path, data: GivenImages | None, changes: dict[str, Any], shown: SampleDisplay
) -> SampleResult:
    folder = RunFolder.open(path)
    with folder.locked():
        saved = ConfigFile.read(folder.path, COMMAND)
        config = saved_options(SampleConfig, saved.config, changes)
        planned = saved_options(SampleConfig, saved.config, {}).evaluations
        require_ledger(folder)
        if (folder.path / GENOTYPE).exists():
            require_evaluations(folder)
        _require_unfinished(folder, config, planned)
        images = None
        if EVALUATORS[config.evaluator].needs_images:
            images = saved_images(folder.path, saved, config, data, "sampling")
        elif _fingerprint(config, None) != saved.fingerprint:
            raise DatasetError(
                f"{config.truth} is not the benchmark that the search in {folder.path} began with; "
                "restore that file, or name it with --truth"
            )
        times = saved_times(folder.path) if config.max_latency is not None else None
        job = SampleJob(config, saved.data if images is None else images, shown, times)
        return job.play(folder, saved, changes)


def _data(
    config: SampleConfig, data: str | Path | GivenImages | None
) -> tuple[SampleConfig, Images | None, str | None]:
    """The options with the size of images, the images if any are needed, and where the data are."""
    if EVALUATORS[config.evaluator].needs_images:
        weights = config.weights if config.evaluator == "shared" else None
        if weights is not None:
            saved_search(weights)  # data may take long
        given = given_data(_usual_data(weights) if data is None else data, config.out)
        if not isinstance(given, str):
            return config, given, None
        place = whereabouts(given)
        config, _ = inherit_data_options(config, weights, given)
        config = resolve_images(config, Path(place).name)
        return config, load_data(given, config), place
    if data is not None and not isinstance(data, str | Path):
        raise ConfigError(
            f"the evaluator {config.evaluator} needs no images; leave them out, or name the data set of "
            "the benchmark"
        )
    return config, None, UNNAMED if data is None else str(data)


def _usual_data(weights: Path | None) -> str:
    """Where images are if none are named: those of the run whose weights are shared, or the digits."""
    return EMBEDDED if weights is None else place_of(weights) or EMBEDDED


def _fingerprint(config: SampleConfig, images: Images | None) -> str:
    """Of the images or, where none are needed, of the benchmark's file."""
    if images is not None:
        return images.fingerprint()
    if config.truth is None:
        return ""
    try:
        return sha256(config.truth.read_bytes()).hexdigest()
    except (OSError, ValueError) as error:  # a null byte in the path is a ValueError
        reason = error.strerror if isinstance(error, OSError) else error
        raise DatasetError(
            f"cannot read the benchmark {config.truth}: {reason}; name it with --truth FILE"
        ) from error


def _require_unfinished(folder: RunFolder, config: SampleConfig, planned: int) -> None:
    """Raise if nothing is left to do, or if evaluations cannot be raised."""
    path, wanted = folder.path / GENOTYPE, config.evaluations
    if wanted < planned:
        raise ConfigError(
            f"the search in {folder.path} is planned for {planned} evaluations; --evaluations may raise "
            f"them, got {wanted}"
        )
    if wanted > planned:
        if not SAMPLERS[config.sampler].extendable:
            raise ConfigError(
                f"the sampler {config.sampler} has planned for {planned} evaluations, which cannot be "
                "raised; begin another search"
            )
        return
    if not path.exists():
        return
    try:
        Genotype.load(path)
    except GenotypeError:
        return  # a damaged one is written again, from the ledger
    raise FinishedError(
        f"the search in {folder.path} is finished; its best cell is in {GENOTYPE}, and --evaluations "
        "with a larger number continues it"
    )


def _warn_of_unused(config: SampleConfig, shown: SampleDisplay) -> None:
    """Name the options that were given and change nothing."""
    unused = EVALUATORS[config.evaluator].unused
    names = [flag_name(name) for name in given_options(config) if name in unused]
    if names:
        shown.warn(f"the evaluator {config.evaluator} does not use {', '.join(names)}")
