"""Searches on CIFAR-10, several at once: the paths of their cells, rewards, times and memory.

Each job is what `xnas search cifar10 --space SPACE --epochs 50 --seed S ...` runs; those of the set
first-epochs are stopped after five of their fifty epochs. See README.md here.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from jobs import (
    Budget,
    Job,
    Record,
    ResultsFile,
    Spent,
    chosen,
    forget,
    lent,
    overview,
    play,
    play_at_once,
    results_file,
    script,
    shared_arguments,
    start_process,
    told_left,
)
from watch import Watch, ran_on
from xnas.methods import METHODS
from xnas.methods.costs import relative_cost
from xnas.process.interrupt import Interrupted
from xnas.runs.command_line import flags
from xnas.runs.search import resume_search, search
from xnas.runs.search_config import SearchConfig

EPOCHS = 50
FIRST_EPOCHS = 5
PRESENT_EPOCHS = 20  # of the DARTS space by default
SHORT_EPOCHS = 25  # of NAS-Bench-201, which takes 50 by default
# Planned seconds of an epoch on the GPU of docs/results.md: six at once that share it, and one alone.
EPOCH_SECONDS = {"nasbench201": 13.0, "darts": 8.0}

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "faithful": {"faithful": True},
    "darts": {"method": "darts"},
    "no-wipeout": {"wipeout": False},
    "relaxation-0.1": {"relaxation": 0.1},
    "relaxation-0.03": {"relaxation": 0.03},
    "no-skip-dropout": {"skip_dropout": "0"},
    "best-temperature": {"best_temperature": True},
}

NEWCOMERS = ("random", "gaea", "drnas", "beta", "pc-darts", "darts2")
"""Methods that a reader would compare first; they have the first turn."""
OTHERS = tuple(name for name in METHODS if name not in {*NEWCOMERS, "xnas", "darts", "pdarts"})
"""pdarts has no form on NAS-Bench-201; xnas and darts are in other sets."""
PARTIAL_SHARE = 2.5
"""Times as long as a round of `xnas`: partial channels on NAS-Bench-201, an estimate."""

EARLIER = {"expert_dropout": 0.0, "best_temperature": False, "warmup": 0.0, "edges": "share"}
"""Guards of the DARTS space's default when its searches were run."""

TINY = {"epochs": 4, "cells": 3, "channels": 2, "batch_size": 256}
TINY_FIRST_EPOCHS = 2
STAGES_EVERY = 10  # epochs after the first ones between two whose rewards are kept by stage
DIGITS = 4  # that numbers of results keep: rewards of 50 epochs are many
NOT_SETTINGS = ("out", "data_dir", "truth", "device", "quiet", "stream")


@dataclass(frozen=True, kw_only=True)
class SearchJob(Job):
    """One search, or the first epochs of one."""

    variant: str
    stop_after: int | None = None
    """Epochs to play; None for all."""

    @property
    def command(self) -> str:
        """What a user would type; FILE is the benchmark's CSV. Ctrl-C where the search is to stop."""
        return f"xnas search {self.data} {flags(self.options)}"

    @property
    def epochs(self) -> int:
        """Epochs to play."""
        return self.stop_after or int(self.options.get("epochs", PRESENT_EPOCHS))

    def config(self) -> SearchConfig:
        """The settings that the command gives."""
        return SearchConfig(**self.options)


def _job(
    space: str, variant: str, seed: int, stop_after: int | None = None, epochs: int = EPOCHS
) -> SearchJob:
    options: dict[str, Any] = {"space": space, "epochs": epochs, "seed": seed, **VARIANTS[variant]}
    if space == "nasbench201":
        options["truth"] = Path("FILE")
    elif not options.get("faithful"):
        options |= EARLIER
    apart = [f"first-{stop_after}"] if stop_after else []
    apart += [f"{epochs}-epochs"] if epochs != EPOCHS else []
    return SearchJob(
        name="-".join([space, *apart, variant, str(seed)]),
        variant=variant,
        data="cifar10",
        options=options,
        stop_after=stop_after,
        planned=EPOCH_SECONDS[space] * (stop_after or epochs),
    )


def _jobs(space: str, seeds: dict[str, int], stop_after: int | None = None) -> tuple[SearchJob, ...]:
    """Of each variant as many seeds as are said, from 0."""
    return tuple(_job(space, v, seed, stop_after) for v, count in seeds.items() for seed in range(count))


def _rival(space: str, method: str, seed: int) -> SearchJob:
    """A search by its own recipe, of at most `EPOCHS` epochs."""
    recipe = METHODS[method].recipe_on(space)
    epochs = min(EPOCHS, recipe.epochs or EPOCHS)
    partial = space == "nasbench201" and recipe.partial_channels
    share = PARTIAL_SHARE if partial else relative_cost(METHODS[method].costs) or 1.0
    return SearchJob(
        name=f"{space}-rival-{method}-{seed}",
        variant=method,
        data="cifar10",
        options={
            "space": space,
            "method": method,
            "epochs": epochs,
            "seed": seed,
            "truth": Path("FILE"),
        },
        planned=EPOCH_SECONDS[space] * epochs * max(1.0, share),
    )


def _rivals(space: str, seeds: dict[str, int]) -> tuple[SearchJob, ...]:
    """The first seed of every method, then the second ones."""
    most = max(seeds.values())
    return tuple(_rival(space, m, s) for s in range(most) for m, count in seeds.items() if s < count)


def _present(seed: int) -> SearchJob:
    """A search of the DARTS space as the command plays it by default."""
    return SearchJob(
        name=f"darts-present-{seed}",
        variant="present",
        data="cifar10",
        options={"space": "darts", "seed": seed, "truth": Path("FILE")},
        planned=EPOCH_SECONDS["darts"] * PRESENT_EPOCHS,
    )


SETS: dict[str, tuple[SearchJob, ...]] = {
    "first-epochs": _jobs("nasbench201", {"default": 1, "faithful": 1, "darts": 1}, FIRST_EPOCHS),
    "full": _jobs("nasbench201", {"default": 4, "faithful": 2, "darts": 2}),
    # The default is relaxation 1: its first two seeds are those of the set full.
    "wipeout": _jobs(
        "nasbench201", {"no-wipeout": 2, "default": 2, "relaxation-0.1": 2, "relaxation-0.03": 2}
    ),
    "darts": _jobs("darts", {"default": 3, "no-skip-dropout": 1, "faithful": 1}),
    "temperature": _jobs("nasbench201", {"best-temperature": 4}),
    "temperature-short": tuple(
        _job("nasbench201", "best-temperature", seed, epochs=SHORT_EPOCHS) for seed in range(4)
    ),
    "present": tuple(_present(seed) for seed in range(4)),
    "rivals": _rivals("nasbench201", dict.fromkeys(NEWCOMERS, 2) | dict.fromkeys(OTHERS, 1)),
    "rivals-darts": _rivals("darts", dict.fromkeys(NEWCOMERS, 1)),
}
"""The truth of `present` and `rivals-darts` is a judge's file of cells, that of all others a table."""


def declared(names: Sequence[str]) -> list[SearchJob]:
    """The jobs of the sets, each once: sets may share some."""
    return list({job.name: job for name in names for job in SETS[name]}.values())


def tiny(job: SearchJob) -> SearchJob:
    """The same job in seconds."""
    options = {**job.options, **TINY, "cells": 1 if job.options["space"] == "nasbench201" else 3}
    if METHODS[job.options.get("method", "xnas")].recipe_on(job.options["space"]).partial_channels:
        options["channels"] = 12
    stop_after = TINY_FIRST_EPOCHS if job.stop_after else None
    return replace(job, data="digits", options=options, stop_after=stop_after, planned=10.0)


class Runner:
    """Runs one search in this process, or resumes it."""

    def __init__(self, arguments: Namespace, budget: Budget) -> None:
        self.arguments, self.budget = arguments, budget

    def __call__(self, job: SearchJob) -> Record | None:
        """Search; None if time was up."""
        folder = self.arguments.runs / job.folder_name
        if not (folder / "config.json").exists():
            forget(folder)
        spent = Spent(folder)
        if not _played(folder, job):
            spent.begin(self.arguments.at_once)
            began = time.perf_counter()
            try:
                self._search(job, folder)
            finally:
                spent.end(time.perf_counter() - began)
        if not _played(folder, job):
            return None
        return _record(job, folder) | {
            "search_seconds": None if spent.total is None else round(spent.total, 2),
            "calls": spent.calls,
            "at_once": max(spent.at_once),
            "at_once_by_call": spent.at_once,
            **ran_on(self.arguments.device),
        }

    def clear(self, job: SearchJob) -> None:
        """Delete its run folder, unless it is to be kept."""
        if not self.arguments.keep:
            forget(self.arguments.runs / job.folder_name)

    def _search(self, job: SearchJob, folder: Path) -> None:
        watch = Watch(job.name, deadline=self.budget.deadline(), stop_after=job.stop_after)
        try:
            if (folder / "config.json").exists():
                resume_search(folder, display=watch, **lent(self.arguments))
                return
            config = replace(
                job.config(),
                out=folder,
                device=self.arguments.device,
                data_dir=self.arguments.data_dir,
                truth=self.arguments.truth if "truth" in job.options else None,
            )
            search(config, job.data, display=watch)
        except Interrupted as stop:
            if not watch.pressed:  # by a user, who wants no other job to begin either
                raise
            watch.say(str(stop))


def _played(folder: Path, job: SearchJob) -> bool:
    """Whether the run folder holds all that the job asks for."""
    if job.stop_after is None:
        return (folder / "genotype.json").exists()
    return len(_metrics(folder)) >= job.stop_after


def _metrics(folder: Path) -> list[Record]:
    path = folder / "metrics.jsonl"
    if not path.exists():
        return []
    text = path.read_text(encoding="utf8")
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def _record(job: SearchJob, folder: Path) -> Record:
    """What the search gave, from its run folder."""
    settings = _read(folder / "config.json")["config"]
    epochs = _metrics(folder)[: job.epochs]
    record: Record = {
        "job": job.name,
        "command": job.command,
        "stopped_after": job.stop_after,
        "variant": job.variant,
        "space": job.options["space"],
        "data": job.data,
        "seed": job.options["seed"],
        "settings": {name: v for name, v in settings.items() if name not in NOT_SETTINGS},
        "epochs": [_epoch(epoch) for epoch in epochs],
    }
    if (folder / "genotype.json").exists():
        edges = _read(folder / "discretization.json")["edges"]
        record["genotype"] = _read(folder / "genotype.json")
        record["decided_by"] = dict(Counter(edge["decided_by"] for edge in edges if edge["kept"]))
    if (folder / "ledger.json").exists():
        record["ledger"] = _accounts(_read(folder / "ledger.json"))
    return record


def _read(path: Path) -> Record:
    value: Record = json.loads(path.read_text(encoding="utf8"))
    return value


def _epoch(metrics: Record) -> Record:
    """An epoch without what makes fifty of them long."""
    number, kept = metrics["epoch"], dict(metrics)
    if number > FIRST_EPOCHS and number % STAGES_EVERY:
        kept["rewards_by_stage"] = {}
    kept["deleted"] = [f"{d['kind']} {d['forecaster']} {d['operation']}" for d in metrics["deleted"]]
    short: Record = _short(kept)
    return short


def _accounts(ledgers: Record) -> Record:
    """Of each kind of cell the rounds of its wipeouts, its largest regret, and the share clipped."""
    return {
        kind: {
            "rounds": ledger["rounds"],
            "learning_rate": ledger["learning_rate"],
            "largest_regret": _short(max(ledger["regret"])),
            "clipped_share": _short(ledger["clipped_share"]),
            "wiped_out_in_round": [wipeout["round_index"] for wipeout in ledger["wipeouts"]],
        }
        for kind, ledger in ledgers.items()
        if isinstance(ledger, dict)
    }


def _short(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The same with `DIGITS` significant digits, true accuracies as they are."""
    if isinstance(value, dict):
        return {name: v if name == "truth" else _short(v) for name, v in value.items()}
    if isinstance(value, list):
        return [_short(v) for v in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _arguments(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    shared_arguments(parser, "searches.jsonl")
    parser.add_argument(
        "--set", choices=SETS, nargs="+", default=["first-epochs"], help="which jobs, one set or more"
    )
    parser.add_argument(
        "--truth", type=Path, help="CSV of NAS-Bench-201, or of cells of the DARTS space"
    )
    parser.add_argument("--at-once", type=int, default=3, help="searches in parallel, a process per job")
    parser.add_argument("--in-process", action="store_true", help="one after another in this process")
    arguments = parser.parse_args(words)
    wants_truth = any("truth" in job.options for job in declared(arguments.set))
    if wants_truth and not (arguments.truth or arguments.list or arguments.tiny):
        parser.error(
            f"the set {' '.join(arguments.set)} needs --truth, a CSV of NAS-Bench-201 or judged cells"
        )
    if arguments.at_once < 1:
        parser.error(f"--at-once must be at least 1, got {arguments.at_once}")
    return arguments


def main(given: Sequence[str] | None = None) -> int:
    """Run what is left of a set, or list it; 0 when nothing is left, 3 otherwise."""
    words = list(sys.argv[1:] if given is None else given)
    arguments = _arguments(words)
    results: ResultsFile = results_file(arguments, "searches.jsonl")
    wanted = declared(arguments.set)
    jobs = chosen([tiny(job) for job in wanted] if arguments.tiny else wanted, arguments.only)
    if arguments.list:
        print(overview(jobs, results))
        return 0
    budget = Budget(arguments.seconds, cut=arguments.cut)
    if arguments.in_process:
        runner = Runner(arguments, budget)
        left = play(jobs, results, budget, runner, runner.clear)
        return 3 if left else 0
    start = partial(
        start_process, script=__file__, words=words, budget=budget, at_once=arguments.at_once
    )
    left = play_at_once(jobs, results, budget, start, at_once=arguments.at_once)
    print(told_left(left, jobs))
    return 3 if left else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that its searches are also stopped
    script(main)
