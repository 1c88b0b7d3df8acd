"""Plays a small search epoch by epoch, and records what each epoch leaves.

A checkpoint and a line in `records.jsonl` follow each epoch, so that a stopped search resumes. A method
with several stages goes over to the next one where it begins, as in `xnas search`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jobs import Record
from recorded_search import played, round_of, shortened
from small_search import SmallSearch, build_search
from watch import ran_on
from xnas.engine import Checkpoints, Search, end_epoch, restore_search, search_state
from xnas.engine.gap import discretization_gap
from xnas.process.devices import repeatable, synchronize
from xnas.records import Judgement, SearchEpoch
from xnas.runs.prepare import Prepared
from xnas.runs.truth import Benchmark, load_truth, space_of
from xnas.space import Genotype

RECORDS = "records.jsonl"
GAP_EVERY = 5  # epochs between two measurements of the discretization gap


def play(
    job: SmallSearch,
    folder: Path,
    *,
    device: str,
    data_dir: Path | None,
    truth: Path | None,
    deadline: float,
) -> bool:
    """Play a search to its end, from its last checkpoint if any; False if time was up before."""
    folder.mkdir(parents=True, exist_ok=True)
    playing = Playing(job, build_search(job, data_dir=data_dir, device=device))
    where = playing.search.device
    checkpoints = Checkpoints(folder / "checkpoints", keep=1)
    checkpoints.newest(where, print, playing.restore)
    _drop_later(folder / RECORDS, playing.search.epoch)
    benchmark = load_truth(truth, job.options["space"])
    with repeatable(where):
        for line in playing.epochs(benchmark, deadline):
            with (folder / RECORDS).open("a", encoding="utf8") as file:
                file.write(json.dumps(line) + "\n")
            checkpoints.save(search_state(playing.search))
    return playing.search.epoch >= job.epochs


class Playing:
    """A search in one of its stages, with the round that it repeats."""

    def __init__(self, job: SmallSearch, prepared: Prepared) -> None:
        self.job, self.prepared = job, prepared
        self.play_one: Callable[[], None] | None = None
        self.captured = (0, False, 0)
        """Stage, whether mixtures learn, and experts deleted, when the round was captured."""

    @property
    def search(self) -> Search:
        """The search of the present stage."""
        return self.prepared.search

    def restore(self, state: dict[str, Any]) -> None:
        """Resume from a checkpoint, in its stage."""
        self.prepared = self.prepared.resumed(state)
        restore_search(self.search, state)

    def epochs(self, benchmark: Benchmark | None, deadline: float) -> Iterator[Record]:
        """Play epochs until the end, or until time is up; gives the record of each."""
        while self.search.epoch < self.job.epochs and time.perf_counter() < deadline:
            self.prepared = self.prepared.following() or self.prepared
            wall, cpu = time.perf_counter(), time.process_time()
            self._play_rounds()
            times = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
            looks = _looks_at_gap(self.search.epoch + 1, self.job.epochs)
            gap = discretization_gap(self.search) if looks else None
            epoch = end_epoch(self.search, seconds=times["seconds"], gap=gap)
            yield shortened(_record(self.search, self.job, epoch, benchmark) | times)

    def _play_rounds(self) -> None:
        """The rounds of one epoch."""
        search = self.search
        search.begin_epoch()
        now = (search.settings.stage, search.learning, len(search.deleted))
        if self.play_one is None or now != self.captured:
            # Lets go of one captured round before another is captured.
            self.play_one, self.captured = None, now
            self.play_one = round_of(search)
        for _ in range(search.settings.rounds_per_epoch):
            self.play_one()
        synchronize(search.device)


def _looks_at_gap(epoch: int, epochs: int) -> bool:
    return epoch % GAP_EVERY == 0 or epoch >= epochs - 1


def _record(search: Search, job: SmallSearch, epoch: SearchEpoch, benchmark: Benchmark | None) -> Record:
    """What an epoch leaves; its gap is that before experts are deleted."""
    cell = search.standing().cell(space_of(search))
    means = {kind: m.detach().double().mean(0).tolist() for kind, m in search.mixtures.items()}
    names = ("epoch", "train_loss", "valid_loss", "valid_accuracy", "entropy", "experts_alive")
    return {
        **{name: getattr(epoch, name) for name in (*names, "weights_alive")},
        "gap": None if epoch.gap is None else asdict(epoch.gap),
        "mean_mixture": means,
        **_worth(cell, benchmark),
        "cell": json.loads(cell.to_json()) if epoch.epoch == job.epochs else None,
    }


def _worth(cell: Genotype, benchmark: Benchmark | None) -> Record:
    """What a table knows of the cell, or what a judge estimates of it."""
    truth = None if benchmark is None else benchmark.truth(cell)
    if isinstance(truth, Judgement):
        return {"judged_accuracy": truth.accuracy}
    known = {"arch": None, "true_accuracy": None}
    return known if truth is None else {"arch": truth.arch, "true_accuracy": truth.test_200}


def result(job: SmallSearch, folder: Path, device: str) -> Record:
    """The line of a search that has been played to its end."""
    epochs = played(folder, header=False)
    return {
        "job": job.name,
        "command": job.command,
        "variant": job.variant,
        "size": job.size,
        "seed": job.seed,
        "space": job.options["space"],
        "data": job.data,
        "rule": job.rule,
        "held": job.held,
        "epochs": epochs,
        **ran_on(device),
    }


def _drop_later(path: Path, epoch: int) -> None:
    """Forget lines of epochs that will be played again."""
    lines = [line for line in played(path.parent, header=False) if line["epoch"] <= epoch]
    scratch = path.with_suffix(".new")
    scratch.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf8")
    scratch.replace(path)
