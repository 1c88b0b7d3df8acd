"""Searches within limits of parameters: what a smaller network costs in accuracy, and what prices do.

    python experiments/limited_searches.py --data-dir DIR --truth NASBENCH201.csv --seconds 540

A search is `xnas search` on 800 images of CIFAR-10, averaged to 16 x 16 pixels, of NAS-Bench-201 with
one cell of 6 channels per stage: half a minute of a CPU core. Limits lie so far between the smallest and
the largest network that a cell of the space gives. The accuracy of a found cell is the benchmark's,
after 200 epochs of training on all of CIFAR-10, which the search does not see.

As a control, the limits also choose among the cells of the searches without a limit, at their end: that
is what happens without prices. A search that does not fit into the time is stopped, and the next call
resumes it.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from jobs import (
    Budget,
    Job,
    Record,
    ResultsFile,
    chosen,
    forget,
    lent,
    overview,
    play,
    results_file,
    script,
    shared_arguments,
    told_left,
)
from recorded_search import few_images, generated_images
from small_search import SIZES
from watch import Watch, ran_on
from xnas.benchmarks import TabularBenchmark
from xnas.data import Images, load_data
from xnas.engine import Checkpoints, restore_search
from xnas.process.interrupt import Interrupted
from xnas.runs.cell_costs import CellCosts, network_sizes
from xnas.runs.command_line import flags
from xnas.runs.expert_costs import expert_costs
from xnas.runs.limited_cells import LimitedCells
from xnas.runs.limits import Limits
from xnas.runs.prepare import prepare
from xnas.runs.search import resume_search, search
from xnas.runs.search_config import SearchConfig
from xnas.runs.train_config import TrainConfig
from xnas.space import SPACES, Genotype

RESULTS = "limited_searches.jsonl"
SCRIPT = "python experiments/limited_searches.py"
SPACE = SPACES["nasbench201"]
SMALLEST, LARGEST = 73_306, 1_531_546
"""Parameters of the networks of six skip connections and of six 3x3 convolutions, for ten classes."""
SHARES = (None, 0.6, 0.3, 0.2, 0.1, 0.03)
"""Where a limit lies between the two; None: no limit."""
SEEDS = (0, 1)


@dataclass(frozen=True, kw_only=True)
class LimitedSearch(Job):
    """One search within a limit."""

    share: float | None
    seed: int
    size: str = "small"

    @property
    def command(self) -> str:
        """The script's own command, and the options of the search that it plays."""
        return f"{SCRIPT} --only {self.name} ({flags(self.options)})"

    def config(self, **where: Any) -> SearchConfig:  # noqa: ANN401 - options
        """Its settings, and where it runs."""
        return SearchConfig(**self.options, **where)

    def images(self, data_dir: Path | None) -> Images:
        """Its images."""
        size = SIZES[self.size]
        if size.generated is not None:
            return generated_images(*size.generated)
        assert size.few is not None  # noqa: S101 - this one has few
        return few_images(load_data("cifar10", data_dir=data_dir), *size.few)


def limit_of(share: float) -> int:
    """Parameters so far between the smallest and the largest network."""
    return round(SMALLEST + share * (LARGEST - SMALLEST))


def _job(share: float | None, seed: int, size: str) -> LimitedSearch:
    limit = {} if share is None else {"max_params": limit_of(share)}
    return LimitedSearch(
        name=f"{'limited' if size == 'small' else size}-{'none' if share is None else share}-{seed}",
        options={**SIZES[size].settings, "seed": seed, **limit},
        data="cifar10",
        planned=SIZES[size].planned,
        share=share,
        seed=seed,
        size=size,
    )


JOBS = tuple(_job(share, seed, "small") for seed in SEEDS for share in SHARES)
TINY = tuple(_job(share, 0, "tiny") for share in (None, 0.4))


class Runner:
    """Plays searches, or resumes them."""

    def __init__(self, arguments: Namespace, budget: Budget) -> None:
        self.arguments, self.budget = arguments, budget

    def __call__(self, job: LimitedSearch) -> Record | None:
        """Search; None if time was up."""
        folder, images = self.arguments.runs / job.folder_name, job.images(self.arguments.data_dir)
        if not (folder / "genotype.json").exists():
            self._play(job, folder, images)
        if not (folder / "genotype.json").exists():
            return None
        return record(job, folder, images, self.arguments)

    def clear(self, job: LimitedSearch) -> None:
        """Delete its run folder, unless it is to be kept."""
        if not self.arguments.keep:
            forget(self.arguments.runs / job.folder_name)

    def _play(self, job: LimitedSearch, folder: Path, images: Images) -> None:
        watch = Watch(job.name, deadline=self.budget.deadline())
        try:
            if (folder / "config.json").exists():
                given = lent(self.arguments)
                given.pop("data_dir", None)  # its images are handed over
                resume_search(folder, data=images, display=watch, **given)
            else:
                forget(folder)
                config = job.config(out=folder, device=self.arguments.device, report=False)
                search(config, images, display=watch)
        except Interrupted as stop:
            if not watch.pressed:  # by a user, who wants no other job to begin either
                raise
            watch.say(str(stop))


def record(job: LimitedSearch, folder: Path, images: Images, arguments: Namespace) -> Record:
    """The line of a search that has been played to its end."""
    cells, table = Cells(images), load_table(arguments.truth)
    why = json.loads((folder / "discretization.json").read_text(encoding="utf8"))
    limits, edges = why.get("limits", {}), why["edges"]
    lines = (folder / "metrics.jsonl").read_text(encoding="utf8").splitlines()
    costs = [json.loads(line)["cost"]["seconds"] for line in lines]
    limit = None if job.share is None else limit_of(job.share)
    return {
        "job": job.name,
        "command": job.command,
        "space": job.options["space"],
        "data": job.data,
        "seed": job.seed,
        "share": job.share,
        "max_params": limit,
        "found": cells.line(Genotype.load(folder / "genotype.json"), table),
        "changed_by_limit": sum(bool(edge.get("limited")) for edge in edges),
        "changed_by_price": sum(edge.get("unpriced") not in (None, edge["operation"]) for edge in edges),
        "strongest": limits["strongest"]["params"] if limits else None,
        "prices": [_short(epoch["prices"]["params"]) for epoch in limits.get("epochs", ())],
        "within": cells.within(limit, table),
        "by_choice_alone": [] if limits else cells.by_choice_alone(job, folder, table),
        "seconds": round(sum(costs), 1),
        **ran_on(arguments.device),
    }


def _short(price: float) -> float:
    return float(f"{price:.4g}")


@cache
def load_table(path: Path | None) -> TabularBenchmark | None:
    """The benchmark; None in rehearsals without it."""
    return None if path is None else TabularBenchmark.load(path)


class Cells:
    """Cells of the space, with the size that their networks have."""

    def __init__(self, images: Images) -> None:
        sample = Genotype.random(SPACE, seed=0)
        self.images = images
        self.sizes = network_sizes(TrainConfig(cell=sample, device="cpu"), sample, images)

    def line(self, cell: Genotype, table: TabularBenchmark | None) -> Record:
        """What is known of a cell."""
        known = None if table is None else round(table.accuracy(cell), 2)
        return {
            "arch": cell.arch,
            "parameters": self.sizes.size(cell).parameters,
            "true_accuracy": known,
            "rank": None if table is None else table.rank(cell),
        }

    def within(self, limit: int | None, table: TabularBenchmark | None) -> Record | None:
        """How many cells a search could find within a limit; mean and best of their accuracies."""
        if table is None:
            return None
        able = [
            cell for cell in every_cell() if limit is None or self.sizes.size(cell).parameters <= limit
        ]
        accuracies = [table.accuracy(cell) for cell in able]
        return {
            "cells": len(able),
            "mean": round(mean(accuracies), 2),
            "best": round(max(accuracies), 2),
        }

    def by_choice_alone(
        self, job: LimitedSearch, folder: Path, table: TabularBenchmark | None
    ) -> list[Record]:
        """What limits choose at the end of a search that knew none."""
        prepared = prepare(job.config(device="cpu"), self.images)
        space, costs = SPACE, CellCosts(self.sizes.size)
        Checkpoints(folder / "checkpoints").newest(
            torch.device("cpu"), print, lambda state: restore_search(prepared.search, state)
        )
        experts = expert_costs(space, costs, self.sizes, ["params"])
        found = []
        for share in (share for share in SHARES if share is not None):
            limits = Limits({"params": float(limit_of(share))})
            limited = LimitedCells(limits, costs, experts, "").strongest(prepared.search.standing())
            found.append({"share": share, **self.line(limited.genotype, table)})
        return found


def every_cell() -> Iterator[Genotype]:
    """All cells that a search could find: those without `none`."""
    for names in product(SPACE.operations, repeat=len(SPACE.edges)):
        nodes: dict[int, list[str]] = {}
        for (source, node), name in zip(SPACE.edges, names, strict=True):
            nodes.setdefault(node, []).append(f"{name}~{source}")
        yield Genotype.from_arch("+".join(f"|{'|'.join(edges)}|" for edges in nodes.values()))


def _arguments(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    shared_arguments(parser, RESULTS)
    parser.add_argument("--truth", type=Path, help="CSV of NAS-Bench-201")
    arguments = parser.parse_args(words)
    if arguments.truth is None and not (arguments.list or arguments.tiny):
        parser.error("accuracies need --truth, the CSV of NAS-Bench-201")
    return arguments


def main(given: Sequence[str] | None = None) -> int:
    """Run what is left, or list it; 0 when nothing is left, 3 otherwise."""
    arguments = _arguments(list(sys.argv[1:] if given is None else given))
    results: ResultsFile = results_file(arguments, RESULTS)
    jobs = chosen(TINY if arguments.tiny else JOBS, arguments.only)
    if arguments.list:
        print(overview(jobs, results))
        return 0
    runner = Runner(arguments, Budget(arguments.seconds, cut=True))
    left = play(jobs, results, runner.budget, runner, runner.clear)
    print(told_left(left, jobs))
    return 3 if left else 0


if __name__ == "__main__":
    script(main)
