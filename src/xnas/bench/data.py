"""Cost of augmented batches: whole batches on the device, compared with torchvision image by image.

The augmentation is that of a training: crop, flip, AutoAugment, standardise, cutout. Torchvision's runs
in the worker processes of a DataLoader, timed when they are at full speed. Images are noise. Times of
one machine compare only within one run, so the table has ratios.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from xnas.bench.measuring import median_and_spread, milliseconds, noise
from xnas.bench.options import BenchDataConfig
from xnas.data import BatchSettings, BatchSource, ImageData, augmentation_for, training_augmentation
from xnas.process.advance import Advance, unwatched
from xnas.process.devices import pick_device
from xnas.records import DataCost
from xnas.words import counted

FILLS = {"cuda": 20, "cpu": 2}
"""Batches in one timing, by kind of device; their mean counts."""
WARM_UP = 3


def bench_data(config: BenchDataConfig, *, advance: Advance = unwatched) -> list[DataCost]:
    """Time torchvision's workers, then this package's batches, then the two halves of a round."""
    device = pick_device(config.device)
    data = noise(4 * max(config.batch_size, 2 * config.round_size), config.image_size)
    loaders = {
        f"torchvision, {counted(workers, 'worker')}": partial(loader_times, config, data, workers)
        for workers in dict.fromkeys((1, config.workers or cores()))
    }
    batches = loaders | {
        f"xnas{way}": partial(fill_times, config, [source], captured=captured)
        for way, captured in ways(device)
        for source in [training_source(config, data, device)]
    }
    rounds = {
        f"xnas, both halves {policy}AutoAugment{way}": partial(
            fill_times, config, halves, captured=captured
        )
        for policy, autoaugment in (("without ", None), ("with ", config.policy))
        for way, captured in ways(device)
        for halves in [round_sources(config, data, device, autoaugment)]
    }
    times = _measured(batches | rounds, advance)
    alone = statistics.median(times[next(iter(loaders))])
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    return [
        *(_cost(case, name, config.batch_size, times[case], alone) for case in batches),
        *(_cost(case, name, 2 * config.round_size, times[case], None) for case in rounds),
    ]


def _measured(
    cases: Mapping[str, Callable[[], list[float]]], advance: Advance
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    for case, measure in cases.items():
        times[case] = measure()
        advance(len(times), len(cases))
    return times


def ways(device: torch.device) -> list[tuple[str, bool]]:
    """Ways of making batches on a device: a name, and whether a captured graph makes them."""
    return [(", eager", False), (", graph", True)] if device.type == "cuda" else [("", False)]


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class PlainImages(Dataset[tuple[Tensor, int]]):
    """Images one by one through torchvision's transforms, for as many batches as are asked for."""

    def __init__(self, data: ImageData, policy: str, length: int) -> None:
        from torchvision.transforms import v2  # type: ignore[import-untyped]  # noqa: PLC0415

        self.data, self.length = data, length
        self.transform = v2.Compose(
            [
                v2.RandomCrop(data.size, padding=max(min(data.size) // 8, 1)),
                v2.RandomHorizontalFlip(),
                v2.AutoAugment(v2.AutoAugmentPolicy(policy)),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize(data.mean, data.std),
                v2.RandomErasing(p=1, scale=(0.25, 0.25), ratio=(1, 1)),  # half the side, as cutout
            ]
        )

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        at = index % len(self.data.images)
        return self.transform(self.data.images[at]), int(self.data.labels[at])


def loader_times(config: BenchDataConfig, data: ImageData, workers: int) -> list[float]:
    """Milliseconds of a batch as it arrives from a DataLoader whose workers are all busy."""
    group = 2 * workers  # batches in one timing: two from each worker
    images = PlainImages(data, config.policy, config.batch_size * group * (1 + config.timings))
    arriving: Iterator[object] = iter(DataLoader(images, config.batch_size, num_workers=workers))

    def receive() -> None:
        for _ in range(group):
            next(arriving)

    receive()
    return [milliseconds(receive, torch.device("cpu")) / group for _ in range(config.timings)]


def training_source(config: BenchDataConfig, data: ImageData, device: torch.device) -> BatchSource:
    """Batches with the augmentation of a training."""
    augment, cutout = training_augmentation(
        data, autoaugment=config.policy, cutout=config.image_size // 2
    )
    return BatchSource(
        data.images.to(device),
        data.labels,
        torch.arange(len(data.images)),
        BatchSettings(
            batch_size=config.batch_size,
            mean=data.mean,
            std=data.std,
            seed=0,
            name="training",
            augment=augment,
            finish=cutout,
        ),
    )


def round_sources(
    config: BenchDataConfig, data: ImageData, device: torch.device, autoaugment: str | None
) -> list[BatchSource]:
    """The two halves of a search; AutoAugment, if any, acts on the training half alone."""
    images, labels = data.images.to(device), data.labels.to(device)
    return [
        BatchSource(
            images,
            labels,
            indices,
            BatchSettings(
                batch_size=config.round_size,
                mean=data.mean,
                std=data.std,
                seed=0,
                name=name,
                augment=augmentation_for(data, autoaugment=policy),
            ),
        )
        for name, indices, policy in zip(
            ("training", "validation"),
            torch.arange(len(images)).chunk(2),
            (autoaugment, None),
            strict=True,
        )
    ]


def fill_times(
    config: BenchDataConfig, sources: Sequence[BatchSource], *, captured: bool
) -> list[float]:
    """Milliseconds to fill a batch of each source."""
    device = sources[0].images.device
    fills = FILLS[device.type]
    for source in sources:
        source.begin_epoch(0, WARM_UP + 1 + fills * (1 + config.timings))
    buffers = [source.buffers() for source in sources]

    def fill() -> None:
        for source, room in zip(sources, buffers, strict=True):
            source.fill(*room)

    step = _captured(fill, sources) if captured else fill

    def several() -> None:
        for _ in range(fills):
            step()

    milliseconds(several, device)  # to warm up
    return [milliseconds(several, device) / fills for _ in range(config.timings)]


def _captured(fill: Callable[[], None], sources: Sequence[BatchSource]) -> Callable[[], None]:
    """The same fill from a CUDA graph, captured after a few plain ones on a stream of their own."""
    with torch.cuda.device(sources[0].images.device):
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                fill()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        for source in sources:
            graph.register_generator_state(source.generator)
        with torch.cuda.graph(graph):
            fill()
    return graph.replay


def _cost(case: str, device: str, images: int, times: Sequence[float], alone: float | None) -> DataCost:
    middle, spread = median_and_spread(times)
    return DataCost(
        case=case,
        device=device,
        images=images,
        milliseconds=middle,
        spread=spread,
        ratio=None if alone is None else alone / middle,
    )
