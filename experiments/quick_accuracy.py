"""Accuracies of short trainings, and what they take: the recipe `quick` at a few time settings.

Each job is what `xnas train CELL DATA --recipe quick --epochs N --seed S` runs. See README.md here.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from jobs import Budget, chosen, overview, play, results_file, script, shared_arguments, told_left
from trainings import EPOCHS_100_S, Runner, Training, tiny

# Epochs of the recipe that fit into the other times on the GPU of docs/results.md.
EPOCHS_4_MIN = 64
EPOCHS_10_MIN = 200
EPOCHS_MEDIUM = 4
EPOCHS_LARGE = 3


def _job(
    setting: str,
    cell: str,
    data: str = "cifar10",
    *,
    seed: int = 0,
    epochs: int,
    planned: float,
    cutout: int | None = None,
) -> Training:
    """`cutout` for trainings that see each image often."""
    options: dict[str, str | int] = {"recipe": "quick", "epochs": epochs, "seed": seed}
    if cutout is not None:
        options["cutout"] = cutout
    other = [data] * (data != "cifar10")
    name = "-".join([setting.replace(" ", ""), Path(cell).stem, *other, str(seed)])
    return Training(name=name, setting=setting, cell=cell, data=data, options=options, planned=planned)


JOBS = (
    _job("100 s", "xnas", seed=0, epochs=EPOCHS_100_S, planned=75),
    _job("100 s", "xnas", seed=1, epochs=EPOCHS_100_S, planned=60),
    _job("100 s", "xnas", seed=2, epochs=EPOCHS_100_S, planned=60),
    _job("100 s", "darts_v2", epochs=EPOCHS_100_S, planned=60),
    _job("100 s", "experiments/cells/random_1.json", epochs=EPOCHS_100_S, planned=60),
    _job("100 s", "experiments/cells/random_2.json", epochs=EPOCHS_100_S, planned=60),
    _job("100 s", "xnas", "fashion_mnist", epochs=EPOCHS_100_S, planned=70),
    _job("4 min", "xnas", epochs=EPOCHS_4_MIN, cutout=8, planned=145),
    _job("10 min", "xnas", epochs=EPOCHS_10_MIN, cutout=16, planned=440),
    _job("100 s", "xnas_medium", epochs=EPOCHS_MEDIUM, planned=65),
    _job("100 s", "xnas_large", epochs=EPOCHS_LARGE, planned=65),
)
"""The random cells are `Genotype.random("darts", 1)` and `2`."""


def main(words: Sequence[str] | None = None) -> int:
    """Run what is left, or list it; 0 when nothing is left, 3 otherwise."""
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    shared_arguments(parser, "quick.jsonl")
    arguments = parser.parse_args(words)
    results = results_file(arguments, "quick.jsonl")
    jobs = chosen([tiny(job) for job in JOBS] if arguments.tiny else JOBS, arguments.only)
    if arguments.list:
        print(overview(jobs, results))
        return 0
    budget = Budget(arguments.seconds, cut=arguments.cut)
    runner = Runner(arguments, budget)
    left = play(jobs, results, budget, runner, runner.clear)
    print(told_left(left, jobs))
    return 3 if left else 0


if __name__ == "__main__":
    script(main)
