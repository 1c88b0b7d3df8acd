"""A plan that is followed: stage by stage, until every network is trained."""

from __future__ import annotations

from xnas.engine import Search
from xnas.engine.train import Training
from xnas.records import SearchEpoch, TrainEpoch
from xnas.records.fitting import FitPlan, FitRow
from xnas.runs.displays import Callback, FitDisplay
from xnas.runs.fit.equal_cells import equal_cell
from xnas.runs.fit.parts import train_settings
from xnas.runs.fit.planning import cell_epochs
from xnas.runs.fit.stages import Stages
from xnas.runs.run_folder import RunFolder
from xnas.space import Genotype, find_architecture, find_genotype, network_spec


class Following:
    """The stages of a plan in the folder of a fit."""

    def __init__(self, plan: FitPlan, folder: RunFolder, stages: Stages, display: FitDisplay) -> None:
        self.plan, self.folder, self.stages, self.display = plan, folder, stages, display

    def rows(self) -> list[FitRow]:
        """Every network, trained."""
        planned, resnet = self.plan.cells, self.plan.resnet
        genotype, searched = self._genotype()
        images = self.stages.data.images
        spec = network_spec(genotype).but(
            num_classes=len(images.classes),
            in_chans=images.channels,
            cells=planned.cells,
            channels=planned.channels,
        )
        other = equal_cell(genotype, spec, seed=self.stages.config.seed)
        reference = find_genotype(planned.reference)
        epochs = cell_epochs(planned, [genotype, other.genotype], reference)
        self.display.say(f"random cell: {other.note}; {epochs} epochs for both cells")
        sizes = {"cells": planned.cells, "epochs": epochs}
        first = "published" if planned.published else "found"
        return [
            self._cell(first, genotype, searched, channels=planned.channels, **sizes),
            self._cell("random", other.genotype, channels=other.channels, **sizes),
            self._named("resnet", resnet.cell, epochs=resnet.epochs),
        ]

    def begin(self, stage: str) -> None:
        """Report that a stage begins."""
        planned = self.plan.stages()
        names = list(planned)
        left = sum(planned[name] for name in names[names.index(stage) :])
        self.display.begin_stage(stage, planned[stage], left)

    def _genotype(self) -> tuple[Genotype, float]:
        """The cell to train, and the seconds of its search."""
        if self.plan.search is None:
            return find_genotype(self.plan.cells.reference), 0.0
        self.begin("search")
        return self.stages.search(self.plan.search, self.folder.path / "search")

    def _cell(
        self,
        name: str,
        genotype: Genotype,
        searched: float = 0.0,
        *,
        cells: int,
        channels: int,
        epochs: int,
    ) -> FitRow:
        """Train the network of a cell, which gets a file of its own."""
        file = self.folder.path / f"{name}.json"
        self.folder.write_text(file.name, genotype.to_json())
        published = f"{self.plan.cells.published}, " if name == "published" else ""
        what = f"{published}{cells} cells, {channels} channels"
        return self._trained(
            name, what, str(file), searched, cells=cells, channels=channels, epochs=epochs
        )

    def _named(self, name: str, cell: str, *, epochs: int) -> FitRow:
        """Train a network that has a name."""
        channels = network_spec(find_architecture(cell)).channels
        return self._trained(name, f"{cell}, {channels} channels", cell, epochs=epochs)

    def _trained(
        self, name: str, what: str, cell: str, searched: float = 0.0, *, epochs: int, **sizes: int
    ) -> FitRow:
        self.begin("found" if name == "published" else name)
        out, stages = self.folder.path / name, self.stages
        share = stages.data.share
        stages.train(
            train_settings(stages.config, cell, share=share, epochs=epochs, out=out, **sizes), out
        )
        row = stages.row(name, what, out, searched=searched)
        accuracy, error = 100 * row.accuracy, 100 * row.error
        self.display.say(f"  {what}: validation {accuracy:.1f} % +- {error:.1f}")
        return row


class StageDisplay(Callback):
    """What a run inside a fit reports to: warnings, steps and epochs go on, its own lines do not."""

    def __init__(self, display: FitDisplay) -> None:
        self.display = display

    def warn(self, line: str) -> None:
        """Pass it on."""
        self.display.warn(line)

    def after_round(self, search: Search) -> None:
        """Pass it on."""
        self.display.after_round(search)

    def after_step(self, training: Training) -> None:
        """Pass it on."""
        self.display.after_step(training)

    def after_epoch(self, record: SearchEpoch | TrainEpoch, epochs: int) -> None:
        """Pass it on."""
        self.display.after_epoch(record, epochs)  # type: ignore[arg-type]  # of either kind
