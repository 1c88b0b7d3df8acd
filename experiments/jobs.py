"""Jobs in borrowed time: what is done is skipped, what does not fit waits, what ends is written at once.

A machine may be lent for minutes. A script is given the seconds that it has; it begins a job only if the
job's planned time is left, and appends one whole line to its results file after each. Called again it
resumes with what is missing. Nothing but the standard library is needed here, so that the clock below
starts before the long imports.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zlib
from abc import ABC, abstractmethod
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

STARTED = time.perf_counter()
ROOT = Path(__file__).resolve().parent.parent
REHEARSAL = Path("runs/rehearsal")
CUT_MARGIN = 20.0  # seconds before the end at which a run is stopped, for its checkpoint
LEAST_CUT = 60.0  # seconds that are worth beginning, or resuming, a job that will be cut
POLL = 0.2  # seconds between two looks at running processes

Record = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Job(ABC):
    """Something to measure once. Name and command together distinguish it from all others."""

    name: str
    options: Mapping[str, Any]
    """Settings, as the command line and the dataclass of settings call them."""
    data: str
    planned: float
    """Seconds that it is expected to take."""

    @property
    @abstractmethod
    def command(self) -> str:
        """What a user would type for the same."""

    @property
    def folder_name(self) -> str:
        """Of its run folder: other settings have another."""
        words = re.sub(r"[^a-z0-9.]+", "-", self.name.lower()).strip("-")
        return f"{words}-{zlib.crc32(self.command.encode()):08x}"


J = TypeVar("J", bound=Job)


class ResultsFile:
    """One JSON object a line, each a finished job. Several processes may append."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[Record]:
        """All finished jobs. A last line without its end was never finished and does not count."""
        if not self.path.exists():
            return []
        text = self.path.read_text(encoding="utf8")
        found = []
        for number, line in enumerate(text[: text.rfind("\n") + 1].splitlines(), start=1):
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise SystemExit(f"{self.path}:{number} is no JSON ({error}); delete the line") from None
            if not isinstance(found[-1], dict) or not {"job", "command"} <= found[-1].keys():
                raise SystemExit(f"{self.path}:{number} names no job and command; delete the line")
        return found

    def has(self, job: Job) -> bool:
        """Whether the job is done, with the settings that it has now."""
        return any((r["job"], r["command"]) == (job.name, job.command) for r in self.lines())

    def append(self, record: Record) -> None:
        """Write one whole line to the disk; half a line that a killed process left makes room."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
            file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


class Budget:
    """The seconds that a script may use, counted from its start; None for as many as it takes."""

    def __init__(
        self,
        seconds: float | None,
        *,
        cut: bool = False,
        started: float = STARTED,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """With `cut` a job may begin that will not end in time: it is stopped, and resumed next time."""
        self.seconds, self.cut, self.started, self.clock = seconds, cut, started, clock

    def left(self) -> float:
        """Seconds until the end."""
        return float("inf") if self.seconds is None else self.started + self.seconds - self.clock()

    def allows(self, planned: float) -> bool:
        """Whether a job of so many planned seconds may begin now."""
        return (min(planned, LEAST_CUT) if self.cut else planned) <= self.left() - CUT_MARGIN

    def deadline(self) -> float:
        """When a run has to stop, by `time.perf_counter`."""
        return float("inf") if self.seconds is None else self.started + self.seconds - CUT_MARGIN


class Process(Protocol):
    """What `subprocess.Popen` gives, as far as it is needed."""

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""

    def terminate(self) -> None:
        """Ask it to stop."""

    def wait(self) -> int:
        """Wait for its end."""


def play(
    jobs: Iterable[J],
    results: ResultsFile,
    budget: Budget,
    run: Callable[[J], Record | None],
    clear: Callable[[J], None],
) -> list[J]:
    """Run the jobs that are not done and fit, one after another; gives those that are left.

    `run` gives None for a job that was cut: it is resumed by the next call. What a job left on the disk
    is cleared away when its line is written.
    """
    left = []
    for job in jobs:
        if results.has(job):
            continue
        record = run(job) if budget.allows(job.planned) else None
        if record is None:
            left.append(job)
        else:
            results.append(record)
            clear(job)
    return left


def play_at_once(
    jobs: Iterable[J],
    results: ResultsFile,
    budget: Budget,
    start: Callable[[J], Process],
    *,
    at_once: int,
) -> list[J]:
    """The same in several processes, each of which writes its own line; gives the jobs that are left."""
    wanted = list(jobs)
    waiting = [job for job in wanted if not results.has(job)]
    running: list[Process] = []
    try:
        while True:
            running = [process for process in running if process.poll() is None]
            for job in [j for j in waiting if budget.allows(j.planned)][: at_once - len(running)]:
                waiting.remove(job)
                running.append(start(job))
            if not running:
                return [job for job in wanted if not results.has(job)]
            time.sleep(POLL)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


def start_process(
    job: Job, *, script: str, words: Sequence[str], budget: Budget, at_once: int
) -> subprocess.Popen[bytes]:
    """The script with one job, in a process of its own that has the time that is left."""
    print(f"[{job.name}] starts", flush=True)
    seconds = [] if budget.seconds is None else ["--seconds", str(budget.left())]
    one = ["--in-process", "--only", job.name, "--at-once", str(at_once), *seconds]
    return subprocess.Popen([sys.executable, script, *words, *one])  # noqa: S603 - ourselves


class Spent:
    """What a run that may be cut has cost so far, in a file next to its folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder.with_name(folder.name + ".spent.json")
        self.at_once: list[int] = []
        """How many jobs could share the machine, of each call."""
        self.timed, self.seconds = 0, 0.0
        if self.path.exists():
            saved = json.loads(self.path.read_text(encoding="utf8"))
            self.at_once, self.timed, self.seconds = saved["at_once"], saved["timed"], saved["seconds"]

    def begin(self, at_once: int = 1) -> None:
        """A call begins."""
        self.at_once.append(at_once)
        self._save()

    def end(self, seconds: float) -> None:
        """It has ended, finished or cut."""
        self.timed += 1
        self.seconds += seconds
        self._save()

    @property
    def calls(self) -> int:
        """How many have begun."""
        return len(self.at_once)

    @property
    def total(self) -> float | None:
        """Seconds of all calls; None if one was killed before it could say."""
        return self.seconds if self.timed == self.calls else None

    def _save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        told = {"at_once": self.at_once, "timed": self.timed, "seconds": self.seconds}
        self.path.write_text(json.dumps(told), encoding="utf8")


def forget(folder: Path) -> None:
    """Delete a run folder and what it cost."""
    shutil.rmtree(folder, ignore_errors=True)
    Spent(folder).path.unlink(missing_ok=True)


def script(main: Callable[[], int]) -> NoReturn:
    """Run a script and exit as the command line does: what a user can fix is one line, and status 2."""
    from xnas.errors import XnasError  # noqa: PLC0415 - after the clock has started

    told, status = "", 0
    try:
        status = main()
    except XnasError as error:
        told, status = str(error), 2
    except SystemExit as end:
        if not isinstance(end.code, str):
            raise
        told, status = end.code, 2
    except KeyboardInterrupt as stop:
        stopped = str(stop).partition(";")[0] or "interrupted"
        told, status = f"{stopped}; the same command resumes", 130
    if told:
        print(f"{Path(sys.argv[0]).name}: {told}", file=sys.stderr, flush=True)
    raise SystemExit(status)


def positive_seconds(word: str) -> float:
    """An option's value."""
    with suppress(ValueError):
        if 0 < float(word) < float("inf"):
            return float(word)
    raise ArgumentTypeError(f"a positive number of seconds is wanted, got {word!r}")


def shared_arguments(parser: ArgumentParser, results: str) -> None:
    """The options that every script of experiments has; `results` is its file under results/."""
    add = parser.add_argument
    add("--seconds", type=positive_seconds, help="time that may be used; by default as much as it takes")
    add("--cut", action="store_true", help="also begin jobs that do not fit: resumed by the next call")
    add("--only", nargs="+", metavar="NAME", help="these jobs alone")
    add("--list", action="store_true", help="say what is done and what is left")
    add("--device", default="auto", help="auto, cpu, cuda or cuda:NUMBER")
    add("--data-dir", type=Path, help="where datasets are looked for")
    add("--out", type=Path, help=f"results file; by default results/{results}")
    add("--runs", type=Path, default=Path("runs/experiments"), help="where run folders are made")
    add("--keep", action="store_true", help="keep the folders of finished runs")
    add("--tiny", action="store_true", help="rehearse: the same jobs in seconds, on digits")


def lent(arguments: Namespace) -> Record:
    """Where a run that is resumed finds its images and its device, which may be another machine's."""
    given = {"device": arguments.device, "data_dir": arguments.data_dir}
    return {name: value for name, value in given.items() if value is not None}


def usual_results(name: str, *, tiny: bool) -> Path:
    """Where results of that name are: rehearsals never with real ones."""
    return REHEARSAL / name if tiny else ROOT / "results" / name


def results_file(arguments: Namespace, name: str) -> ResultsFile:
    """Where the results go."""
    return ResultsFile(arguments.out or usual_results(name, tiny=arguments.tiny))


def chosen(jobs: Sequence[J], only: Sequence[str] | None) -> list[J]:
    """All jobs, or those that were named."""
    names = [job.name for job in jobs]
    for name in only or ():
        if name not in names:
            raise SystemExit(f"no job called {name!r}; there are: {', '.join(names)}")
    return [job for job in jobs if only is None or job.name in only]


def overview(jobs: Sequence[Job], results: ResultsFile) -> str:
    """A line for each job, and the planned time of those that are left."""
    lines = [
        f"{'done' if results.has(job) else 'left':6}{job.planned:8.0f} s  {job.name:28}  {job.command}"
        for job in jobs
    ]
    left = [job.planned for job in jobs if not results.has(job)]
    return "\n".join([*lines, f"{len(left)} of {len(jobs)} jobs left, {sum(left):.0f} s planned"])


def told_left(left: Sequence[Job], jobs: Sequence[Job]) -> str:
    """The last line of a script."""
    names = ", ".join(job.name for job in left)
    return f"{len(left)} of {len(jobs)} jobs left{': ' if left else ''}{names}"
