"""Searches by sampling on a Ray cluster whose workers, driver and machines are killed.

python ray_kills.py cluster PLACE KIND     plays one search whole in this process, and one on a cluster
python ray_kills.py drive PLACE KIND       begins or resumes the latter, as its user would
python ray_kills.py compare PLACE noisy    plays searches of 1, 2 and 4 cells at a time, without any kill
"""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from sampling_jobs import Noisy, tells
from worker_jobs import wait_for

from xnas import SampleConfig, resume_sampling, sample
from xnas.runs.sampling.evaluators import EVALUATORS, EvaluatorKind

STORE = 80 * 2**20  # bytes; the least that Ray takes
TINY = {"cells": 3, "channels": 2, "batch_size": 64, "epochs": 2, "device": "cpu"}
KINDS = {
    "noisy": {
        "space": "nasbench201",
        "evaluator": "noisy",
        "settings": "population=6,sample=3",
        "evaluations": 40,
        "at_once": 2,
    },
    "train": TINY | {"sampler": "random", "evaluations": 4, "at_once": 2, "checkpoint_minutes": 0.0},
}
DATA = {"noisy": None, "train": "digits"}


def main(what, place, kind):
    """Do one of the three."""
    seconds = 0.4 if what == "drive" else 0.0
    noisy = EvaluatorKind(lambda *_: Noisy(place / "marks", seconds), "a digest", needs_images=False)
    EVALUATORS.add("noisy", noisy)
    if what == "drive":
        drive(place / "run", kind)
    elif what == "compare":
        compare(place)
    else:
        sample(SampleConfig(**KINDS[kind], out=place / "whole"), DATA[kind])
        for mark in (place / "marks").iterdir():
            mark.unlink()
        {"noisy": kill_everything, "train": kill_a_training}[kind](place)


def drive(out, kind):
    if (out / "config.json").exists():
        resume_sampling(out)
    else:
        sample(SampleConfig(**KINDS[kind], pool="ray", out=out), DATA[kind])


def compare(place):
    """The ledgers of this process and of Ray on this machine alone."""
    for at_once in (1, 2, 4):
        config = SampleConfig(**KINDS["noisy"] | {"at_once": at_once, "evaluations": 12})
        outs = {pool: place / f"{pool}-{at_once}" for pool in ("local", "ray")}
        for pool, out in outs.items():
            sample(replace(config, pool=pool, out=out))
        here, there = ((out / "ledger.jsonl").read_bytes() for out in outs.values())
        assert here == there, at_once


def begun_cluster():
    """A first machine without cores, and two with one core each."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - slow

    cluster = Cluster()
    cluster.add_node(num_cpus=0, object_store_memory=STORE, include_dashboard=False)
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=STORE) for _ in range(2)]
    return cluster, nodes


def start(cluster, place, kind):
    command = [sys.executable, __file__, "drive", str(place), kind]
    return subprocess.Popen(command, env=os.environ | {"RAY_ADDRESS": cluster.address})


def kill_everything(place):
    """A worker after 6 results, the driver after 14, a machine after 24."""
    cluster, nodes = begun_cluster()
    ledger, marks = place / "run" / "ledger.jsonl", place / "marks"
    driver = start(cluster, place, "noisy")
    wait_for(lambda: tells(ledger) >= 6)
    latest = max(marks.iterdir(), key=lambda path: int(path.name.split("-")[2]))
    os.kill(int(latest.name.split("-")[1]), signal.SIGKILL)
    wait_for(lambda: tells(ledger) >= 14)
    driver.kill()
    driver.wait()
    driver = start(cluster, place, "noisy")
    wait_for(lambda: tells(ledger) >= 24)
    cluster.remove_node(nodes[0], allow_graceful=False)
    assert driver.wait() == 0
    cluster.shutdown()


def kill_a_training(place):
    """The worker of the first training, once it has a checkpoint in the middle of an epoch."""
    cluster, _ = begun_cluster()
    driver = start(cluster, place, "train")
    trial = place / "run" / "trials" / "00000"
    wait_for(lambda: len(list((trial / "checkpoints").glob("*.pt"))) == 3)
    holders = [
        int(process.name)
        for process in Path("/proc").iterdir()
        if process.name.isdigit() and int(process.name) != driver.pid and holds(process, trial)
    ]
    assert len(holders) == 1
    os.kill(holders[0], signal.SIGKILL)
    assert not (trial / "model.json").exists()
    assert driver.wait() == 0
    cluster.shutdown()


def holds(process, folder):
    """Whether a process has a folder open, which it does while it holds its lock."""
    try:
        return any(handle.resolve() == folder for handle in (process / "fd").iterdir())
    except OSError:
        return False


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
