"""The speed of this machine: rounds and steps, really played, before a fit is planned.

Sizes are measured in rising order while a larger one could still be of use, and no longer than a small
share of the time allows. Then all of them are timed again in turn. What is measured is thrown away.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import torch

from xnas.process.devices import pick_device
from xnas.records.fitting import Speeds, TrainSpeed
from xnas.runs.fit.config import FitConfig
from xnas.runs.fit.limiting import FitLimits
from xnas.runs.fit.parts import FitData
from xnas.runs.fit.planning import QUICK_SPACE, WIDE_SPACE
from xnas.runs.fit.pretrained import PretrainedModel
from xnas.runs.fit.probes import SearchProbe, TrainProbe, quick_quarter, trimmed_mean
from xnas.runs.fit.sizing import (
    AIM,
    GOOD_EPOCHS,
    GOOD_FINE_TUNING,
    Facts,
    is_good,
    larger_fits,
    larger_search_fits,
    search_within,
    share_of,
)
from xnas.runs.fit.threads import computing_with, fastest_threads
from xnas.space import Architecture, find_architecture

PROBING, AGAIN = 0.05, 0.01
"""Shares of the time that measuring may take: before the plan, and before a training begins."""
SEARCH_SIZES = {
    "darts": ((3, 4), (5, 4), (5, 8), (5, 16)),
    "nasbench201": ((1, 8), (1, 16), (2, 16)),
}
"""Cells (of nasbench201: per stage) and channels of supernets."""
CELL_SIZES = {
    "darts": ((3, 8), (5, 8), (5, 16), (5, 24), (5, 40)),
    "nasbench201": ((1, 8), (1, 16), (2, 16), (3, 16), (5, 16), (5, 32)),
}
"""The same of the networks of cells; the last of darts is the recipe's own size."""
REFERENCES = {
    "darts": "xnas",
    "nasbench201": (
        "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|"
    ),
}
"""The cell whose networks are measured. That of nasbench201 is the best of its table on CIFAR-10."""
SMALLER_SIZES = {"darts": ((3, 2), (3, 4)), "nasbench201": ((1, 2), (1, 4))}
"""Smaller ones, where the model is limited."""
RESNETS = (("resnet-8", 16), ("resnet-14", 16), ("resnet-20", 16))
"""Names and channels."""
SMALLER_RESNETS = (("resnet-8", 4), ("resnet-8", 8))
MANY_STEPS = 12
END_SECONDS = 12.0
"""Of the end, for what does not depend on the network: both exports, their checks, and the report."""

SomeProbe = TypeVar("SomeProbe", SearchProbe, TrainProbe)
Size = TypeVar("Size")


class Measuring:
    """The measurements before a plan."""

    def __init__(
        self,
        config: FitConfig,
        data: FitData,
        facts: Facts,
        *,
        seconds: float,
        pretrained: PretrainedModel | None = None,
        sides: Sequence[int] = (),
    ) -> None:
        """`seconds` are those of the whole fit; `sides` those of images that the model may get."""
        self.config, self.data, self.facts, self.seconds = config, data, facts, seconds
        self.pretrained, self.sides = pretrained, sides
        self.limits = FitLimits(config, data.images)
        self.began = time.perf_counter()
        self.probes: list[SearchProbe | TrainProbe] = []

    def speeds(self) -> Speeds:
        """What rounds and steps cost here."""
        cpu = pick_device(self.config.device).type == "cpu"
        most = torch.get_num_threads()
        with computing_with(1 if cpu else None):
            first, wide = self._resnet(RESNETS[0]), SEARCH_SIZES[WIDE_SPACE][0]
            tried = [self._supernet(WIDE_SPACE, wide)] if self.facts.searchable else []
        threads = fastest_threads([first, *tried], most) if cpu else None
        with computing_with(threads):
            space, supernets = self._searches(tried)
            sizes = self._sizes(space, published=not supernets)
            cells = self._trainings(sizes, partial(self._cells, space), "cells")
            resnets = self._resnets(first)
            tuned = self._trainings(self.sides, self._tuned, "pretrained") if self.sides else []
            self._time_again()
            trained = [
                tuple(probe.speed(quick_quarter) for probe in kind) for kind in (cells, resnets, tuned)
            ]
            return Speeds(
                threads=threads,
                search=tuple(probe.speed(quick_quarter) for probe in supernets),
                cells=trained[0],
                resnet=trained[1],
                pretrained=trained[2],
                end=END_SECONDS + self._test_seconds([*cells, *resnets, *tuned]),
            )

    def _test_seconds(self, probes: Sequence[TrainProbe]) -> float:
        """Of the test, which one of these networks will answer: the slowest."""
        tests = self.data.images.test_labels
        return 0.0 if tests is None else max(probe.answering(len(tests)) for probe in probes)

    def without_search(self, speeds: Speeds) -> Speeds:
        """The same with the networks of the published cell, for a plan that has no time for a search."""
        with computing_with(speeds.threads):
            sizes = self._sizes(WIDE_SPACE, published=True)
            cells = self._trainings(sizes, partial(self._cells, WIDE_SPACE), "cells")
            networks = tuple(probe.speed(quick_quarter) for probe in cells)
        return replace(speeds, search=(), cells=networks)

    def _searches(self, tried: list[SearchProbe]) -> tuple[str, list[SearchProbe]]:
        """The space, and supernets of rising size: the wide one where a search has its rounds."""
        if not tried:
            return WIDE_SPACE, []
        share = self._share("cells")  # a search and the cells get about as much
        tried[0].time_first()
        planned = search_within(tried[0].speed(quick_quarter), self.facts, share)
        space = WIDE_SPACE
        if planned is None or not is_good(planned):
            space, tried = QUICK_SPACE, []
        larger = partial(larger_search_fits, facts=self.facts, seconds=share)
        found = self._ladder(SEARCH_SIZES[space], partial(self._supernet, space), larger, tried)
        planned = search_within(found[0].speed(quick_quarter), self.facts, share)
        return (space, found) if planned is not None else (WIDE_SPACE, [])

    def _sizes(self, space: str, *, published: bool) -> Sequence[tuple[int, int]]:
        """Sizes of cells' networks that may be trained; of the `published` one without a search."""
        reference = find_architecture(REFERENCES[space])
        smaller, usual = SMALLER_SIZES[space], CELL_SIZES[space]
        if not self.config.limited:
            return usual
        if published:
            found = self.limits.sizes(reference, smaller + usual)
        else:
            found = self.limits.cell_sizes(space, smaller + usual, reference)
        return [size for size in found if size in usual] or found[-1:]

    def _resnets(self, first: TrainProbe) -> list[TrainProbe]:
        """Residual networks that obey the limits, the smallest first; none if none does."""
        found = [one for one in RESNETS if self._obeys(*one)]
        if not found:
            found = [one for one in SMALLER_RESNETS if self._obeys(*one)][-1:]
        begun = first if found[:1] == [RESNETS[0]] else None
        return self._trainings(found, self._resnet, "resnet", begun=begun)

    def _obeys(self, name: str, channels: int) -> bool:
        return self.limits.fault(find_architecture(name), channels=channels) is None

    def _trainings(
        self,
        sizes: Sequence[Size],
        begin: Callable[[Size], TrainProbe],
        stage: str,
        *,
        begun: TrainProbe | None = None,
    ) -> list[TrainProbe]:
        share = self._share(stage) * (0.5 if stage == "cells" else 1.0)
        good = GOOD_FINE_TUNING if stage == "pretrained" else GOOD_EPOCHS

        def larger(speed: TrainSpeed) -> bool:
            return larger_fits(speed, share, good)

        return self._ladder(sizes, begin, larger, [] if begun is None else [begun])

    def _ladder(
        self,
        sizes: Sequence[Size],
        begin: Callable[[Size], SomeProbe],
        larger: Callable[..., bool],
        begun: list[SomeProbe],
    ) -> list[SomeProbe]:
        """Probes of rising sizes, as long as a larger one may fit and the time for measuring lasts."""
        found = list(begun)
        for probe in found:
            if not probe.times:
                probe.time_first()
        for size in sizes[len(found) :]:
            if found and not (larger(found[-1].speed(quick_quarter)) and self._may_go_on()):
                break
            found.append(begin(size))
            found[-1].time_first()
        self.probes += found
        return found

    def _time_again(self) -> None:
        """Time all probes in turn, while there is time and their steps are few."""
        fewest = min(self.probes, key=lambda probe: len(probe.times))
        while self._may_go_on() and len(fewest.times) < MANY_STEPS:
            fewest.time_step()
            fewest = min(self.probes, key=lambda probe: len(probe.times))

    def _may_go_on(self) -> bool:
        return time.perf_counter() - self.began < PROBING * self.seconds

    def _share(self, stage: str) -> float:
        left = AIM * self.seconds - (time.perf_counter() - self.began)
        return share_of(
            stage, left, search=self.facts.searchable, pretrained=self.pretrained is not None
        )

    def _supernet(self, space: str, size: tuple[int, int]) -> SearchProbe:
        return SearchProbe(self.config, self.data, space, size)

    def _cells(self, space: str, size: tuple[int, int]) -> TrainProbe:
        name = REFERENCES[space]
        cells, channels = size
        return self._training(name, find_architecture(name), cells=cells, channels=channels)

    def _resnet(self, size: tuple[str, int]) -> TrainProbe:
        name, channels = size
        return self._training(name, find_architecture(name), channels=channels)

    def _tuned(self, side: int) -> TrainProbe:
        assert self.pretrained is not None  # noqa: S101 - there are sides
        architecture = self.pretrained.architecture(side)
        return self._training(self.pretrained.name, architecture, side=side, tuned=self.facts.kept)

    def _training(self, name: str, architecture: Architecture, **sizes: Any) -> TrainProbe:  # noqa: ANN401
        return TrainProbe(self.config, self.data.trained, self.data.share, name, architecture, **sizes)


def speeds_now(probes: Sequence[TrainProbe], *, seconds: float) -> list[TrainSpeed]:
    """What steps of trainings cost now, timed in turn; `seconds` are those of the whole fit."""
    for probe in probes:
        probe.time_first()
    began = time.perf_counter()
    while time.perf_counter() - began < AGAIN * seconds:
        for probe in probes:
            probe.time_step()
    return [probe.speed(trimmed_mean) for probe in probes]
