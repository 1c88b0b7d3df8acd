"""A plan that is followed: stage by stage, until every network is trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xnas.engine import Search
from xnas.engine.train import Training
from xnas.records import SearchEpoch, TrainEpoch
from xnas.records.fitting import FitPlan, FitRow, PlannedTraining, TrainSpeed
from xnas.runs.displays import Callback, FitDisplay
from xnas.runs.fit.equal_cells import equal_cell
from xnas.runs.fit.limiting import FitLimits
from xnas.runs.fit.parts import train_settings
from xnas.runs.fit.plan_file import PLAN, plan_text
from xnas.runs.fit.planning import cells_in_words
from xnas.runs.fit.pretrained import JSON_FILE
from xnas.runs.fit.settling import CELLS, settled
from xnas.runs.fit.stage_times import StageTimes
from xnas.runs.fit.stages import Stages
from xnas.runs.run_folder import RunFolder
from xnas.space import Architecture, Genotype, find_architecture, find_genotype

ADVICE = "xnas fit"
"""What warnings of a run name for someone with few images."""
Networks = list[tuple[str, Architecture, dict[str, Any]]]
"""Names of networks, what they are built of, and their sizes."""


class Following:
    """The stages of a plan in the folder of a fit."""

    def __init__(
        self,
        plan: FitPlan,
        folder: RunFolder,
        stages: Stages,
        display: FitDisplay,
        times: StageTimes,
    ) -> None:
        self.plan, self.folder, self.stages, self.display = plan, folder, stages, display
        self.times = times

    def rows(self) -> list[FitRow]:
        """Every network, trained."""
        rows = self._cells()
        if self.plan.resnet is not None:
            rows.append(self._resnet(self.plan.resnet))
        if self.plan.pretrained is not None:
            rows.append(self._pretrained(self.plan.pretrained))
        return rows

    def begin(self, stage: str) -> None:
        """Report that a stage begins."""
        planned = self.plan.stages()
        names = list(planned)
        key = "found" if stage == "published" else stage
        left = sum(planned[name] for name in names[names.index(key) :])
        self.times.begin(stage)
        self.display.begin_stage(stage, planned[key], left)

    def _cells(self) -> list[FitRow]:
        """The found cell, or the published one, and a random cell of its size."""
        planned, genotype = self.plan.cells, self._genotype()
        first = "published" if planned.published else "found"
        self.begin(first)
        other, channels = self._random(genotype)
        sizes = {"cells": planned.cells, "channels": planned.channels}
        others = sizes | {"channels": channels}
        networks: Networks = [(first, genotype, sizes), ("random", other, others)]
        epochs = self._epochs(CELLS, lambda: networks, channels=channels)
        row = self._cell(first, genotype, epochs=epochs, **sizes)
        self.begin("random")
        return [row, self._cell("random", other, epochs=epochs, **others)]

    def _random(self, found: Genotype) -> tuple[Genotype, int]:
        """A random cell of the size of another, and the channels of its network; kept in random.json."""
        kept, channels = self.folder.path / "random.json", self.plan.random_channels
        if channels is not None and kept.exists():
            return Genotype.load(kept), channels
        limits = FitLimits(self.stages.config, self.stages.data.images)
        size = {"cells": self.plan.cells.cells, "channels": self.plan.cells.channels}
        obeys = limits.obeying(found, **size)
        seed, spec = self.stages.config.seed, limits.spec(found, **size)
        other = equal_cell(found, spec, limits.shape, seed=seed, obeys=obeys)
        (self.display.say if other.equal else self.display.warn)(f"random cell: {other.note}")
        for name, cell, own in (
            ("found", found, {}),
            ("random", other.genotype, {"channels": other.channels}),
        ):
            if fault := limits.fault(cell, **size | own):
                self.display.warn(f"the {name} cell is not within the limits: {fault}")
        self.folder.write_text(kept.name, other.genotype.to_json())
        return other.genotype, other.channels

    def _genotype(self) -> Genotype:
        """The cell to train."""
        if self.plan.search is None:
            assert self.plan.cells.published is not None  # noqa: S101 - there is one of both
            return find_genotype(self.plan.cells.published)
        self.begin("search")
        return self.stages.search(self.plan.search, self.plan.cells, self.folder.path / "search")

    def _cell(self, name: str, genotype: Genotype, *, cells: int, channels: int, epochs: int) -> FitRow:
        """Train the network of a cell, which gets a file of its own."""
        file = self.folder.path / f"{name}.json"
        self.folder.write_text(file.name, genotype.to_json())
        published = f"{self.plan.cells.published}, " if name == "published" else ""
        unit = genotype.defaults.cells_unit
        what = f"{published}{cells_in_words(cells, unit)}, {channels} channels"
        return self._trained(name, what, str(file), cells=cells, channels=channels, epochs=epochs)

    def _resnet(self, planned: PlannedTraining) -> FitRow:
        """Train a network that has a name."""
        self.begin("resnet")
        network = find_architecture(planned.cell)
        size = {"channels": planned.channels}
        epochs = self._epochs("resnet", lambda: [(planned.cell, network, size)])
        what = f"{planned.cell}, {planned.channels} channels"
        return self._trained("resnet", what, planned.cell, epochs=epochs, **size)

    def _pretrained(self, planned: PlannedTraining) -> FitRow:
        """Fine-tune the model whose description and weights are in the folder."""
        self.begin("pretrained")
        kept = len(self.stages.data.images.labels) - self.stages.data.held
        file = str(self.folder.path / JSON_FILE)

        def network() -> Networks:
            return [(planned.cell, find_architecture(file), {"side": planned.side, "tuned": kept})]

        epochs = self._epochs("pretrained", network)
        what = f"{planned.cell}, {planned.side} pixels"
        return self._trained("pretrained", what, file, epochs=epochs, tuned=kept)

    def _epochs(
        self, stage: str, networks: Callable[[], Networks], *, channels: int | None = None
    ) -> int:
        """Epochs of a training, settled now unless they are; kept in plan.json."""
        known = self.plan.settled_epochs(stage)
        if known is None:
            speeds: list[TrainSpeed] = self.stages.speeds(networks())
            self.plan = settled(self.plan, stage, speeds, self.times.used, channels=channels)
            self.folder.write_text(PLAN, plan_text(self.plan))
            known = self.plan.settled[-1].epochs
        both = " for both cells" if stage == CELLS else ""
        self.display.say(f"  {known} epochs{both}, by the time that is left")
        return known

    def _trained(self, name: str, what: str, cell: str, *, epochs: int, **sizes: int) -> FitRow:
        out, stages = self.folder.path / name, self.stages
        settings = train_settings(
            stages.config, cell, share=stages.data.share, epochs=epochs, out=out, **sizes
        )
        stages.train(settings, out)
        searched = ("search",) if name == "found" else ()

        def seconds() -> float:
            self.times.save()
            return self.times.of(name, *searched)

        row = stages.row(name, what, out, seconds=seconds)
        between = f"{100 * row.lower:.1f} to {100 * row.upper:.1f}"
        self.display.say(f"  {what}: validation {100 * row.accuracy:.1f} % ({between})")
        return row


class StageDisplay(Callback):
    """What a run inside a fit reports to: warnings, steps and epochs go on, its own lines do not."""

    def __init__(self, display: FitDisplay, times: StageTimes) -> None:
        self.display, self.times = display, times

    def warn(self, line: str) -> None:
        """Pass it on, but for the advice to do what a fit does."""
        if ADVICE not in line:
            self.display.warn(line)

    def after_round(self, search: Search) -> None:
        """Pass it on."""
        self.display.after_round(search)

    def after_step(self, training: Training) -> None:
        """Pass it on."""
        self.display.after_step(training)

    def after_epoch(self, record: SearchEpoch | TrainEpoch, epochs: int) -> None:
        """Pass it on, and account for the time."""
        self.times.save()
        self.display.after_epoch(record, epochs)  # type: ignore[arg-type]  # of either kind
