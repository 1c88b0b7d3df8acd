"""A whole fit: images and a budget of time in, a tested and exported model out.

The speed of the machine is measured and the plan made before anything is trained. Epochs of a training
are settled when it is to begin, and kept in the plan. From then on the plan decides alone, whatever the
clock says, so that a fit which is stopped and resumed follows what it has decided. Every stage is an
ordinary run in a folder of its own, inside that of the fit; fit.json is written last.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from xnas.data import Images, load_data
from xnas.engine.distributed import join_ranks
from xnas.errors import ConfigError, FinishedError
from xnas.options import saved_options
from xnas.process.devices import full_fp32
from xnas.process.interrupt import Interrupted
from xnas.records.fitting import FitPlan
from xnas.report.fitting import plan_table
from xnas.runs.config_file import NAME as CONFIG
from xnas.runs.config_file import ConfigFile, config_of
from xnas.runs.displays import Callback, FitDisplay, showing
from xnas.runs.fit.concluding import conclude
from xnas.runs.fit.config import FitConfig
from xnas.runs.fit.following import Following, StageDisplay
from xnas.runs.fit.parts import FitData, facts_of
from xnas.runs.fit.plan_file import PLAN, SUMMARY, plan_text, read_plan, read_summary
from xnas.runs.fit.preparing import missing_rows, prepared_plan
from xnas.runs.fit.pretrained import JSON_FILE, WEIGHTS_FILE
from xnas.runs.fit.sizing import require_enough
from xnas.runs.fit.stage_times import StageTimes
from xnas.runs.fit.stages import Stages
from xnas.runs.fit.threads import computing_with
from xnas.runs.results import FitResult
from xnas.runs.resume_command import ResumeCommand
from xnas.runs.run_folder import RunFolder
from xnas.runs.sources import (
    EMBEDDED,
    GivenImages,
    config_and_data,
    given_data,
    saved_images,
    whereabouts,
)

COMMAND = "fit"


def fit(
    config: FitConfig | str | Path | GivenImages | None = None,
    data: str | Path | GivenImages | None = None,
    *,
    display: FitDisplay | None = None,
    callbacks: Sequence[Callback] = (),
    **settings: Any,  # noqa: ANN401 - of FitConfig
) -> FitResult:
    """Find, train, compare, test and export a network for `data` within some minutes; default: digits.

    `fit("photos", minutes=10)` is short for `fit(FitConfig(minutes=10), "photos")`. A found cell is
    compared with a random one of its size, a small ResNet and, where weights are at hand, a pretrained
    model. The best by validation is tested once and exported. Progress is shown, and `callbacks` are
    called, as by `search`.

    >>> fit("digits", minutes=0)
    Traceback (most recent call last):
    xnas.errors.ConfigError: --minutes must be positive and finite, got 0
    """
    began = time.perf_counter()
    config, data = config_and_data(COMMAND, FitConfig, config, data, settings)
    given = given_data(EMBEDDED if data is None else data, config.out, config)
    _require_one_process()
    with _showing(display, callbacks, quiet=config.quiet) as shown:
        images = load_data(given, config) if isinstance(given, str) else given
        place = whereabouts(given) if isinstance(given, str) else None
        job = FitJob(config, images, shown, began)
        folder = RunFolder.create(lambda: config.out or RunFolder.next_free(COMMAND, images.name))
        with folder.locked(new=True):
            try:
                plan = job.plan(folder)
                saved = config_of(
                    COMMAND,
                    place,
                    images.fingerprint(),
                    replace(config, out=folder.path),
                    test_fingerprint=images.test_fingerprint(),
                )
                folder.write_start(saved)
            except BaseException:  # Ctrl-C as well: nothing was begun that could be resumed
                _remove_unbegun(folder)
                raise
            return job.follow(plan, folder, saved, {})


def resume_fit(
    path: Path | str,
    *,
    data: GivenImages | None = None,
    display: FitDisplay | None = None,
    callbacks: Sequence[Callback] = (),
    quiet: bool = False,
    **changes: Any,  # noqa: ANN401 - settings
) -> FitResult:
    """Resume a fit that was stopped: it follows its plan, and ends as the uninterrupted one would.

    Its settings hold, except for `backend`, `device`, `data_dir` and `checkpoint_minutes`, which may be
    given for this call.
    """
    began, path = time.perf_counter(), Path(path)
    _require_one_process()
    with _showing(display, callbacks, quiet=quiet) as shown:
        folder = RunFolder.open(path)
        with folder.locked():
            saved = ConfigFile.read(path, COMMAND)
            config = saved_options(FitConfig, saved.config, changes)
            if (path / SUMMARY).exists():
                read_summary(path)
                raise FinishedError(
                    f"the fit in {path} is finished; its best network is in model.safetensors"
                )
            planned = read_plan(path) if (path / PLAN).exists() else None
            images = saved_images(path, saved, config, data, COMMAND)
            job = FitJob(replace(config, out=path), images, shown, began)
            if planned is None:
                shown.warn(f"{path} was stopped before there was a plan; it is made now")
                planned = job.plan(folder)
            else:
                shown.say(f"following the plan of {path / PLAN}")
            return job.follow(planned, folder, saved, changes)


class FitJob:
    """One fit: its images, what it reports to, and its stages in their order."""

    def __init__(self, config: FitConfig, images: Images, display: FitDisplay, began: float) -> None:
        """`began` is when the call did, by `time.perf_counter`."""
        self.config, self.images, self.display, self.began = config, images, display, began
        self.facts = facts_of(images)
        require_enough(self.facts)
        self.data = FitData(images, config, self.facts.validation)
        if images.note:
            display.say(f"{images.name}: {images.note}")

    @full_fp32()  # as its searches and trainings
    def plan(self, folder: RunFolder) -> FitPlan:
        """Measure the machine, decide what to do, and write it down."""
        plan, model = prepared_plan(self.config, self.data, self.facts, self.display, self.began)
        if model is not None and plan.pretrained is not None and plan.pretrained.side is not None:
            model.save(folder, plan.pretrained.side)
        folder.write_text(PLAN, plan_text(plan))
        return plan

    @full_fp32()
    def follow(
        self, plan: FitPlan, folder: RunFolder, saved: ConfigFile, changes: Mapping[str, Any]
    ) -> FitResult:
        """Play all stages that are left, compare, test and export."""
        command = ResumeCommand(
            program="xnas",
            kind=COMMAND,
            path=folder.path,
            in_memory=saved.data is None,
            changes=changes,
        )
        self.display.say(plan_table(plan))
        times = StageTimes(folder, self.began)
        stages = Stages(self.config, self.data, StageDisplay(self.display, times), changes)
        following = Following(plan, folder, stages, self.display, times)
        try:
            with computing_with(plan.threads):
                rows = following.rows()
                following.begin("end")
                summary = conclude(
                    rows,
                    stages.answers,
                    folder,
                    self.images,
                    missing=missing_rows(following.plan),
                    times=times,
                    warn=self.display.warn,
                    device=self.config.device,
                )
        except KeyboardInterrupt:
            times.save()
            raise Interrupted(f"stopped; resume with: {command}") from None
        if self.config.report:
            from xnas.runs.reports.write import write_at_end  # noqa: PLC0415 - what draws is needed now

            write_at_end(folder.path, self.display)
        return FitResult(out=str(folder.path), plan=following.plan, summary=summary, seconds=times.used)


def _remove_unbegun(folder: RunFolder) -> None:
    """Remove a folder that has no config.json yet, with what was planned."""
    if (folder.path / CONFIG).exists():
        return
    with suppress(OSError):
        for name in (PLAN, JSON_FILE, WEIGHTS_FILE):
            (folder.path / name).unlink(missing_ok=True)
        folder.path.rmdir()


def _showing(
    display: FitDisplay | None, callbacks: Sequence[Callback], *, quiet: bool
) -> AbstractContextManager[FitDisplay]:
    def usual() -> AbstractContextManager[FitDisplay]:
        from xnas.runs.fit.progress import FitProgress  # noqa: PLC0415 - imports rich

        return FitProgress(quiet=False)

    return showing(display, usual, quiet=quiet, callbacks=callbacks)


def _require_one_process() -> None:
    ranks = join_ranks()
    if not ranks.alone:
        raise ConfigError(
            f"a fit runs in one process, got {ranks.size}; start it without torchrun, or use xnas "
            "search and xnas train, which several processes can share"
        )
