"""One trial: a run dies or fails at a chosen event, is resumed, and has to end as if nothing was."""

import json
import os
import shutil
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from sampling_jobs import Noisy
from searching import stripes
from searching import tiny as tiny_search
from training import pictures
from training import tiny as tiny_training

from soak.events import Events, Fault
from xnas import SampleConfig, resume_search, search
from xnas.engine import load_checkpoint
from xnas.errors import XnasError
from xnas.runs.displays import Silence
from xnas.runs.run_folder import RunFolder
from xnas.runs.sampling import sample_job
from xnas.runs.sampling.evaluators import EVALUATORS, EvaluatorKind
from xnas.runs.sampling.sample import resume_sampling, sample
from xnas.runs.train import resume_training, train

KILLED, FINISHED, REFUSED, BROKEN = "killed", "finished", "refused", "broken"
CPU = torch.device("cpu")


class Listening(Silence):
    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)

    warn = say


@dataclass(frozen=True)
class Scenario:
    """A run that can be begun and resumed in any folder."""

    name: str
    start: Callable
    again: Callable
    sampling: bool = False

    def go(self, out: Path, display=None):
        """What a user would do: resume, or begin where nothing was begun."""
        display = display or Silence()
        if (out / "config.json").exists():
            self.again(out, display)
        else:
            self.start(out, display)


def a_search(name, count=48, data=None, **settings):
    config = tiny_search(**{"relaxation": 0.02, "epochs": 2, "checkpoint_minutes": 0.0} | settings)
    images = stripes(count=count) if data is None else data
    given = None if isinstance(images, str) else images
    return Scenario(
        name,
        lambda out, display: search(replace(config, out=out), images, display=display),
        lambda out, display: resume_search(out, data=given, display=display),
    )


def a_training(name, count=40, data=None, **settings):
    config = tiny_training(**{"epochs": 2} | settings)
    images = pictures(count=count) if data is None else data
    given = None if isinstance(images, str) else images
    return Scenario(
        name,
        lambda out, display: train(replace(config, out=out), images, display=display),
        lambda out, display: resume_training(out, data=given, display=display),
    )


def a_sampling(name, data=None, **settings):
    """Cells evaluated by a digest, or by trainings on `data`."""
    usual = {"space": "nasbench201", "evaluator": "noisy", "settings": "population=2,sample=2"}
    config = SampleConfig(**usual | {"evaluations": 5, "at_once": 2} | settings)
    if "noisy" not in EVALUATORS:
        EVALUATORS.add("noisy", EvaluatorKind(lambda *_: Noisy(), "a digest", needs_images=False))
    sample_job._draw = lambda *_: None  # figures take a second each
    return Scenario(
        name,
        lambda out, display: sample(replace(config, out=out), data, display=display),
        lambda out, display: resume_sampling(out, data=data, display=display),
        sampling=True,
    )


EVERYTHING = {
    "recipe": "xnas-1500",
    "drop_path_rate": 0.3,
    "auxiliary_weight": 0.4,
    "average": 0.8,
    "validation": 0.2,
}


@dataclass(frozen=True)
class Outcome:
    status: str
    message: str = ""
    lines: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    operations: tuple[tuple[str, str], ...] = ()
    kept: int = 0
    """Steps that the last whole checkpoint had, when the process died or failed."""
    phase: str = ""


def in_child(scenario: Scenario, out: Path, *, stop: int | None = None, fault: Fault | None = None):
    """Run in a process of its own, forked from this one, which has everything imported."""
    log, report = (out.parent / f"{out.name}.{kind}" for kind in ("log", "report"))
    for path in (log, report):
        path.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _child(
            scenario,
            out,
            Events(out, log, stop=stop, fault=fault, sampling=scenario.sampling),
            os.open(report, os.O_CREAT | 1),
        )
    status = os.waitpid(child, 0)[1]
    noted = log.read_text(encoding="utf8").splitlines()
    at = {"kept": int(noted[0]), "phase": noted[1]} if noted else {}
    if os.WIFSIGNALED(status):
        told = "" if noted else f"signal {os.WTERMSIG(status)} that nobody asked for"
        return Outcome(KILLED if noted else BROKEN, told, **at)
    saved = json.loads(report.read_text(encoding="utf8"))
    saved |= {name: tuple(map(_hashable, saved[name])) for name in ("lines", "phases", "operations")}
    return Outcome(**saved, **at)


def _hashable(value):
    return tuple(value) if isinstance(value, list) else value


def _child(scenario, out, events, report):
    display, told = Listening(), {}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # orphaned workers complain
        os.dup2(nowhere, stream)
    try:
        events.install()
        scenario.go(out, display)
        told = {"status": FINISHED}
    except XnasError as error:
        told = {"status": REFUSED, "message": str(error)}
    except BaseException:  # noqa: BLE001 - whatever it is, the parent gets it
        told = {"status": BROKEN, "message": traceback.format_exc()}
    finally:
        events.stop = events.fault = None
        told |= {"lines": display.lines, "phases": events.seen, "operations": events.operations}
        os.write(report, json.dumps(told).encode())
        os._exit(0)


def differences(one: Path, other: Path) -> list[str]:
    """In what two run folders differ, but for costs, times and their own paths; bit for bit."""
    kinds = [_files(run) for run in (one, other)]
    if kinds[0].keys() != kinds[1].keys():
        return [f"files {sorted(kinds[0].keys() ^ kinds[1].keys())}"]
    found = [name for name in kinds[0] if kinds[0][name] != kinds[1][name]]
    for checkpoints in one.rglob("checkpoints"):
        pair = checkpoints.parent, other / checkpoints.parent.relative_to(one)
        states = [load_checkpoint(RunFolder(run).checkpoints.files()[0], CPU) for run in pair]
        for state in states:
            state["metrics"] = _without_costs(state["metrics"])
        found += _unequal(*states, str(checkpoints.relative_to(one)))
    return found


def _files(run: Path):
    found = {}
    for path in run.rglob("*"):
        name = str(path.relative_to(run))
        if path.is_dir() or "tensorboard" in name or path.name == "costs.jsonl":
            continue
        if path.name.endswith(("report.html", "report.html.part")):
            continue  # has paths and times, and is drawn after a run has ended
        if path.parent.name == "checkpoints" and path.suffix == ".pt":
            continue
        content = path.read_bytes()
        found[name] = content
        if path.name == "metrics.jsonl":
            found[name] = _without_costs(content.decode())
        elif path.name == "config.json":
            found[name] = content.replace(str(run).encode(), b"RUN")
        elif path.name == "curve.json":
            rows = json.loads(content)["evaluations"]
            found[name] = [{k: v for k, v in row.items() if k != "seconds"} for row in rows]
    return found


def _without_costs(metrics: str):
    lines = metrics.splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "cost"} for line in lines]


def _unequal(one, other, name):
    if isinstance(one, torch.Tensor):
        if not (one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)):
            yield name
    elif isinstance(one, dict):
        if one.keys() != other.keys():
            yield f"{name} {sorted(map(str, one.keys() ^ other.keys()))}"
            return
        for key in one:
            yield from _unequal(one[key], other[key], f"{name}/{key}")
    elif isinstance(one, list | tuple):
        if len(one) != len(other):
            yield name
            return
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from _unequal(*pair, f"{name}/{number}")
    elif one != other:
        yield name


def verdict(scenario: Scenario, reference: Path, out: Path, before: Outcome) -> str:
    """Resume a run that died or failed, and say what is wrong with the end; empty if nothing is."""
    if before.status == BROKEN:
        return before.message
    if before.status == REFUSED and "\n" in before.message:
        return f"an error of several lines: {before.message!r}"
    last = out / ("model.json" if (out / "recipe.json").exists() else "genotype.json")
    if before.status == FINISHED or last.exists():  # what is written last is there: all is
        return ", ".join(differences(reference, out))
    after = in_child(scenario, out)
    if after.status != FINISHED:
        return f"cannot be resumed: {after.message}"
    resumed = [int(line.split()[-1]) for line in after.lines if line.startswith("resuming after")]
    if (resumed or [0])[0] < before.kept:
        return f"resumed after {resumed}, but {before.kept} were kept"
    return ", ".join(differences(reference, out))


def clean(out: Path):
    shutil.rmtree(out, ignore_errors=True)
