"""Recorded searches, several at once on one GPU, in processes that outlive the call.

    python experiments/recorded_searches.py full:absent:0-3 few:rules:1-3 --runs DIR --out DIR

A word is SIZE:VARIANT:SEEDS; sizes and variants are those of `recorded_search.py`. Starts searches that
are neither finished nor running, in the order of the words and at most `--at-once` of them, waits,
collects what there is into `records.tar.gz` in the folder `--out`, and prints a table. Called again it
waits for the same processes, starts those that are left, and restarts those that have died, from their
last checkpoints. The size `smoke` plays a few rounds of full-sized networks on drawn images, to see that
a machine can do it; `tiny` rehearses on a CPU. `--checkpoints` also packs those of unfinished searches,
and `--resume-from` takes such a folder up on another machine.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tarfile
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import torch

from jobs import Record, script
from recorded_search import (
    RECORDS,
    SIZES,
    VARIANTS,
    RecordedSearch,
    is_running,
    packed,
    play,
    played,
    unpacked,
)
from xnas.engine import Checkpoints, load_checkpoint
from xnas.errors import ConfigError
from xnas.process.gpu_sharing import share_gpu
from xnas.space import Genotype

FIRST_ALONE = 150.0  # seconds at most that the first search has for itself, to compile kernels for all
POLL = 1.0
LOG_BYTES = 20_000  # of the end of a log that is collected
CHECKPOINTS_PER_FILE = 2
LOG, ARCHIVE, PACK = "log.txt", "records.tar.gz", "resume"


Process = subprocess.Popen[bytes]


def play_all(jobs: Sequence[RecordedSearch], arguments: Namespace, until: float) -> None:
    """Start searches and wait, until all have ended or the time is over; none is started twice."""
    waiting = [
        job for job in jobs if not _ended(job, arguments) and not is_running(_folder(job, arguments))
    ]
    if _on_gpu(arguments) and waiting:
        share_gpu()
    alone = _on_gpu(arguments) and len(waiting) == len(jobs)
    started: list[Process] = []
    while time.perf_counter() < until:
        running = sum(is_running(_folder(job, arguments)) for job in jobs)
        running = max(running, sum(process.poll() is None for process in started))
        if waiting and running < arguments.at_once:
            job = waiting.pop(0)
            started.append(_start(job, arguments))
            if alone:
                _wait_until_ready(job, arguments, started[-1], until)
                alone = False
        elif waiting or running:
            time.sleep(POLL)
        else:
            return


def _wait_until_ready(job: RecordedSearch, arguments: Namespace, process: Process, until: float) -> None:
    """Let the first search of a new machine compile kernels for all."""
    until = min(until, time.perf_counter() + FIRST_ALONE)
    while time.perf_counter() < until and process.poll() is None and not _ready(job, arguments):
        time.sleep(POLL)


def collect(jobs: Sequence[RecordedSearch], arguments: Namespace) -> None:
    """Records and logs in one archive; checkpoints, if asked for, two in a file."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tarfile.open(arguments.out / ARCHIVE, "w:gz") as archive:
        for job in jobs:
            folder = _folder(job, arguments)
            if (folder / RECORDS).exists():
                archive.add(folder / RECORDS, f"{job.name}.jsonl")
            if (folder / LOG).exists():
                tail = (folder / LOG).read_bytes()[-LOG_BYTES:]
                entry = tarfile.TarInfo(f"{job.name}.log")
                entry.size = len(tail)
                archive.addfile(entry, BytesIO(tail))
    if not arguments.checkpoints:
        return
    unfinished = [job for job in jobs if not _ended(job, arguments)]
    for first in range(0, len(unfinished), CHECKPOINTS_PER_FILE):
        states = {}
        for job in unfinished[first : first + CHECKPOINTS_PER_FILE]:
            for path in Checkpoints(_folder(job, arguments) / "checkpoints").files()[:1]:
                states[job.name] = packed(load_checkpoint(path, torch.device("cpu")))
        number = 1 + first // CHECKPOINTS_PER_FILE
        with gzip.open(arguments.out / f"{PACK}-{number}.pt.gz", "wb", compresslevel=1) as file:
            torch.save(states, file)


def take_up(jobs: Sequence[RecordedSearch], arguments: Namespace) -> None:
    """Lay down what `collect` packed on another machine, for searches that have not begun here."""
    names = {job.name: job for job in jobs if not _folder(job, arguments).exists()}
    with tarfile.open(arguments.resume_from / ARCHIVE) as archive:
        for name, job in names.items():
            if f"{name}.jsonl" in archive.getnames():
                _folder(job, arguments).mkdir(parents=True)
                records = archive.extractfile(f"{name}.jsonl")
                assert records is not None  # noqa: S101 - a file
                (_folder(job, arguments) / RECORDS).write_bytes(records.read())
    for path in sorted(arguments.resume_from.glob(f"{PACK}-*.pt.gz")):
        states = torch.load(BytesIO(gzip.decompress(path.read_bytes())), weights_only=True)
        for name, state in states.items():
            if name in names:
                Checkpoints(_folder(names[name], arguments) / "checkpoints").save(unpacked(state))


def table(jobs: Sequence[RecordedSearch], arguments: Namespace) -> str:
    """One line per search: how far it is, its losses and the operations of its normal cell."""
    columns = ("search", "state", "epoch", "train loss", "valid loss", "chance", "s/epoch", "at its end")
    lines = [f"| {' | '.join((*columns, 'normal cell'))} |", "| --- " * 9 + "|"]
    for job in jobs:
        folder = _folder(job, arguments)
        state = "running" if is_running(folder) else "stopped"
        state = "finished" if _ended(job, arguments) else state
        words = [job.name, state, "0"]
        if records := played(folder):
            last = records[-1]
            counts = Counter(e.operation for node in cell_of(last).normal.nodes for e in node)
            cell = ", ".join(f"{n} {name}" for name, n in counts.most_common())
            chance = last["auto_augment_chance"]
            losses = [f"{last['train_loss']:.3f}", f"{last['valid_loss']:.3f}"]
            shown = "" if chance is None else f"{chance:.2f}"
            times = [f"{last['seconds']:.1f}", f"{last['seconds_at_end']:.1f}"]
            words = [job.name, state, str(last["epoch"]), *losses, shown, *times, cell]
        lines.append(f"| {' | '.join(words)} |")
    return "\n".join(lines)


def jobs_of(word: str) -> list[RecordedSearch]:
    """The searches of `size:variant:seeds`, where seeds are `2`, or `0-3`."""
    size, variant, seeds = [*word.split(":"), "", ""][:3]
    first, _, last = seeds.partition("-")
    if size not in SIZES or variant not in VARIANTS or not (first + (last or first)).isdigit():
        raise ConfigError(
            f"{word!r} is no search; give SIZE:VARIANT:SEEDS such as full:absent:0-3, with a size of "
            f"{', '.join(SIZES)} and a variant of {', '.join(VARIANTS)}"
        )
    numbers = range(int(first), int(last or first) + 1)
    return [RecordedSearch(variant=variant, seed=seed, size=size) for seed in numbers]


def cell_of(record: Record) -> Genotype:
    """The cell of a recorded epoch."""
    return Genotype.from_json(json.dumps(record["cell"]))


def main(given: Sequence[str] | None = None) -> int:
    """Play one search, or see to all of them; 0 when all are finished, 3 otherwise."""
    began = time.perf_counter()
    words = list(sys.argv[1:] if given is None else given)
    arguments = _arguments(words)
    jobs = [job for word in arguments.jobs for job in jobs_of(word)]
    if arguments.play is not None:
        job = next(job for job in jobs if job.name == arguments.play)
        settings = {"device": arguments.device, "data_dir": arguments.data_dir}
        play(job, _folder(job, arguments), backend=arguments.backend, say=_say, **settings)
        return 0
    if arguments.resume_from is not None:
        take_up(jobs, arguments)
    arguments.words = words
    play_all(jobs, arguments, began + arguments.seconds)
    collect(jobs, arguments)
    print(table(jobs, arguments), flush=True)
    for job in jobs:
        if not _ended(job, arguments) and not is_running(_folder(job, arguments)):
            print(f"{job.name} has stopped; the end of its log:\n{_log(job, arguments)[-1500:]}")
    return 0 if all(_ended(job, arguments) for job in jobs) else 3


def _start(job: RecordedSearch, arguments: Namespace) -> Process:
    folder = _folder(job, arguments)
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-u", __file__, *arguments.words, "--play", job.name]
    with (folder / LOG).open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - ourselves, in a session of its own: it outlives this call
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )


def _ready(job: RecordedSearch, arguments: Namespace) -> bool:
    return "ready after" in _log(job, arguments)


def _log(job: RecordedSearch, arguments: Namespace) -> str:
    path = _folder(job, arguments) / LOG
    return path.read_text(encoding="utf8", errors="replace") if path.exists() else ""


def _folder(job: RecordedSearch, arguments: Namespace) -> Path:
    folder: Path = arguments.runs / job.name
    return folder


def _ended(job: RecordedSearch, arguments: Namespace) -> bool:
    return len(played(_folder(job, arguments))) >= job.epochs


def _on_gpu(arguments: Namespace) -> bool:
    return arguments.device != "cpu" and torch.cuda.is_available()


def _say(line: str) -> None:
    print(line, flush=True)


def _arguments(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("jobs", nargs="+", help="searches, as SIZE:VARIANT:SEEDS")
    parser.add_argument("--at-once", type=int, default=8, help="searches that run in parallel")
    parser.add_argument("--runs", type=Path, required=True, help="folder of the searches' folders")
    parser.add_argument("--out", type=Path, required=True, help="folder for what is collected")
    parser.add_argument("--data-dir", type=Path, help="where CIFAR-10 is")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--backend", default="auto", choices=["auto", "reference", "fused"])
    parser.add_argument("--seconds", type=float, default=560.0, help="to wait for the searches")
    parser.add_argument("--checkpoints", action="store_true", help="also pack those of the unfinished")
    parser.add_argument("--resume-from", type=Path, help="a folder that was collected elsewhere")
    parser.add_argument("--play", help="play this search in this process")
    return parser.parse_args(words)


if __name__ == "__main__":
    script(main)
