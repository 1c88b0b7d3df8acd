"""XNAS's published cell trained at full length, and on Fashion-MNIST, in as many parts as it takes.

    python experiments/long_trainings.py --set full --data-dir DIR --seconds 540 --out FOLDER
    python experiments/long_trainings.py --set transfer --data-dir DIR --seconds 540 --out FOLDER
    python experiments/long_trainings.py --set full --resume-from FOLDER --out FOLDER ...

The set `full` is what `xnas train xnas cifar10 --recipe darts-600 --seed 0` runs, to its 600th epoch.
The authors' repository reports a test error of 2.48 % for this cell and recipe. The set `found` has the
cells `experiments/cells/found_N.json`, by the same recipe; those without a file wait, and are named.

The set `transfer` is the paper's recipe on Fashion-MNIST, shortened to 100 epochs in five cycles, with
seeds 0, 1 and 2 (`xnas train xnas fashion_mnist --recipe xnas-1500 --epochs 100`). It keeps the paper's
network: 20 cells of 36 channels. Table 3 prints an error of 3.64 % after 1,500 epochs.

A training is stopped 20 seconds before the time is over and resumed by the next call, with the same
numbers as if it had not been stopped. `--out` collects the results and one archive per unfinished
training in a folder, and `--resume-from` takes such a folder up on another machine. `--tiny` rehearses
on digits.
"""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from jobs import (
    ROOT,
    Budget,
    ResultsFile,
    chosen,
    overview,
    play,
    script,
    shared_arguments,
    told_left,
    usual_results,
)
from nasbench301 import CELLS_FOLDER, found_cells
from packed_runs import collect, take_up
from trainings import Runner, Training, tiny

RESULTS = "long_trainings.jsonl"
# Seconds on one H200, estimated from the time of a step: 416 and 625 rounds an epoch.
FULL_SECONDS = 7200.0
TRANSFER_SECONDS = 1500.0
TRANSFER_EPOCHS = 100
SEEDS = (0, 1, 2)


def _full(name: str, cell: str) -> Training:
    return Training(
        name=f"darts-600-{name}",
        setting="full length",
        cell=cell,
        data="cifar10",
        options={"recipe": "darts-600", "seed": 0},
        planned=FULL_SECONDS,
    )


def _transfer(seed: int) -> Training:
    return Training(
        name=f"fashion-mnist-{seed}",
        setting="transfer",
        cell="xnas",
        data="fashion_mnist",
        options={"recipe": "xnas-1500", "epochs": TRANSFER_EPOCHS, "seed": seed},
        planned=TRANSFER_SECONDS,
    )


def sets() -> dict[str, list[Training]]:
    """Trainings by set; found cells are those that have a name now."""
    return {
        "full": [_full("xnas", "xnas")],
        "found": [_full(cell.name, f"{CELLS_FOLDER}/{cell.name}.json") for cell in found_cells()],
        "transfer": [_transfer(seed) for seed in SEEDS],
    }


def all_jobs() -> list[Training]:
    """The trainings of all sets."""
    return [job for jobs in sets().values() for job in jobs]


def _arguments(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None, conflict_handler="resolve"
    )
    shared_arguments(parser, RESULTS)
    add = parser.add_argument
    add("--set", choices=sets(), default="full", help="which trainings")
    add("--out", type=Path, help="folder in which results and unfinished runs are collected")
    add("--resume-from", type=Path, help="a folder that was collected elsewhere")
    add("--results", type=Path, help=f"results file; by default results/{RESULTS}")
    arguments = parser.parse_args(words)
    if arguments.resume_from is not None and not arguments.resume_from.is_dir():
        parser.error(
            f"--resume-from {arguments.resume_from} is no folder; give one that --out collected"
        )
    return arguments


def main(given: Sequence[str] | None = None) -> int:
    """Run what is left of a set, or list it; 0 when nothing is left, 3 otherwise."""
    arguments = _arguments(list(sys.argv[1:] if given is None else given))
    results = ResultsFile(arguments.results or usual_results(RESULTS, tiny=arguments.tiny))
    declared = sets()[arguments.set]
    wanted = chosen([tiny(job) for job in declared] if arguments.tiny else declared, arguments.only)
    waiting = [job for job in wanted if job.cell.endswith(".json") and not (ROOT / job.cell).exists()]
    jobs = [job for job in wanted if job not in waiting]
    for job in waiting:
        print(f"waits for {job.cell}: {job.name}")
    if arguments.resume_from is not None:
        take_up(jobs, results, arguments.runs, arguments.resume_from)
    if arguments.list:
        print(overview(jobs, results))
        return 0
    budget = Budget(arguments.seconds, cut=True)
    runner = Runner(arguments, budget)
    left = play(jobs, results, budget, runner, runner.clear)
    if arguments.out is not None:
        collect(jobs, results, arguments.runs, arguments.out)
    print(told_left([*left, *waiting], [*jobs, *waiting]))
    return 3 if left or waiting else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that its training is also stopped
    script(main)
