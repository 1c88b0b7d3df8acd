"""Are the cells that were found better than chance? Short trainings of them and of random ones.

Each job is what `xnas train CELL cifar10 --recipe quick --epochs 24 --seed S` runs. Found cells are
those of the set darts of `searches.py`, taken from its results; their trainings wait until the search is
done. See README.md here.
"""

from __future__ import annotations

import json
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from jobs import (
    REHEARSAL,
    ROOT,
    Budget,
    Record,
    ResultsFile,
    chosen,
    overview,
    play,
    play_at_once,
    results_file,
    script,
    shared_arguments,
    start_process,
    told_left,
    usual_results,
)
from searches import SETS, SearchJob
from searches import tiny as tiny_search
from trainings import EPOCHS_100_S, Runner, Training, tiny
from xnas.space import Genotype

SEEDS = (0, 1, 2)
PLANNED = 60.0
CELLS_FOLDER = "experiments/cells"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell to train, and where it comes from."""

    name: str
    origin: str
    given: str
    """As `xnas train` takes it."""
    search: SearchJob | None = None
    """The search that finds it."""


def _found(search: SearchJob) -> Cell:
    """Its file is written from the result of the search."""
    given = f"{CELLS_FOLDER}/{search.name}.json"
    return Cell(name=search.name, origin=search.variant, given=given, search=search)


RANDOM = tuple(
    Cell(name=f"random_{n}", origin="random", given=f"{CELLS_FOLDER}/random_{n}.json")
    for n in (1, 2, 3, 4)
)
"""`Genotype.random("darts", 1)` to `4`."""
PUBLISHED = tuple(Cell(name=name, origin="published", given=name) for name in ("xnas", "darts_v2"))
FOUND = tuple(_found(search) for search in SETS["darts"])
CELLS = (*RANDOM, *PUBLISHED, *FOUND)


@dataclass(frozen=True, kw_only=True)
class CellTraining(Training):
    """One training of the comparison."""

    of: Cell


def _job(cell: Cell, seed: int) -> CellTraining:
    return CellTraining(
        name=f"cells-{cell.name}-seed-{seed}",
        setting="100 s",
        cell=cell.given,
        data="cifar10",
        options={"recipe": "quick", "epochs": EPOCHS_100_S, "seed": seed},
        planned=PLANNED,
        of=cell,
    )


JOBS = tuple(_job(cell, seed) for seed in SEEDS for cell in CELLS)
"""All cells with one seed before the next, so that what is done compares at any time."""


def found_genotypes(lines: Sequence[Record], *, tiny: bool = False) -> dict[str, Genotype]:
    """What the searches gave that have been run as they are declared now, by name of the cell."""
    by_job = {(line["job"], line["command"]): line for line in lines}
    found = {}
    for cell in FOUND:
        search = tiny_search(cell.search) if tiny and cell.search else cell.search
        line = by_job.get((search.name, search.command)) if search else None
        if line is not None:
            found[cell.name] = Genotype.from_json(json.dumps(line["genotype"]))
    return found


def _rehearsed(job: CellTraining, folder: Path) -> CellTraining:
    """The same job in seconds, with the cell of a rehearsed search."""
    short = tiny(job)
    return short if job.of.search is None else replace(short, cell=str(folder / f"{job.of.name}.json"))


def _arguments(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    shared_arguments(parser, "cells.jsonl")
    parser.add_argument("--searches", type=Path, help="results of searches.py, if elsewhere")
    parser.add_argument("--cells", type=Path, help=f"where found cells go; by default {CELLS_FOLDER}")
    parser.add_argument(
        "--at-once", type=int, default=1, help="trainings in parallel, a process per job"
    )
    parser.add_argument("--in-process", action="store_true", help="one after another in this process")
    arguments = parser.parse_args(words)
    if arguments.at_once < 1:
        parser.error(f"--at-once must be at least 1, got {arguments.at_once}")
    return arguments


def _jobs(arguments: Namespace) -> tuple[list[CellTraining], list[CellTraining]]:
    """Jobs that can run and those that wait for a search; files of found cells are written."""
    folder = (
        arguments.cells or (REHEARSAL / "cells" if arguments.tiny else ROOT / CELLS_FOLDER)
    ).resolve()
    path = arguments.searches or usual_results("searches.jsonl", tiny=arguments.tiny)
    found = found_genotypes(ResultsFile(path).lines(), tiny=arguments.tiny)
    for name, genotype in found.items():
        folder.mkdir(parents=True, exist_ok=True)
        genotype.save(folder / f"{name}.json")
    jobs = [_rehearsed(job, folder) for job in JOBS] if arguments.tiny else JOBS
    wanted = chosen(jobs, arguments.only)
    waiting = [job for job in wanted if job.of.search is not None and job.of.name not in found]
    return [job for job in wanted if job not in waiting], waiting


def main(given: Sequence[str] | None = None) -> int:
    """Run what is left, or list it; 0 when nothing is left, 3 otherwise."""
    words = list(sys.argv[1:] if given is None else given)
    arguments = _arguments(words)
    results = results_file(arguments, "cells.jsonl")
    jobs, waiting = _jobs(arguments)
    for job in waiting:
        print(f"waits for the search {job.of.name}: {job.name}")
    if arguments.list:
        print(overview(jobs, results))
        return 0
    budget = Budget(arguments.seconds, cut=arguments.cut)
    if arguments.in_process or arguments.at_once == 1:
        runner = Runner(arguments, budget)

        def run(job: CellTraining) -> Record | None:
            record = runner(job)
            return None if record is None else record | _about(job, arguments)

        left = play(jobs, results, budget, run, runner.clear)
    else:
        start = partial(
            start_process, script=__file__, words=words, budget=budget, at_once=arguments.at_once
        )
        left = play_at_once(jobs, results, budget, start, at_once=arguments.at_once)
    print(told_left([*left, *waiting], [*jobs, *waiting]))
    return 3 if left or waiting else 0


def _about(job: CellTraining, arguments: Namespace) -> Record:
    return {"cell": job.of.name, "origin": job.of.origin, "at_once": arguments.at_once}


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that its trainings are also stopped
    script(main)
