"""One search with experimental guards, and all that rules for its cell may need.

Each epoch appends a line to `records.jsonl`: rewards paid to every cell, edge and operation (sums over
the epoch's rounds, float64, before clipping), the sums and the mixture that they led to, losses on both
halves, mean rewards by operation and stage, the cell, and every few epochs what the absence of each edge
costs. So cells can be chosen in many ways afterwards, without a GPU. A checkpoint after each epoch lets
a killed search resume.
"""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from jobs import Record
from watch import ran_on
from xnas.data import BatchSource, ImageData, Images, load_data
from xnas.data.augment import Chain
from xnas.data.autoaugment import AutoAugmentTrain
from xnas.data.sometimes import Sometimes
from xnas.engine import (
    Checkpoints,
    Search,
    captured_round,
    end_epoch,
    play_round,
    restore_search,
    search_state,
)
from xnas.engine.balance import Balance
from xnas.process.devices import repeatable, synchronize
from xnas.runs.prepare import prepare
from xnas.runs.search_config import SearchConfig
from xnas.space import SPACES, SearchSpace

DIGITS = 9  # that recorded numbers keep
RECORDS = "records.jsonl"
PACKED = torch.bfloat16
"""Of weights and momenta in checkpoints that travel: half their size."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """Guards of a search; the engine describes them."""

    auto_augment: bool = False
    balance: bool = False
    """AutoAugment with a chance per image that follows the gap between the losses."""
    expert_dropout: float = 0.0
    best_temperature: bool = False
    skip_dropout: str = "0.5"
    warmup: float = 0.0
    """Share of the epochs in which mixtures rest."""
    wipeout: bool = False
    """By default off, so that every sum is whole."""


VARIANTS = {
    "default": Variant(),
    "candidate": Variant(expert_dropout=0.5, best_temperature=True, warmup=0.18, wipeout=True),
    "eighth-candidate": Variant(expert_dropout=0.125, best_temperature=True, warmup=0.18, wipeout=True),
    "absent": Variant(expert_dropout=0.5, auto_augment=True),
    "rules": Variant(best_temperature=True, balance=True),
    "absent-rules": Variant(expert_dropout=0.5, best_temperature=True, balance=True),
    "absent-temperature": Variant(expert_dropout=0.5, auto_augment=True, best_temperature=True),
    "absent-balance": Variant(expert_dropout=0.5, balance=True),
    "absent-plain": Variant(expert_dropout=0.5),
    "quarter": Variant(expert_dropout=0.25, auto_augment=True),
    "quarter-balance": Variant(expert_dropout=0.25, balance=True),
    "quarter-rules": Variant(expert_dropout=0.25, best_temperature=True, balance=True),
    "eighth": Variant(expert_dropout=0.125, auto_augment=True),
    "eighth-rules": Variant(expert_dropout=0.125, best_temperature=True, balance=True),
    "augmented": Variant(auto_augment=True),
    "absent-warm": Variant(expert_dropout=0.5, auto_augment=True, warmup=0.2),
    "plain-warm": Variant(expert_dropout=0.5, warmup=0.2),
    "temperature-warm": Variant(expert_dropout=0.5, best_temperature=True, warmup=0.2),
    "eighth-warm": Variant(expert_dropout=0.125, warmup=0.2),
    "eighth-augmented-warm": Variant(expert_dropout=0.125, auto_augment=True, warmup=0.2),
    "eighth-temperature-warm": Variant(expert_dropout=0.125, best_temperature=True, warmup=0.2),
    "present-warm": Variant(best_temperature=True, warmup=0.18),
    "firm": Variant(expert_dropout=0.5, best_temperature=True, skip_dropout="0.7", warmup=0.18),
    "eighth-firm": Variant(expert_dropout=0.125, best_temperature=True, skip_dropout="0.7", warmup=0.18),
    "final": Variant(
        expert_dropout=0.5, best_temperature=True, skip_dropout="0.7", warmup=0.18, wipeout=True
    ),
    "eighth-final": Variant(
        expert_dropout=0.125, best_temperature=True, skip_dropout="0.7", warmup=0.18, wipeout=True
    ),
    "temperature": Variant(best_temperature=True, wipeout=True),
    "firm-temperature": Variant(best_temperature=True, skip_dropout="0.7", wipeout=True),
    "eighth-rules-warm": Variant(expert_dropout=0.125, best_temperature=True, balance=True, warmup=0.2),
}


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a search is, and on what."""

    settings: dict[str, Any]
    space: str = "darts"
    generated: tuple[int, int] | None = None
    """Number and side of images that are drawn at random, instead of CIFAR-10."""
    few: tuple[int, int] | None = None
    """So many images of CIFAR-10, averaged to so many pixels."""
    precision: Literal["fp32", "bf16"] | None = None


SIZES = {
    "full": Size(settings={"epochs": 25, "batch_size": 96, "cells": 8, "channels": 16}),
    "short": Size(settings={"epochs": 20, "batch_size": 96, "cells": 8, "channels": 16}),
    "benchmark": Size(
        settings={"epochs": 20, "batch_size": 96, "cells": 5, "channels": 16}, space="nasbench201"
    ),
    "whole-benchmark": Size(
        settings={"epochs": 50, "batch_size": 96, "cells": 5, "channels": 16}, space="nasbench201"
    ),
    "few": Size(
        settings={"epochs": 100, "batch_size": 96, "cells": 1, "channels": 12},
        space="nasbench201",
        few=(2400, 16),
        precision="fp32",
    ),
    "smoke": Size(
        settings={"epochs": 3, "batch_size": 96, "cells": 8, "channels": 16}, generated=(3840, 32)
    ),
    "tiny": Size(
        settings={"epochs": 3, "batch_size": 16, "cells": 3, "channels": 2}, generated=(64, 16)
    ),
}


@dataclass(frozen=True, kw_only=True)
class RecordedSearch:
    """One search; its name says which."""

    variant: str
    seed: int
    size: str = "full"

    @property
    def name(self) -> str:
        """Of its folder."""
        return f"{self.size}-{self.variant}-{self.seed}"

    @property
    def epochs(self) -> int:
        """Epochs to play."""
        return int(SIZES[self.size].settings["epochs"])

    @property
    def space(self) -> SearchSpace:
        """Where it searches."""
        return SPACES[SIZES[self.size].space]

    def config(self, device: str, data_dir: Path | None) -> SearchConfig:
        """Settings that a command could give."""
        guards = VARIANTS[self.variant]
        return SearchConfig(
            space=self.space.name,
            precision=SIZES[self.size].precision,
            seed=self.seed,
            device=device,
            data_dir=data_dir,
            wipeout=guards.wipeout,
            skip_dropout=guards.skip_dropout,
            expert_dropout=guards.expert_dropout,
            best_temperature=guards.best_temperature,
            warmup=guards.warmup,
            edges="absence",
            auto_augment=guards.auto_augment,
            **SIZES[self.size].settings,
        )


def played(folder: Path, *, header: bool = True) -> list[Record]:
    """The epochs that a folder has records of; a last line without its end does not count."""
    path = folder / RECORDS
    if not path.exists():
        return []
    text = path.read_text(encoding="utf8")
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()][int(header) :]


def is_running(folder: Path) -> bool:
    """Whether a process plays the search of this folder."""
    try:
        with (folder / "lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def play(
    job: RecordedSearch,
    folder: Path,
    *,
    device: str = "auto",
    data_dir: Path | None = None,
    backend: Literal["auto", "reference", "fused"] = "auto",
    stop_after: int | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Play a search to its end, or to the end of epoch `stop_after`, from its last checkpoint if any."""
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        config = replace(job.config(device, data_dir), backend=backend)
        search = guarded(prepare(config, _images(job, data_dir)).search, VARIANTS[job.variant])
        checkpoints = Checkpoints(folder / "checkpoints", keep=1)
        checkpoints.newest(search.device, say, partial(restore_search, search))
        _begin_records(folder / RECORDS, search, job)
        say(f"{job.name}: from epoch {search.epoch + 1} on {search.device}")
        last = min(job.epochs, stop_after or job.epochs)
        with repeatable(search.device):
            for line in _epochs(search, last, job.space, say):
                with (folder / RECORDS).open("a", encoding="utf8") as file:
                    file.write(json.dumps(line) + "\n")
                checkpoints.save(search_state(search))
                say(f"{job.name}: epoch {line['epoch']} of {job.epochs}, {line['seconds']:.1f} s")


def guarded(plain: Search, guards: Variant) -> Search:
    """The same search with the guards of a variant."""
    if not guards.balance:
        return plain
    balance = Balance(plain.device)
    assert isinstance(plain.train, BatchSource)  # noqa: S101 - images in memory
    assert isinstance(plain.train.augment, Chain)  # noqa: S101 - crop and flip
    sometimes = Sometimes(AutoAugmentTrain("cifar10"), balance.chance)
    plain.train.augment = Chain((*plain.train.augment.steps, sometimes))
    return Search(
        plain.supernet,
        plain.method,
        train=plain.train,
        valid=plain.valid,
        settings=plain.settings,
        balance=balance,
    )


def packed(state: Any) -> Any:  # noqa: ANN401 - any state
    """A checkpoint's state that takes half the room; what is lost are digits of weights and momenta."""
    return _converted(state, torch.float32, PACKED)


def unpacked(state: Any) -> Any:  # noqa: ANN401 - any state
    """The state that `packed` made smaller."""
    return _converted(state, PACKED, torch.float32)


def _converted(state: Any, old: torch.dtype, new: torch.dtype) -> Any:  # noqa: ANN401 - any state
    if isinstance(state, Tensor):
        state = state.cpu()
        return state.to(new) if state.dtype == old and state.dim() > 0 else state
    if isinstance(state, dict):
        return {key: _converted(item, old, new) for key, item in state.items()}
    return [_converted(item, old, new) for item in state] if isinstance(state, list) else state


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def _images(job: RecordedSearch, data_dir: Path | None) -> Images:
    generated, few = SIZES[job.size].generated, SIZES[job.size].few
    if generated is not None:
        return generated_images(*generated)
    whole = load_data("cifar10", data_dir=data_dir)
    return whole if few is None else few_images(whole, *few)


def generated_images(count: int, side: int) -> ImageData:
    """So many square images of ten classes, which their colour tells apart."""
    draw = torch.Generator().manual_seed(0)
    labels = torch.arange(count) % 10
    noise = torch.rand(count, 3, side, side, generator=draw)
    colours = torch.rand(10, 3, 1, 1, generator=draw)[labels]
    return ImageData(
        name="generated",
        images=(127 * (noise + colours)).to(torch.uint8),
        labels=labels,
        classes=tuple("abcdefghij"),
        flip=True,
    )


def few_images(images: Images, count: int, side: int) -> ImageData:
    """The first images, so many of each class, averaged to fewer pixels."""
    assert isinstance(images, ImageData)  # noqa: S101 - CIFAR-10 is in memory
    each = count // len(images.classes)
    rows = torch.cat([(images.labels == c).nonzero()[:each, 0] for c in range(len(images.classes))])
    smaller = adaptive_avg_pool2d(images.images[rows].float(), side).round().to(torch.uint8)
    return ImageData(
        name=f"{count} images of CIFAR-10",
        images=smaller,
        labels=images.labels[rows],
        classes=images.classes,
        flip=images.flip,
    )


def _begin_records(path: Path, search: Search, job: RecordedSearch) -> None:
    """A header, and no lines of epochs that will be played again."""
    header = {
        "job": job.name,
        "variant": job.variant,
        "seed": job.seed,
        "guards": asdict(VARIANTS[job.variant]),
        "settings": asdict(search.settings),
        "operations": job.space.operations,
        "edges": job.space.edges,
        **ran_on(str(search.device)),
    }
    lines = [header, *(line for line in played(path.parent) if line["epoch"] <= search.epoch)]
    scratch = path.with_suffix(".new")
    scratch.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf8")
    scratch.replace(path)


def _epochs(
    search: Search, last: int, space: SearchSpace, say: Callable[[str], None]
) -> Iterator[Record]:
    """Play epochs up to `last`; gives the record of each."""
    play_one: Callable[[], None] | None = None
    captured = (False, 0)
    while search.epoch < last:
        began = time.perf_counter()
        search.begin_epoch()
        now = (search.learning, len(search.deleted))
        if play_one is None or now != captured:
            play_one, captured = None, now  # lets go of one captured round before another is captured
            play_one = round_of(search)
            say(f"ready after {time.perf_counter() - began:.1f} s")
        chance = None if search.balance is None else float(search.balance.chance)
        for _ in range(search.settings.rounds_per_epoch):
            play_one()
        synchronize(search.device)
        seconds = time.perf_counter() - began
        yield _record(search, space, chance, seconds)


def round_of(search: Search) -> Callable[[], None]:
    """What plays a round: captured on a GPU."""
    if search.device.type == "cuda" and getattr(search.supernet, "fused", False):
        return captured_round(search)
    return partial(play_round, search)


def _record(search: Search, space: SearchSpace, chance: float | None, seconds: float) -> Record:
    began = time.perf_counter()
    epoch = asdict(end_epoch(search, seconds=seconds, memory_bytes=0, gap=None))
    standing = search.standing()
    costs = {kind: values.tolist() for kind, values in (standing.edge_costs or {}).items()}
    ending = time.perf_counter() - began
    names = (
        "epoch",
        "rounds",
        "learning_rate",
        "skip_dropout",
        "entropy",
        "rewards",
        "rewards_by_stage",
    )
    losses = ("train_loss", "train_accuracy", "valid_loss", "valid_accuracy")
    record: Record = shortened(
        {name: epoch[name] for name in (*names, *losses)}
        | {
            "auto_augment_chance": chance,
            "paid": {kind: paid.tolist() for kind, paid in search.tally.rewards.items()},
            "sums": {kind: total.tolist() for kind, total in standing.sums.items()},
            "mixture": {kind: u.tolist() for kind, u in search.mixtures.items()},
            "edge_costs": costs,
            "seconds": seconds,
            "seconds_at_end": ending,
        }
    )
    return record | {"cell": json.loads(standing.cell(space).to_json())}


def shortened(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The same, its numbers with `DIGITS` significant digits."""
    if isinstance(value, dict):
        return {name: shortened(v) for name, v in value.items()}
    if isinstance(value, list):
        return [shortened(v) for v in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
