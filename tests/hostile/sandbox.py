"""A process of its own for hostile files, with limits of time and memory, and a look around after each.

Run as a program it is the process: it reads `{"target": ..., "first": ..., "count": ...}` a line, tries
those cases one after another and writes a line about each. `Sandbox` is its keeper: a case that kills
the process, or hangs it, is a fault like any other, and the next one gets a new process.
"""

import json
import os
import resource
import select
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

HANGS_AFTER = 30.0  # seconds on the clock; a case's own limit is of processor time, and far shorter
STARTS_WITHIN = 300.0  # seconds, imports and samples; both wait for a busy disk
GIBIBYTE = 2**30
READY = b"ready\n"
LONGEST_MESSAGE = 1500  # characters, without the path of the file


@dataclass
class Report:
    """What became of the cases of one target."""

    target: str
    counts: Counter = field(default_factory=Counter)
    faults: list = field(default_factory=list)
    slowest: float = 0.0
    memory: float = 0.0

    def __str__(self):
        return (
            f"{self.target}: {self.counts.total():,} cases, {self.counts['refused']:,} refused, "
            f"{self.counts['valid']:,} valid, {len(self.faults)} faults; "
            f"at most {self.slowest:.2f} s and {self.memory:.0f} MiB"
        )


class Sandbox:
    """Keeps one process, and replaces it when a case has ended it."""

    def __init__(self, folder):
        self.folder, self.process, self.waiting = folder, None, b""

    def run(self, target, count, first=0):
        """Try `count` cases of a target, from the seed `first`."""
        report, case, end = Report(target), first, first + count
        while case < end:
            if self.process is None:
                self._start()
            request = json.dumps({"target": target, "first": case, "count": end - case})
            self.process.stdin.write(f"{request}\n".encode())
            self.process.stdin.flush()
            if self._line(STARTS_WITHIN) != READY:  # samples are made, which may take a while
                self._fail("cannot make samples")
            case = self._follow(report, case, end)
        return report

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process, self.waiting = None, b""

    def _start(self):
        tests = str(Path(__file__).parent.parent)
        path = os.pathsep.join(filter(None, (tests, os.environ.get("PYTHONPATH"))))
        environment = os.environ | {
            "PYTHONPATH": path,
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "stderr.txt").open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "hostile.sandbox", str(self.folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment | {"XNAS_CACHE": str(self.folder / "cache")},
            )
        if self._line(STARTS_WITHIN) != READY:
            self._fail("does not start")

    def _fail(self, what):
        self.close()
        told = (self.folder / "stderr.txt").read_text(encoding="utf8")
        raise RuntimeError(f"the sandbox {what}: {told[-2000:]}")

    def _line(self, seconds):
        """The next line; None if it does not come in time, nothing if the process has ended."""
        while b"\n" not in self.waiting:
            if not select.select([self.process.stdout], [], [], seconds)[0]:
                return None
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                return b""
            self.waiting += more
        line, _, self.waiting = self.waiting.partition(b"\n")
        return line + b"\n"

    def _follow(self, report, case, end):
        while case < end:
            line = self._line(HANGS_AFTER)
            if not line:
                what = f"took over {HANGS_AFTER:.0f} s" if line is None else "ended the process"
                self.close()
                report.counts["fault"] += 1
                report.faults.append(f"case {case} of {report.target} {what}")
                return case + 1
            told = json.loads(line)
            report.counts[told["outcome"]] += 1
            report.slowest = max(report.slowest, told["seconds"])
            report.memory = max(report.memory, told["mib"])
            if told["outcome"] == "fault":
                report.faults.append(f"case {case} of {report.target}: {told['what']}")
            case += 1
        return case


def work(folder):
    """The process: tries cases until it gets no more."""
    from hostile.targets import TARGETS  # noqa: PLC0415 - the keeper does not need them

    answers = os.fdopen(os.dup(1), "w")
    answers.write(READY.decode())
    answers.flush()
    os.dup2(2, 1)  # what is printed must not get between the answers
    yard = folder / "yard"
    yard.mkdir(parents=True, exist_ok=True)
    _clear(yard)  # of a case that ended the process before this one
    os.chdir(yard)
    samples = {}
    for line in sys.stdin:
        request = json.loads(line)
        name = request["target"]
        target = TARGETS[name]
        if name not in samples:
            place = folder / "samples" / f"{name} {os.getpid()}"
            samples[name] = target.samples(place)
            _limit_memory()
        answers.write(READY.decode())
        answers.flush()
        for case in range(request["first"], request["first"] + request["count"]):
            answers.write(json.dumps(_try(target, samples[name], yard, case)) + "\n")
            answers.flush()


def _limit_memory():
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + 2 * GIBIBYTE
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def _try(target, samples, yard, case):
    """One case: what it ended in, how long it took, how much memory, what it left behind."""
    from xnas.errors import XnasError  # noqa: PLC0415

    draw = Random(f"{target.name} {case}")
    place = yard / "case"
    place.mkdir()
    (yard / "bystander.txt").write_text("as it was", encoding="utf8")
    before_cwd = Path.cwd()
    try:
        reader = target.make(samples, draw, place)
    except Exception as error:  # noqa: BLE001 - of the test, which must not look like one of the package
        _clear(yard)
        return {"outcome": "fault", "what": f"not made: {error!r}", "seconds": 0.0, "mib": 0.0}
    around = _listing(yard)
    _forget_peak()
    memory, started = _resident("VmRSS"), time.process_time()
    outcome, what = "valid", ""
    try:
        fault = target.judge(reader())
        if fault:
            outcome, what = "fault", fault
    except XnasError as error:
        outcome, what = "refused", _ugly(str(error))
        if what:
            outcome = "fault"
    except BaseException as error:  # noqa: BLE001 - whatever else it is, it is a fault
        import traceback  # noqa: PLC0415

        where = traceback.extract_tb(error.__traceback__)[-4:]
        steps = " > ".join(f"{Path(f.filename).name}:{f.lineno}" for f in where)
        outcome, what = "fault", f"{type(error).__name__}: {str(error)[:200]} at {steps}"
    seconds = time.process_time() - started
    mib = (_resident("VmHWM") - memory) / 1024
    os.chdir(before_cwd)
    if seconds > target.seconds:
        outcome, what = "fault", f"took {seconds:.1f} s; {what}"
    if mib > target.mebibytes:
        outcome, what = "fault", f"took {mib:.0f} MiB; {what}"
    touched = around ^ _listing(yard)
    if touched:
        outcome, what = "fault", f"touched {sorted(touched)[:3]}; {what}"
    _clear(yard)
    return {"outcome": outcome, "what": what, "seconds": seconds, "mib": mib}


def _ugly(message):
    """What is wrong with a message: nothing, or its length, or letters that no terminal should get."""
    if len(message) > LONGEST_MESSAGE:
        return f"a message of {len(message):,} characters: {message[:80]}..."
    return ""


def _listing(yard):
    """Everything in the yard but the place of the case, with its content's length and time of change."""
    found = set()
    for path in yard.rglob("*"):
        if path.parts[len(yard.parts)] != "case":
            status = path.lstat()
            found.add((str(path.relative_to(yard)), status.st_size, status.st_mtime_ns))
    return found


def _clear(yard):
    import shutil  # noqa: PLC0415

    for path in yard.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _forget_peak():
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _resident(field_name):
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field_name):
            return int(line.split()[1])
    raise LookupError(field_name)


if __name__ == "__main__":
    work(Path(sys.argv[1]))
