"""The runs that a fit consists of: each is begun, resumed or found finished, in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xnas.errors import FinishedError
from xnas.model.latency import measure_latency
from xnas.model.model import load_model
from xnas.process.devices import pick_device
from xnas.records import SearchEpoch, TrainEpoch
from xnas.records.fitting import FitRow, PlannedSearch, RowCost
from xnas.runs.config_file import NAME as CONFIG
from xnas.runs.displays import Callback
from xnas.runs.fit.comparing import standard_error
from xnas.runs.fit.config import FitConfig
from xnas.runs.fit.parts import FitData, search_settings
from xnas.runs.run_folder import RunFolder
from xnas.runs.search import resume_search, search
from xnas.runs.train import resume_training, train
from xnas.runs.train_config import TrainConfig
from xnas.space import Genotype, count_macs, count_parameters

PASSED_ON = ("backend", "checkpoint_minutes", "device")
"""Options of a resumed fit that its runs get as well."""


@dataclass(frozen=True)
class Stages:
    """Plays what is left of each run."""

    config: FitConfig
    data: FitData
    display: Callback
    changes: Mapping[str, Any]
    """What was given to this resumption."""

    def search(self, planned: PlannedSearch, out: Path) -> tuple[Genotype, float]:
        """The cell of the search in `out`, and the seconds that its rounds took."""
        images = self.data.searched(planned.images)
        settings = search_settings(self.config, planned, out)
        self._finish(
            out,
            lambda: search(settings, images, display=self.display),
            lambda more: resume_search(out, data=images, display=self.display, **more),
        )
        epochs = RunFolder.open(out).metrics.records(SearchEpoch.from_json)
        return Genotype.load(out / "genotype.json"), sum(epoch.cost.seconds for epoch in epochs)

    def train(self, settings: TrainConfig, out: Path) -> None:
        """Finish the training in `out`."""
        images = self.data.trained
        self._finish(
            out,
            lambda: train(settings, images, display=self.display),
            lambda more: resume_training(out, data=images, display=self.display, **more),
        )

    def row(self, name: str, what: str, out: Path, *, searched: float = 0.0) -> FitRow:
        """What a finished training says of its network; `searched` are the seconds of its search."""
        epochs = RunFolder.open(out).metrics.records(TrainEpoch.from_json)
        accuracy = epochs[-1].valid_accuracy
        assert accuracy is not None  # noqa: S101 - every training of a fit holds images out
        device = pick_device(self.config.device)
        model, card = load_model(out, device)
        shape = (card.network.in_chans, *card.input_size)
        return FitRow(
            name=name,
            what=what,
            accuracy=accuracy,
            error=standard_error(accuracy, self.data.held),
            parameters=count_parameters(model),
            macs=count_macs(model, shape),
            epochs=len(epochs),
            out=out.name,
            cost=RowCost(
                latency=measure_latency(model, shape, device=device),
                seconds=searched + sum(epoch.cost.seconds for epoch in epochs),
            ),
        )

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
