"""Pools that evaluate in parallel: in processes of this machine, or on a Ray cluster."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from xnas.errors import WorkerError
from xnas.process.gpu_sharing import visible_gpus
from xnas.process.interrupt import stop_at_round
from xnas.runs.sampling.evaluators import Evaluator, evaluate_trial, trial_folder
from xnas.runs.sampling.pools import POOLS, PoolKind
from xnas.samplers import Result, Trial
from xnas.workers import LocalProcesses, RayTasks, Shared, Workers


class WorkerPool:
    """Evaluates trials in `workers`, which it closes."""

    def __init__(self, workers: Workers, evaluator: Evaluator, trials: Path) -> None:
        self.workers, self.trials = workers, trials
        self.evaluator = workers.share(evaluator)
        """Sent to each worker once, as an evaluator may hold all images."""

    def submit(self, trial: Trial) -> None:
        """Hand a trial to the workers."""
        folder = trial_folder(self.trials, trial.number).absolute()
        self.workers.submit(trial.number, partial(evaluate_shared, self.evaluator, trial, folder))

    def result(self, number: int | None = None) -> Result:
        """Wait for a trial; None: the first that ends. Raises Interrupted after Ctrl-C or SIGTERM.

        A trial that ended its workers again and again has failed.
        """
        with stop_at_round() as asked:
            if number is None:
                number = self.workers.first(stopped=asked)
            try:
                result: Result = self.workers.result(number, stopped=asked)
            except WorkerError as error:
                return Result(number=number, value=None, state="failed", reason=str(error))
            return result

    def close(self) -> None:
        """Stop what is being evaluated, after a step, and wait for that."""
        self.workers.close()


def evaluate_shared(evaluator: Shared[Evaluator], trial: Trial, folder: Path) -> Result:
    """Evaluate one trial in its folder, with an evaluator that this process was sent before."""
    return evaluate_trial(evaluator.value(), trial, folder)


def on_gpu(evaluator: Evaluator) -> bool:
    """Whether an evaluator computes on a GPU: one that computes says so by its `device`."""
    return str(getattr(evaluator, "device", "cpu")).startswith("cuda")


def local_processes(evaluator: Evaluator, trials: Path, at_once: int) -> WorkerPool:
    """The pool `processes`; on GPUs each trial has a process of its own."""
    return WorkerPool(processes(at_once, on_gpu(evaluator)), evaluator, trials)


def ray_tasks(evaluator: Evaluator, trials: Path, at_once: int) -> WorkerPool:
    """The pool `ray`; `trials` has to be on a file system that all machines of the cluster share."""
    return WorkerPool(tasks(at_once, on_gpu(evaluator)), evaluator, trials)


def processes(at_once: int, on_gpus: bool) -> Workers:  # noqa: FBT001 - the signature of `PoolKind`
    """Processes of this machine; on GPUs each job has a process of its own."""
    gpus = visible_gpus() if on_gpus else ()
    return LocalProcesses(at_once, gpus=gpus, fresh=bool(gpus))


def tasks(at_once: int, on_gpus: bool) -> Workers:  # noqa: FBT001 - the signature of `PoolKind`
    """Tasks of a Ray cluster."""
    return RayTasks(at_once, on_gpus=on_gpus)


POOLS.add(
    "processes", PoolKind(local_processes, "in parallel processes of this machine", workers=processes)
)
POOLS.add("ray", PoolKind(ray_tasks, "on the machines of a Ray cluster", workers=tasks))
