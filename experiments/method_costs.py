"""Time and memory of a round of every method, by its own recipe, at the size of the paper's search.

    python experiments/method_costs.py --seconds 540

A job is what `xnas bench methods --space SPACE --methods NAME` measures with the sizes of `SIZES`: one
method, in a process of its own. Nothing else should run on the GPU. `xnas` comes first on each space,
and ratios refer to it. A method that a space cannot run gives a line with the reason.
"""

from __future__ import annotations

import math
import multiprocessing
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial

from jobs import (
    Budget,
    Job,
    Record,
    ResultsFile,
    chosen,
    overview,
    play,
    results_file,
    script,
    shared_arguments,
    told_left,
)
from watch import ran_on
from xnas.bench.methods import FIRST, attempt
from xnas.bench.options import BenchMethodsConfig
from xnas.errors import ConfigError
from xnas.methods import METHODS
from xnas.runs.command_line import flags

RESULTS = "method_costs.jsonl"
SIZES = {
    "darts": {"cells": 8, "channels": 16, "batch_size": 96, "image_size": 32, "rounds": 10},
    "nasbench201": {"cells": 5, "channels": 16, "batch_size": 96, "image_size": 32, "rounds": 10},
}
TINY = {"cells": 3, "channels": 12, "batch_size": 8, "image_size": 8, "rounds": 3}
PLANNED = 15.0


@dataclass(frozen=True, kw_only=True)
class MethodTiming(Job):
    """One method on one space."""

    method: str

    @property
    def command(self) -> str:
        """What a user would type."""
        return f"xnas bench methods {flags(self.options)}"

    def config(self, device: str) -> BenchMethodsConfig:
        """The settings that the command gives."""
        return BenchMethodsConfig(**{**self.options, "methods": (self.method,)}, device=device)


def divisible(channels: int, method: str, space: str) -> int:
    """The fewest channels from these on that a method's parts divide, in all of its stages."""
    known = METHODS[method]
    parts = known.recipe_on(space).partial_channels or 1
    with suppress(ConfigError):  # stages that the space cannot have
        parts = math.lcm(parts, *(stage.partial_channels or 1 for stage in known.stages_on(space)))
    return -(-channels // parts) * parts


JOBS = tuple(
    MethodTiming(
        name=f"{space}-{method}",
        method=method,
        data="noise",
        options={
            "methods": method,
            "space": space,
            **sizes,
            "channels": divisible(sizes["channels"], method, space),
        },
        planned=PLANNED,
    )
    for space, sizes in SIZES.items()
    for method in (FIRST, *(name for name in METHODS if name != FIRST))
)


def run(job: MethodTiming, arguments: Namespace) -> Record:
    """Measure in a fresh process, which a server with all imports done begins quickly."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["xnas.bench.methods"])
    with context.Pool(1) as pool:
        cost = pool.apply(attempt, (job.method, job.config(arguments.device)))
    told = cost.failure or f"{cost.milliseconds:.2f} ms, {cost.memory_bytes / 2**30:.2f} GiB"
    print(f"{job.name}: {told}", flush=True)
    return {
        "job": job.name,
        "command": job.command,
        "data": job.data,
        "seed": 0,  # of every search, unless another is given
        "space": job.options["space"],
        **asdict(cost),
        **ran_on(arguments.device),
    }


def tiny(job: MethodTiming) -> MethodTiming:
    """The same job in seconds."""
    return replace(job, options={**job.options, **TINY}, planned=5.0)


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is left, or list it; 0 when nothing is left, 3 otherwise."""
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    shared_arguments(parser, RESULTS)
    arguments = parser.parse_args(list(sys.argv[1:] if given is None else given))
    results: ResultsFile = results_file(arguments, RESULTS)
    jobs = chosen([tiny(job) for job in JOBS] if arguments.tiny else JOBS, arguments.only)
    if arguments.list:
        print(overview(jobs, results))
        return 0
    budget = Budget(arguments.seconds)
    left = play(jobs, results, budget, partial(run, arguments=arguments), lambda _: None)
    print(told_left(left, jobs))
    return 3 if left else 0


if __name__ == "__main__":
    script(main)
