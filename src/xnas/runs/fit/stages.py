"""The runs that a fit consists of: each is begun, resumed or found finished, in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from xnas.engine.evaluate import evaluate
from xnas.errors import FinishedError
from xnas.model.latency import measure_latency
from xnas.model.model import load_model
from xnas.model.model_card import ModelCard
from xnas.process.devices import pick_device
from xnas.records import TrainEpoch
from xnas.records.fitting import FitRow, PlannedCells, PlannedSearch, RowCost, TrainSpeed
from xnas.runs.config_file import NAME as CONFIG
from xnas.runs.displays import Callback
from xnas.runs.fit.comparing import wilson_interval
from xnas.runs.fit.config import FitConfig
from xnas.runs.fit.parts import FitData, search_settings, train_settings
from xnas.runs.fit.probes import TrainProbe
from xnas.runs.fit.probing import speeds_now
from xnas.runs.run_folder import RunFolder
from xnas.runs.search import resume_search, search
from xnas.runs.sources import Sources
from xnas.runs.train import resume_training, train
from xnas.runs.train_config import TrainConfig
from xnas.space import Architecture, Genotype, Network, count_macs, count_parameters

PASSED_ON = ("backend", "checkpoint_minutes", "device")
"""Options of a resumed fit that its runs get as well."""
BATCH = 250
"""Validation images that are answered at once."""


@dataclass(frozen=True)
class Stages:
    """Plays what is left of each run."""

    config: FitConfig
    data: FitData
    display: Callback
    changes: Mapping[str, Any]
    """What was given to this resumption."""
    answers: dict[str, Tensor] = field(default_factory=dict)
    """By row, which validation images its network answers rightly."""

    def search(self, planned: PlannedSearch, cells: PlannedCells, out: Path) -> Genotype:
        """The cell of the search in `out`, within the limits in the network that is trained of it."""
        images = self.data.searched(planned.images)
        settings = search_settings(self.config, planned, out)
        trained = train_settings(
            self.config,
            "xnas",
            share=self.data.share,
            epochs=1,
            cells=cells.cells,
            channels=cells.channels,
        )
        given: dict[str, Any] = {"display": self.display, "trained": trained}
        self._finish(
            out,
            lambda: search(settings, images, **given),
            lambda more: resume_search(out, data=images, **given, **more),
        )
        return Genotype.load(out / "genotype.json")

    def speeds(self, networks: Sequence[tuple[str, Architecture, dict[str, Any]]]) -> list[TrainSpeed]:
        """What trainings of some networks would cost now; sizes are those of `TrainProbe`."""
        images, share = self.data.trained, self.data.share
        probes = [
            TrainProbe(self.config, images, share, name, network, **sizes)
            for name, network, sizes in networks
        ]
        return speeds_now(probes, seconds=60 * self.config.minutes)

    def train(self, settings: TrainConfig, out: Path) -> None:
        """Finish the training in `out`."""
        images = self.data.trained
        self._finish(
            out,
            lambda: train(settings, images, display=self.display),
            lambda more: resume_training(out, data=images, display=self.display, **more),
        )

    def row(self, name: str, what: str, out: Path, *, seconds: Callable[[], float]) -> FitRow:
        """What a finished training says of its network, and `seconds` of its cost once all is done."""
        epochs = RunFolder.open(out).metrics.records(TrainEpoch.from_json)
        device = pick_device(self.config.device)
        model, card = load_model(out, device)
        shape = (card.network.in_chans, *card.input_size)
        right = self.answers[name] = self._right(model, card, device)
        lower, upper = wilson_interval(int(right.sum()), len(right))
        latency = measure_latency(model, shape, device=device)
        return FitRow(
            name=name,
            what=what,
            accuracy=float(right.double().mean()),
            lower=lower,
            upper=upper,
            parameters=count_parameters(model),
            macs=count_macs(model, shape),
            epochs=len(epochs),
            out=out.name,
            cost=RowCost(latency=latency, seconds=seconds()),
        )

    def _right(self, model: Network, card: ModelCard, device: torch.device) -> Tensor:
        """Which validation images the network answers rightly, in their order."""
        sources = Sources(
            self.data.images,
            device,
            batch_size=BATCH,
            seed=self.config.seed,
            count=1,
            size=card.input_size,
        )
        found: list[Tensor] = []

        def follow(_: Tensor, logits: Tensor, labels: Tensor) -> None:
            found.append((logits.argmax(-1) == labels).cpu())

        batches = sources.make("held back", self.data.validation).whole()  # names a stream
        evaluate(model, batches, card.classes, follow=follow)
        return torch.cat(found)

    def _finish(
        self,
        out: Path,
        begin: Callable[[], object],
        resume: Callable[[dict[str, Any]], object],
    ) -> None:
        """Begin a run, or resume it if it was begun; nothing if it is finished."""
        if not (out / CONFIG).exists():
            begin()
            return
        try:
            resume({name: value for name, value in self.changes.items() if name in PASSED_ON})
        except FinishedError:
            return
