"""`make soak`: kill searches and trainings hundreds of times, resume them, compare, write the table.

PYTHONPATH=tests python -m soak [--jobs 2] [--scenario NAME ...] [--document docs/reliability.md]
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from datasets_made import make_image
from training import pictures

from soak.campaign import campaign
from soak.events import PHASES
from soak.trials import EVERYTHING, a_sampling, a_search, a_training

A_TRAINING_EACH = {
    "evaluator": "train",
    "sampler": "random",
    "settings": None,
    "space": "darts",
    "evaluations": 2,
    "epochs": 1,
    "cells": 3,
    "channels": 2,
    "batch_size": 8,
    "checkpoint_minutes": 0.0,
    "device": "cpu",
}
BEGIN, END = "<!-- soak: begin -->", "<!-- soak: end -->"


def scenarios(work: Path):
    """What is run, with the kills a phase, and one of how many faults is tried (0: none)."""
    images = str(work / "images")
    bench = {"space": "nasbench201", "cells": 1}
    streamed = {"stream": True, "epochs": 2}
    return [
        (a_search("search, nasbench201, xnas", **bench), 9, 1),
        (a_training("training, all options", **EVERYTHING), 7, 1),
        (a_search("search, nasbench201, darts", **bench, method="darts", relaxation=None), 4, 0),
        (a_search("search, nasbench201, checkpoints by epoch", **bench, checkpoint_minutes=10.0), 4, 0),
        (a_training("training, checkpoints by step", checkpoint_minutes=0.0), 4, 0),
        (a_search("search, darts space, xnas", batch_size=12), 3, 0),
        (a_search("search, darts space, darts", batch_size=12, method="darts", relaxation=None), 2, 0),
        (a_training("training, streamed", data=images, validation=0.2, **streamed), 2, 0),
        (a_sampling("sampling, a digest"), 40, 3),
        (a_sampling("sampling, trainings", data=pictures(), **A_TRAINING_EACH), 7, 0),
        (a_search("search, streamed", data=images, **bench, **streamed), 2, 0),
    ]


def main():
    """Run all scenarios, some at a time, and report."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--scenario", action="append", help="words of its name; all by default")
    parser.add_argument("--document", type=Path, help="write the table into this page")
    options = parser.parse_args()
    memory = Path("/dev/shm")  # noqa: S108 - a file system in memory: nothing here outlives the machine
    work = Path(tempfile.mkdtemp(prefix="soak-", dir=memory if memory.is_dir() else None))
    os.environ["XNAS_CACHE"] = str(work / "cache")
    started = time.monotonic()
    try:
        for number in range(48):
            place = work / "images" / f"class {number % 2}" / f"{number}.png"
            make_image(place, (9 * number % 256, 5 * number, 0), size=(8, 8))
        wanted = [
            row
            for row in scenarios(work)
            if not options.scenario or any(words in row[0].name for words in options.scenario)
        ]
        wanted[0][0].go(work / "warm", None)  # here, so that no child has to
        results = _in_parallel(wanted, work, options.jobs)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    minutes = (time.monotonic() - started) / 60
    text = table(results, minutes)
    sys.stdout.write(text + "\n")
    if options.document and not options.scenario:
        page = options.document.read_text(encoding="utf8")
        head, tail = page.split(BEGIN)[0], page.split(END)[1]
        options.document.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf8")
    failures = [failure for result in results for failure in result["failures"]]
    for failure in failures:
        sys.stdout.write(f"FAILED {failure}\n")
    return 1 if failures else 0


def _in_parallel(wanted, work, jobs):
    """Each scenario in a process of its own, which forks the trials; `jobs` at a time."""
    waiting, running = list(enumerate(wanted)), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            number, (scenario, kills, step) = waiting.pop(0)
            child = os.fork()
            if child == 0:
                _one(scenario, work / str(number), kills, step)
            running[child] = scenario.name
        done = os.wait()[0]
        sys.stdout.write(f"done: {running.pop(done, 'a worker')}\n")
        sys.stdout.flush()
    found = []
    for number, (scenario, *_) in enumerate(wanted):
        path = work / f"{number}.json"
        lost = {"name": scenario.name, "kills": {}, "faults": {}, "survived": 0, "failures": ["it died"]}
        found.append(json.loads(path.read_text(encoding="utf8")) if path.exists() else lost)
    return found


def _one(scenario, work, kills, step):
    try:
        tally = campaign(scenario, work, kills=kills, fault_step=step)
        shutil.rmtree(work, ignore_errors=True)
        told = {"name": scenario.name, **vars(tally)}
        work.with_name(f"{work.name}.json").write_text(json.dumps(told), encoding="utf8")
    finally:
        os._exit(0)


def table(results, minutes):
    """Kills and faults by phase, and how many runs ended otherwise than the untouched one."""
    kills, faults = Counter(), Counter()
    for result in results:
        kills.update(result["kills"])
        faults.update(result["faults"])
    wrong = sum(len(result["failures"]) for result in results)
    survived = sum(result["survived"] for result in results)
    told = (
        f"{kills.total()} kills and {faults.total()} faults in {minutes:.0f} minutes; {wrong} runs ended"
    )
    stopped = faults.total() - survived
    lines = [
        f"{told} otherwise than the untouched one.",
        "",
        "| moment | kills | faults |",
        "| --- | ---: | ---: |",
        *(f"| {phase} | {kills[phase]} | {faults[phase]} |" for phase in PHASES),
        f"| all | {kills.total()} | {faults.total()} |",
        "",
        f"A fault stopped its run with one line in {stopped} cases; {survived} runs got over it.",
        "",
        "| run | kills | faults | ended otherwise |",
        "| --- | ---: | ---: | ---: |",
    ]
    for result in results:
        counts = [sum(result[kind].values()) for kind in ("kills", "faults")]
        lines.append(f"| {result['name']} | {counts[0]} | {counts[1]} | {len(result['failures'])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
