"""Events of a run, counted: what it does to files, and where it is in a round.

A child process installs an `Events` before it runs. With a `stop` it kills itself (SIGKILL) at the event
of that number; with a `fault` the file operation of that number fails. Both are numbers, not seconds, so
every moment of a run can be named, and met again.
"""

import builtins
import errno
import io
import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path

import torch

from xnas.runs.sampling.sample_job import SampleJob
from xnas.runs.search import SearchJob
from xnas.runs.train import TrainJob
from xnas.space.benchmark_supernet import BenchmarkSupernet
from xnas.space.supernet import Supernet

ROUND = "in a round"
DELETION = "in a deletion of experts"
WRITING = "while a checkpoint is written"
RENAMING = "between write and rename"
RENAMED = "just after the rename"
ROTATING = "removing an old checkpoint"
READING = "while a run is read again"
METRIC = "in a metric line"
LEDGER = "in a line of a ledger of trials"
EXPORT = "in the final export"
START = "at the start"
PHASES = (START, ROUND, DELETION, METRIC, LEDGER, WRITING, RENAMING, RENAMED, ROTATING, EXPORT, READING)

FAULTS = {
    "no space": errno.ENOSPC,
    "input/output error": errno.EIO,
    "permission denied": errno.EACCES,
    "short write": errno.ENOSPC,
}
PIECES = 4


@dataclass(frozen=True)
class Fault:
    number: int
    kind: str


class Events:
    """Counts events under `root`; `log` is a file that outlives the process."""

    def __init__(self, root: Path, log: Path, *, stop=None, fault=None, sampling=False):
        self.root, self.stop, self.fault = str(root), stop, fault
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self.seen, self.operations = [], []
        self.exporting, self.steps, self.kept = False, 0, 0
        self.full, self.sampling = False, sampling

    def install(self):
        """Put counting functions in the place of those of os, io and torch; for good."""
        real_open = io.open
        names = ("replace", "unlink", "mkdir", "fsync", "open", "listdir", "scandir")
        plain = {name: getattr(os, name) for name in names}

        def opened(file, mode="r", *args, **kwargs):
            if not self.inside(file):
                return real_open(file, mode, *args, **kwargs)
            write = any(letter in mode for letter in "wa+x")
            self.operation("open" if write else "read", file)
            if not write:
                return real_open(file, mode, *args, **kwargs)
            raw = Counting(self, file, mode.replace("b", "").replace("t", ""))
            buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding="utf8")

        builtins.open = io.open = opened

        def counted(name):
            def call(path, *args, **kwargs):
                place = str(Path(f"/proc/self/fd/{path}").readlink()) if isinstance(path, int) else path
                if not self.inside(place):
                    return plain[name](path, *args, **kwargs)
                kind = "read" if name == "open" and reads(place, *args) else name
                self.operation(kind, place)
                # What a killed process wrote is not lost, flushed or not; flushing only takes time.
                result = None if name == "fsync" else plain[name](path, *args, **kwargs)
                if name == "replace" and self.of_checkpoint(place):
                    self.kept = self.steps
                self.event(f"after {kind}", place)
                return result

            return call

        for name in plain:
            setattr(os, name, counted(name))
        self._install_rounds()

    def _install_rounds(self):
        def before(owner, name, kind, *, after=False):
            real = getattr(owner, name)

            def call(*args, **kwargs):
                self.event(kind)
                result = real(*args, **kwargs)
                if name == "step":
                    self.steps += 1
                if after:
                    self.event(kind)
                return result

            setattr(owner, name, call)

        before(torch.Tensor, "backward", "round")
        before(torch.nn.utils, "clip_grad_norm_", "round")
        before(torch.optim.SGD, "step", "round", after=True)
        before(Supernet, "wipe", "wipe", after=True)
        before(BenchmarkSupernet, "wipe", "wipe", after=True)
        for job, name in ((SearchJob, "conclude"), (TrainJob, "conclude"), (SampleJob, "_conclude")):
            setattr(job, name, self._concluding(getattr(job, name)))

    def _concluding(self, real):
        def conclude(job, *args):
            if isinstance(job, SampleJob) or not self.sampling:  # the end of a trial is not the run's
                self.exporting = True
                self.event("export")
            return real(job, *args)

        return conclude

    def inside(self, path) -> bool:
        """Whether this is the run's, and not TensorBoard's, whose thread writes when it likes."""
        if threading.current_thread() is not threading.main_thread() or isinstance(path, int):
            return False
        name = os.fsdecode(path)
        return (name == self.root or name.startswith(self.root + "/")) and "tensorboard" not in name

    def of_checkpoint(self, path) -> bool:
        return os.fsdecode(path).startswith(self.root + "/checkpoints")

    def event(self, kind, path=None):
        """One more moment at which the process may die."""
        phase = self.phase(kind, None if path is None else os.fsdecode(path))
        self.seen.append(phase)
        if self.stop == len(self.seen) - 1:
            os.write(self.log, f"{self.kept}\n{phase}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)

    def operation(self, kind, path) -> bool:
        """A file operation, which may fail; True asks for a short write."""
        self.event(kind, path)
        self.operations.append((kind, self.phase(kind, os.fsdecode(path))))
        if self.full and kind == "write":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fsdecode(path))
        fault = self.fault
        if fault is None or fault.number != len(self.operations) - 1:
            return False
        os.write(self.log, f"{self.kept}\n{self.operations[-1][1]}\n".encode())
        if fault.kind == "short write":
            self.full = True
            return True
        raise OSError(FAULTS[fault.kind], os.strerror(FAULTS[fault.kind]), os.fsdecode(path))

    def phase(self, kind, path) -> str:
        """Where in a run this is, as the table of results calls it."""
        for name, phase in (("round", ROUND), ("wipe", DELETION)):
            if kind == name:
                return phase
        if self.exporting:
            return EXPORT
        if kind in ("read", "after read"):
            return READING
        if self.of_checkpoint(path):
            late = os.fsdecode(path).endswith("checkpoints")  # flushing the folder
            return {
                "after replace": RENAMED,
                "fsync": RENAMED if late else RENAMING,
                "after fsync": RENAMED if late else RENAMING,
                "replace": RENAMING,
                "unlink": ROTATING,
                "after unlink": ROTATING,
            }.get(kind, WRITING)
        for name, phase in (("metrics.jsonl", METRIC), ("ledger.jsonl", LEDGER)):
            if name in path:
                return phase
        return START


def reads(path, flags, *_):
    """Whether `os.open` is asked for the content of a file; folders are opened to flush them."""
    return flags & os.O_ACCMODE == os.O_RDONLY and not Path(path).is_dir()


class Counting(io.FileIO):
    """A file whose every write is several events, between which only a part of it is written."""

    def __init__(self, events, path, mode):
        super().__init__(path, mode)
        self.events, self.path = events, path

    def write(self, data):
        data = memoryview(data).cast("B")
        if self.events.operation("write", self.path):
            return super().write(data[: len(data) // 2])
        size = max(1, -(-len(data) // PIECES))
        for start in range(0, len(data), size):
            super().write(data[start : start + size])
            self.events.event("after write", self.path)
        return len(data)
