"""A whole comparison: settings and data in, a folder of runs and tables out.

Every run is a run folder of its own, which resumes as it always does. comparison.json lists all runs and
is written again after each; what runs found is read from their folders, so nothing is lost or believed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from xnas.data import Images
from xnas.errors import ConfigError, DatasetError
from xnas.options import Options, changed, saved_options
from xnas.process.folder import require_no_link, storage_errors
from xnas.records import RunComparison
from xnas.runs.comparison.config import CompareConfig
from xnas.runs.comparison.display import CompareDisplay, CompareProgress
from xnas.runs.comparison.plan import (
    ComparedData,
)
from xnas.runs.comparison.player import COMMAND, Plan, Player
from xnas.runs.comparison.state_file import NAME, SavedComparison, read_state
from xnas.runs.comparison.toml_file import is_toml, read_toml
from xnas.runs.lock import locked
from xnas.runs.run_folder import RunFolder
from xnas.runs.sampling import worker_pools  # noqa: F401 - registers its pools
from xnas.runs.sources import EMBEDDED, GivenImages, settled

GIVEN = "give data, such as photos/ or digits, or entries, such as --methods xnas,darts"
NAMED = 'write data = ["photos"], or entries such as methods = ["xnas", "darts"], into it'
"""What a comparison cannot do without: dozens of searches that nobody asked for take days."""
Data = str | Path | GivenImages


@dataclass(frozen=True, slots=True, repr=False)
class CompareResult:
    """What a comparison found, and where."""

    out: str
    """Its folder."""
    comparison: RunComparison

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from xnas.runs.reports.notebook import comparison_html  # noqa: PLC0415 - draws

        return comparison_html(self.comparison, self.out)

    def __repr__(self) -> str:
        """The main numbers in one line."""
        found = self.comparison
        return (
            f"CompareResult(out={self.out!r}, measure={found.measure!r}, runs={found.done} of "
            f"{len(found.runs)}, failed={found.failed})"
        )


def compare(
    config: CompareConfig | Data | Sequence[Data] | None = None,
    data: Data | Sequence[Data] | None = None,
    *,
    display: CompareDisplay | None = None,
    **settings: Any,  # noqa: ANN401 - of CompareConfig
) -> CompareResult:
    """Compare methods and samplers with several seeds, and say which differences are more than noise.

    `data` is what `search` takes, or several of it, or the TOML file of a comparison. Everything is
    checked before anything starts; a run that fails is listed as failed, and the others go on.

    >>> from xnas import compare
    >>> compare("digits", methods="xnas,darts", truth="cells.csv", seeds="0-2")
    Traceback (most recent call last):
    xnas.errors.ConfigError: the exact permutation test of the difference of means (two-sided) needs 4 \
seeds to reach p = 0.05 in 1 comparison after Holm's correction, got 3; give --seeds 0-3, --test-kind \
welch, which needs 2, or --no-test
    """
    given, config = _settled(config, data, settings)
    files = {space: str(path.expanduser().resolve()) for space, path in config.truths.items()}
    config = changed(config, truth=files or None)
    with _shown(display, config) as shown:
        plan = Plan.checked(config, given)
        folder = _new_folder(config, plan.data)
        with locked(folder, partial(storage_errors, folder)):
            return CompareResult(str(folder), Player(plan, folder, shown, {}).play())


def resume_comparison(
    path: Path | str,
    *,
    data: Images | Sequence[Images] | None = None,
    display: CompareDisplay | None = None,
    quiet: bool = False,
    **changes: Any,  # noqa: ANN401 - settings
) -> CompareResult:
    """Do what is left of a comparison, try its failed runs again, and write its tables again.

    `data` are images that were given in memory. Seeds may be added; what concerns tests, tables and the
    machine may be changed.
    """
    folder = Path(path).expanduser()
    saved = read_state(folder)
    config = saved_options(CompareConfig, saved.config, changes)
    _require_old_seeds(saved, config)
    with (
        _shown(display, replace(config, quiet=quiet)) as shown,
        locked(folder, partial(storage_errors, folder)),
    ):
        plan = Plan.checked(config, _saved_data(folder, saved, data))
        _require_same_data(folder, saved, plan.data)
        return CompareResult(str(folder), Player(plan, folder, shown, saved.reasons).play())


def _settled(
    first: object, data: object, settings: Mapping[str, Any]
) -> tuple[list[Any], CompareConfig]:
    """Data and settings of a call; those by name go before those of a TOML file."""
    file = None
    if isinstance(first, Options):
        config, given = settled(COMMAND, CompareConfig, first, settings), data
    else:
        of_file: dict[str, Any] = {}
        given = data if first is None else first
        if is_toml(given):
            file = Path(str(given))
            of_file, given = read_toml(file)
        config = settled(COMMAND, CompareConfig, None, {**of_file, **settings})
    if given is None and config.methods is None and config.samplers is None and not config.entries:
        who, remedy = (file, NAMED) if file else ("a comparison", GIVEN)
        raise ConfigError(f"{who} needs data or entries, and none are named; {remedy}")
    several = list(given) if isinstance(given, list | tuple) else [EMBEDDED if given is None else given]
    if not several:
        raise ConfigError("there is no data to compare on; name some, or leave it out for the digits")
    return several, config


def _shown(display: CompareDisplay | None, config: CompareConfig) -> Any:  # noqa: ANN401 - a context
    return nullcontext(display) if display is not None else CompareProgress(quiet=config.quiet)


def _new_folder(config: CompareConfig, data: Sequence[ComparedData]) -> Path:
    """Make the folder of a new comparison."""
    path = config.out or RunFolder.next_free(COMMAND, "-".join(one.label for one in data)[:60])
    with storage_errors(path):
        require_no_link(path)
        if path.is_file():
            raise ConfigError(f"{path} is a file; choose a folder with --out")
        if path.is_dir() and any(path.iterdir()):
            resume = f", or resume it with --resume {path}" if (path / NAME).exists() else ""
            raise ConfigError(f"{path} is not empty; choose another --out{resume}")
        path.mkdir(parents=True, exist_ok=True)
    return path


def _saved_data(
    folder: Path, saved: SavedComparison, given: Images | Sequence[Images] | None
) -> list[Any]:
    """The data of a comparison that is resumed."""
    images: list[Any] = [] if given is None else [given]
    if isinstance(given, list | tuple):
        images = list(given)
    known = {one.name: one for one in images}
    found: list[Any] = []
    for one in saved.data:
        if one.place is None and one.label not in known:
            raise ConfigError(
                f"the comparison in {folder} was given the images {one.label!r} in memory; resume it "
                f"with xnas.resume_comparison({str(folder)!r}, data=...)"
            )
        found.append(known[one.label] if one.place is None else one.place)
    return found


def _require_same_data(folder: Path, saved: SavedComparison, data: Sequence[ComparedData]) -> None:
    for before, now in zip(saved.data, data, strict=True):
        if before.fingerprint != now.images.fingerprint():
            raise DatasetError(
                f"the images of {now.label} are not those that the comparison in {folder} began with; "
                "restore them, or begin another"
            )


def _require_old_seeds(saved: SavedComparison, config: CompareConfig) -> None:
    """Raise if a seed is left out: its runs are there, and are part of the comparison."""
    before = CompareConfig(seeds=saved.config.get("seeds", "0-4")).seed_numbers
    missing = [seed for seed in before if seed not in config.seed_numbers]
    if missing:
        raise ConfigError(
            f"a resumed comparison keeps its seeds, and --seeds leaves out {missing[0]}; add to "
            f"{','.join(map(str, before))}"
        )
