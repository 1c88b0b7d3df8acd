"""Cells trained as NAS-Bench-301 trained its own: drawn from the benchmark, published, and found.

    python experiments/nasbench301.py --draw CELLS.csv
    python experiments/nasbench301.py --data-dir DIR --seconds 540 --cut --at-once 5 --out FOLDER

Each job is what `xnas train CELL cifar10 --recipe nasbench301 --seed 0` runs, once per cell. Its number
is the validation accuracy of the last weights, on the 10,000 images that the recipe holds out.

`--draw` draws eight cells of a file with accuracies (columns normal, reduction, valid_100) by `SEED`
and writes them to experiments/cells/, with a table of the accuracies in the file; this comes before the
runs. Found cells are experiments/cells/found_1.json to found_4.json, and further ones of such a name.
Jobs without their file wait, and are named.

The rules of comparison, written before any of these trainings was run:

(a) The trainer is sound if, over the eight drawn cells, the mean absolute difference between our
    accuracy and the file's is at most 0.4 points, and Kendall's correlation of both is at least 0.4.
(b) Found cells are better than random ones if the two-sided 95 % interval of the difference of means,
    found minus drawn cells, lies above 0. One cell is one observation, and the interval is Welch's,
    which lets both groups have variances of their own. It takes all drawn cells and at least four found
    ones; with fewer there is no answer.

`--out` collects the results and the unfinished runs in a folder, and `--resume-from` takes such a folder
up on another machine. See README.md here.
"""

from __future__ import annotations

import csv
import re
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

from jobs import (
    ROOT,
    Budget,
    Record,
    ResultsFile,
    chosen,
    overview,
    play,
    play_at_once,
    script,
    shared_arguments,
    start_process,
    told_left,
    usual_results,
)
from packed_runs import collect, take_up
from trainings import Runner, Training, tiny
from xnas.benchmarks.surrogate import read_cells
from xnas.process.gpu_sharing import share_gpu

SEED = 301  # of the draw
DRAWS = 8
FEWEST_FOUND = 4
MOST_DIFFERENCE = 0.4  # points, on average
LEAST_CORRELATION = 0.4  # Kendall's
PLANNED = 400.0  # seconds of a training alone on one H200; estimated from the time of a step
RESULTS = "nasbench301.jsonl"
CELLS_FOLDER = Path("experiments/cells")
TABLE = "nasbench301.csv"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell to train, and where it comes from."""

    name: str
    origin: str
    given: str
    """As `xnas train` takes it."""

    @property
    def path(self) -> Path | None:
        """Its file; published cells have none."""
        return ROOT / self.given if self.given.endswith(".json") else None


def _of_file(name: str, origin: str) -> Cell:
    return Cell(name=name, origin=origin, given=f"{CELLS_FOLDER}/{name}.json")


DRAWN = tuple(_of_file(f"nasbench301_{n}", "drawn") for n in range(1, DRAWS + 1))
PUBLISHED = tuple(
    Cell(name=name, origin="published", given=name) for name in ("xnas", "darts_v2", "pc_darts_cifar")
)


def found_cells() -> tuple[Cell, ...]:
    """The four found cells that are waited for, and all further ones that have a file."""
    named = {f"found_{n}" for n in range(1, FEWEST_FOUND + 1)}
    files = (ROOT / CELLS_FOLDER).glob("found_*.json")
    named |= {path.stem for path in files if re.fullmatch(r"found_\d+", path.stem)}
    numbered = sorted(named, key=lambda name: int(name.removeprefix("found_")))
    return tuple(_of_file(name, "found") for name in numbered)


@dataclass(frozen=True, kw_only=True)
class CellTraining(Training):
    """One training of the comparison."""

    of: Cell


def all_jobs() -> list[CellTraining]:
    """One training for each cell."""
    return [
        CellTraining(
            name=f"nasbench301-{cell.name}",
            setting="NAS-Bench-301",
            cell=cell.given,
            data="cifar10",
            options={"recipe": "nasbench301", "seed": 0},
            planned=PLANNED,
            of=cell,
        )
        for cell in (*DRAWN, *PUBLISHED, *found_cells())
    ]


def draw(path: Path) -> list[str]:
    """Draw cells of a file, and write them and the table of their accuracies; gives that table."""
    cells, accuracies = read_cells(path)
    places = Random(SEED).sample(range(len(cells)), DRAWS)  # noqa: S311 - a comparison, not a secret
    lines = ["cell,place,valid_100"]
    folder = ROOT / CELLS_FOLDER
    for cell, place in zip(DRAWN, places, strict=True):
        cells[place].save(folder / f"{cell.name}.json")
        lines.append(f"{cell.name},{place + 1},{accuracies[place]:g}")
    (folder / TABLE).write_text("\n".join([*lines, ""]), encoding="utf8")
    return lines


def known_accuracies() -> dict[str, float]:
    """Accuracies of the drawn cells in the benchmark's file, in percent, by name."""
    path = ROOT / CELLS_FOLDER / TABLE
    if not path.exists():
        return {}
    with path.open(encoding="utf8", newline="") as file:
        return {row["cell"]: float(row["valid_100"]) for row in csv.DictReader(file)}


def _arguments(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None, conflict_handler="resolve"
    )
    shared_arguments(parser, RESULTS)
    add = parser.add_argument
    add("--out", type=Path, help="folder in which results and unfinished runs are collected")
    add("--resume-from", type=Path, help="a folder that was collected elsewhere")
    add("--results", type=Path, help=f"results file; by default results/{RESULTS}")
    add("--draw", type=Path, metavar="CELLS.csv", help="draw the benchmark's cells, and run nothing")
    add("--at-once", type=int, default=1, help="trainings at once, a process each")
    add("--in-process", action="store_true", help="one after another in this process")
    arguments = parser.parse_args(words)
    if arguments.at_once < 1:
        parser.error(f"--at-once must be at least 1, got {arguments.at_once}")
    if arguments.resume_from is not None and not arguments.resume_from.is_dir():
        parser.error(
            f"--resume-from {arguments.resume_from} is no folder; give one that --out collected"
        )
    return arguments


def _jobs(arguments: Namespace) -> tuple[list[CellTraining], list[CellTraining]]:
    """Jobs that can run, and those whose cell has no file yet."""
    jobs = all_jobs()
    wanted = chosen([_rehearsed(job) for job in jobs] if arguments.tiny else jobs, arguments.only)
    waiting = [job for job in wanted if job.of.path is not None and not job.of.path.exists()]
    return [job for job in wanted if job not in waiting], waiting


def _rehearsed(job: CellTraining) -> CellTraining:
    short = tiny(job)
    return replace(short, options={**short.options, "batch_size": 128})


def main(given: Sequence[str] | None = None) -> int:
    """Run what is left, or list it; 0 when nothing is left, 3 otherwise."""
    words = list(sys.argv[1:] if given is None else given)
    arguments = _arguments(words)
    if arguments.draw is not None:
        print("\n".join(draw(arguments.draw)))
        return 0
    results = ResultsFile(arguments.results or usual_results(RESULTS, tiny=arguments.tiny))
    jobs, waiting = _jobs(arguments)
    if arguments.in_process:
        return 3 if _play_here(jobs, results, arguments) else 0
    for job in waiting:
        print(f"waits for {job.cell}: {job.name}")
    if arguments.resume_from is not None:
        take_up(jobs, results, arguments.runs, arguments.resume_from)
    if arguments.list:
        print(overview(jobs, results))
        return 0
    if arguments.at_once == 1:
        left = _play_here(jobs, results, arguments)
    else:
        left = _play_in_processes(jobs, results, arguments, words)
    if arguments.out is not None:
        collect(jobs, results, arguments.runs, arguments.out)
    print(told_left([*left, *waiting], [*jobs, *waiting]))
    return 3 if left or waiting else 0


def _play_here(
    jobs: Sequence[CellTraining], results: ResultsFile, arguments: Namespace
) -> list[CellTraining]:
    budget = Budget(arguments.seconds, cut=arguments.cut)
    runner = Runner(arguments, budget)

    def run(job: CellTraining) -> Record | None:
        record = runner(job)
        about = {"cell": job.of.name, "origin": job.of.origin, "at_once": arguments.at_once}
        return None if record is None else record | about

    return play(jobs, results, budget, run, runner.clear)


def _play_in_processes(
    jobs: Sequence[CellTraining], results: ResultsFile, arguments: Namespace, words: Sequence[str]
) -> list[CellTraining]:
    if arguments.device != "cpu":
        share_gpu()
    budget = Budget(arguments.seconds, cut=arguments.cut)
    start = partial(
        start_process, script=__file__, words=words, budget=budget, at_once=arguments.at_once
    )
    return play_at_once(jobs, results, budget, start, at_once=arguments.at_once)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that its trainings are stopped, too
    script(main)
