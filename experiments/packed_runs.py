"""Unfinished trainings that travel: packed on one machine, resumed on another.

A machine may be given back before a training ends. `collect` puts the results and one small archive per
unfinished run into a folder: its settings, its metrics so far and its last checkpoint. `take_up` lays
them down elsewhere, and the training continues there with the same numbers, as long as the device is of
the same kind. The best weights so far do not travel: they make a third of a checkpoint, and no result
of the experiments is about them.
"""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from jobs import Job, ResultsFile, Spent
from xnas.engine import Checkpoints, load_checkpoint

KEPT = ("config.json", "recipe.json", "genotype.json", "metrics.jsonl")
CHECKPOINTS = "checkpoints"


def collect(jobs: Iterable[Job], results: ResultsFile, runs: Path, out: Path) -> list[Path]:
    """Copy the results and pack the runs that were begun; gives the files that were written.

    Archives of runs that have ended since an earlier call are deleted.
    """
    out.mkdir(parents=True, exist_ok=True)
    made = []
    if results.path.exists():
        made.append(Path(shutil.copy(results.path, out / results.path.name)))
    for job in jobs:
        folder, path = runs / job.folder_name, _archive(job, out)
        if results.has(job) or not Checkpoints(folder / CHECKPOINTS).files():
            path.unlink(missing_ok=True)
        else:
            pack(folder, path)
            made.append(path)
    return made


def take_up(jobs: Iterable[Job], results: ResultsFile, runs: Path, source: Path) -> None:
    """Add the results that another machine has collected, and lay down runs that have not begun here."""
    here = {(line["job"], line["command"]) for line in results.lines()}
    for line in ResultsFile(source / results.path.name).lines():
        if (line["job"], line["command"]) not in here:
            results.append(line)
    for job in jobs:
        path = _archive(job, source)
        if path.exists() and not results.has(job) and not (runs / job.folder_name).exists():
            unpack(path, runs)


def pack(folder: Path, path: Path) -> None:
    """Write the archive of a run folder, with its last checkpoint and what it has cost."""
    newest = Checkpoints(folder / CHECKPOINTS).files()[0]
    state = load_checkpoint(newest, torch.device("cpu")) | {"best": None}
    with TemporaryDirectory() as made, tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name in KEPT:
            if (folder / name).exists():
                archive.add(folder / name, f"{folder.name}/{name}")
        saved = Checkpoints(Path(made)).save(state)
        archive.add(saved, f"{folder.name}/{CHECKPOINTS}/{saved.name}")
        spent = Spent(folder).path
        if spent.exists():
            archive.add(spent, spent.name)


def unpack(path: Path, runs: Path) -> None:
    """Lay down a run folder; it appears whole, after what it has cost."""
    runs.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=runs) as made, tarfile.open(path) as archive:
        archive.extractall(made, filter="data")
        for entry in sorted(Path(made).iterdir(), key=Path.is_dir):
            entry.rename(runs / entry.name)


def _archive(job: Job, folder: Path) -> Path:
    return folder / f"{job.folder_name}.tar.gz"
