"""Samplers compared: many searches of each, with accuracies that are looked up or estimated.

    python experiments/samplers.py --table NASBENCH201.csv --cells CELLS.csv --processes 2 --seconds 3000

Jobs on NAS-Bench-201 make 100 evaluations: the sampler is given the validation accuracy after 12
epochs, and what counts is the test accuracy after 200 epochs of its answer, which it never sees. Jobs on
the DARTS space make 300 evaluations by the judge that is fitted to CELLS.csv, and what counts is its
estimate of the answer. Seeds count from 0, and cells are asked one at a time, as `xnas sample` does by
default.

A job is one line of results/samplers.jsonl, written when all its seeds are done. Searches of a job that
is stopped are kept in --runs, and the next call plays the others. A job that is declared with more seeds
than its line has is played again, and the new line counts.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache, partial
from pathlib import Path
from statistics import mean, median
from typing import Any

import torch

from jobs import Budget, Job, Record, ResultsFile, chosen, overview, play, script, usual_results
from watch import ran_on
from xnas.benchmarks import SurrogateBenchmark, TabularBenchmark
from xnas.runs.sampling.config import settings_text
from xnas.samplers import SAMPLERS, Result
from xnas.space.encoding import encoding_of

RESULTS = "samplers.jsonl"
MARKS = (10, 25, 50, 100, 200, 300)
"""Evaluations after which the best cell so far is recorded."""
FIRST_EPOCHS = 12
"""Of the training that tells a sampler of the table what a cell is worth, if it asks for no number."""
SPACES = {"table": "nasbench201", "surrogate": "darts"}
EVALUATIONS = {"table": 100, "surrogate": 300}
TINY_SEEDS = 2


@dataclass(frozen=True, kw_only=True)
class Sampling(Job):
    """Searches of one sampler with the same settings and consecutive seeds."""

    sampler: str
    evaluator: str
    seeds: int
    options: Mapping[str, Any] = field(default_factory=dict)
    data: str = "cifar10"
    planned: float = 60.0

    @property
    def command(self) -> str:
        """What a user would type for the search of one seed; FILE is the table or the file of cells."""
        settings = settings_text(self.options)
        given = f" --settings {settings}" if settings else ""
        return (
            f"xnas sample --space {SPACES[self.evaluator]} --sampler {self.sampler}{given} --evaluator "
            f"{self.evaluator} --truth FILE --evaluations {EVALUATIONS[self.evaluator]} --seed SEED"
        )


def _job(evaluator: str, sampler: str, seeds: int, planned: float = 60.0, **options: object) -> Sampling:
    words = [evaluator, sampler, *(f"{name}-{value}" for name, value in options.items())]
    return Sampling(
        name="-".join(words),
        sampler=sampler,
        evaluator=evaluator,
        seeds=seeds,
        options=options,
        planned=planned,
    )


MANY, SOME, FEW = 500, 50, 20
"""Seeds: of samplers that fit no network, of those that fit quickly, and of others."""
RUNGS = {"min_epochs": 12, "max_epochs": 200, "eta": 17}
"""The two trainings that the table knows, for samplers that stop trainings early."""
JOBS = (
    _job("table", "random", MANY),
    _job("table", "evolution", MANY),
    _job("table", "evolution", MANY, population=10, sample=3),
    _job("table", "local", MANY),
    _job("table", "controller", MANY, controller="logits"),
    _job("table", "controller", MANY),
    _job("table", "progressive", FEW),
    _job("table", "latent", FEW),
    _job("table", "bananas", SOME),
    _job("table", "npenas", SOME),
    _job("table", "tpe", MANY),
    _job("table", "tpe", MANY, multivariate=True),
    _job("table", "halving", MANY, **RUNGS),
    _job("table", "bohb", MANY, **RUNGS),
    _job("table", "proxy", MANY, proxy="params"),
    _job("table", "proxy", MANY, proxy="params", then="evolution"),
    _job("surrogate", "random", FEW),
    _job("surrogate", "evolution", FEW),
    _job("surrogate", "local", FEW),
    _job("surrogate", "controller", FEW, controller="logits"),
    _job("surrogate", "controller", FEW),
    _job("surrogate", "latent", FEW),
    _job("surrogate", "bananas", FEW),
    _job("surrogate", "npenas", FEW),
    _job("surrogate", "tpe", FEW),
    _job("surrogate", "proxy", SOME, proxy="params"),
)


@dataclass(frozen=True, slots=True)
class Searched:
    """What one search came to."""

    found: tuple[float, ...]
    """Percent, of the best cell after each of the marks."""
    distinct: int
    """Different cells among those evaluated."""
    epochs: int | None
    """Of all trainings together, where one that is promoted continues; None by the judge."""
    seconds: float
    """Of processor time, which other work on the machine hardly changes."""


def search(job: Sampling, seed: int, *, table: Path, cells: Path) -> Searched:
    """Play one search to its end; a sampler that runs out of cells ends early."""
    torch.set_num_threads(1)
    began = time.process_time()
    value, worth = _accuracies(job.evaluator, table if job.evaluator == "table" else cells)
    evaluations = EVALUATIONS[job.evaluator]
    options = dict(job.options)
    if "evaluations" in {declared.name for declared in fields(SAMPLERS[job.sampler].settings)}:
        options.setdefault("evaluations", evaluations)
    sampler = SAMPLERS[job.sampler](encoding_of(SPACES[job.evaluator]), seed, options)
    seen: set[str] = set()
    found: list[float] = []
    epochs: dict[int, int] = {}
    spent = 0
    for count in range(1, evaluations + 1):
        trial = sampler.ask()
        if trial is None:
            break
        seen.add(trial.genotype.to_json())
        epochs[trial.number] = trial.budget or FIRST_EPOCHS
        before = 0 if trial.budget is None or trial.parent is None else epochs[trial.parent]
        spent += epochs[trial.number] - before
        told = value(trial.genotype, epochs[trial.number]) / 100
        sampler.tell(Result(number=trial.number, value=told, state="done"))
        if count in MARKS:
            found.append(worth(sampler.best().genotype))
    marks = sum(mark <= evaluations for mark in MARKS)
    found += [worth(sampler.best().genotype)] * (marks - len(found))
    of_table = job.evaluator == "table"
    return Searched(tuple(found), len(seen), spent if of_table else None, time.process_time() - began)


@cache
def _accuracies(evaluator: str, path: Path) -> tuple[Any, Any]:
    """What a sampler is given of a cell after so many epochs, and what counts at the end, in percent."""
    if evaluator == "table":
        benchmark = TabularBenchmark.load(path)
        return partial(benchmark.accuracy, split="valid"), benchmark.accuracy
    judge = SurrogateBenchmark.load(path)
    return lambda cell, _: judge.accuracy(cell), judge.accuracy


def random_expectation(table: TabularBenchmark, draws: int) -> float:
    """The expected test accuracy of the best of so many random cells by validation after 12 epochs."""
    ordered = sorted(table.entries.values(), key=lambda entry: entry.valid_12)
    count = len(ordered)
    return sum(
        (((i + 1) / count) ** draws - (i / count) ** draws) * entry.test_200
        for i, entry in enumerate(ordered)
    )


def searches(job: Sampling, arguments: Namespace) -> list[Searched]:
    """The searches of all seeds; each is kept as soon as it and those before it are done."""
    one = partial(search, job, table=arguments.table, cells=arguments.cells)
    kept = KeptSearches(arguments.runs, job)
    searched = kept.read()[: job.seeds]
    left = range(len(searched), job.seeds)
    if arguments.processes == 1:
        for seed in left:
            searched.append(kept.add(one(seed)))
        return searched
    with ProcessPoolExecutor(arguments.processes) as pool:
        for found in pool.map(one, left, chunksize=max(1, len(left) // 50)):
            searched.append(kept.add(found))
    return searched


class KeptSearches:
    """The first searches of a job that has no line yet, one per line of a file."""

    def __init__(self, folder: Path, job: Sampling) -> None:
        self.path = folder / f"{job.folder_name}.jsonl"

    def read(self) -> list[Searched]:
        """Those that were written whole, in the order of their seeds."""
        if not self.path.exists():
            return []
        text = self.path.read_text(encoding="utf8")
        lines = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
        return [Searched(**line | {"found": tuple(line["found"])}) for line in lines]

    def add(self, searched: Searched) -> Searched:
        """Write one more, and return it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        known = self.read()
        text = "".join(json.dumps(asdict(one)) + "\n" for one in (*known, searched))
        self.path.write_text(text, encoding="utf8")
        return searched

    def forget(self) -> None:
        """Delete them."""
        self.path.unlink(missing_ok=True)


def run(job: Sampling, arguments: Namespace) -> Record:
    """Play all searches of a job."""
    searched = searches(job, arguments)
    found = [round(s.found[-1], 3) for s in searched]
    marks = [mark for mark in MARKS if mark <= EVALUATIONS[job.evaluator]]
    record = {
        "job": job.name,
        "command": job.command,
        "sampler": job.sampler,
        "evaluator": job.evaluator,
        "settings": dict(job.options),
        "evaluations": EVALUATIONS[job.evaluator],
        "data": job.data,
        "seed": 0,  # the first
        "seeds": job.seeds,
        "found": found,
        "curve": {
            str(mark): round(mean(s.found[i] for s in searched), 4) for i, mark in enumerate(marks)
        },
        "distinct": round(mean(s.distinct for s in searched), 2),
        "epochs": _mean_epochs(searched),
        "search_seconds": round(median(s.seconds for s in searched), 4),
        "at_once": arguments.processes,
        **ran_on("cpu"),
    }
    if job.sampler == "random" and job.evaluator == "table":
        benchmark = TabularBenchmark.load(arguments.table)
        record["expected"] = round(random_expectation(benchmark, EVALUATIONS["table"]), 4)
    print(json.dumps({k: record[k] for k in ("job", "seeds", "curve", "search_seconds")}), flush=True)
    return record


def _mean_epochs(searched: Sequence[Searched]) -> float | None:
    known = [one.epochs for one in searched if one.epochs is not None]
    return round(mean(known), 1) if known else None


class SearchesFile(ResultsFile):
    """Lines of jobs, of which one with fewer seeds than are declared counts as not done."""

    def has(self, job: Job) -> bool:
        """Whether a line has the job with all its seeds."""
        least = getattr(job, "seeds", 0)
        return any(
            (r["job"], r["command"]) == (job.name, job.command) and r["seeds"] >= least
            for r in self.lines()
        )


def _arguments(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add = parser.add_argument
    add("--table", type=Path, required=True, help="the CSV of NAS-Bench-201")
    add("--cells", type=Path, required=True, help="a CSV of DARTS cells with accuracies")
    add("--processes", type=int, default=1, help="searches in parallel")
    add("--seconds", type=float, help="begin no job later than this")
    add("--runs", type=Path, default=Path("runs/experiments"), help="where searches are kept meanwhile")
    add("--only", nargs="+", metavar="NAME", help="these jobs alone")
    add("--list", action="store_true", help="say what is done and what is left")
    add("--tiny", action="store_true", help=f"rehearse with {TINY_SEEDS} seeds of each")
    return parser.parse_args(words)


def main(given: Sequence[str] | None = None) -> int:
    """Play what is left, or list it; 0 when nothing is left, 3 otherwise."""
    arguments = _arguments(list(sys.argv[1:] if given is None else given))
    results = SearchesFile(usual_results(RESULTS, tiny=arguments.tiny))
    jobs = [job for job in chosen(JOBS, arguments.only) if job.sampler in SAMPLERS]
    if arguments.tiny:
        jobs = [replace(job, seeds=TINY_SEEDS) for job in jobs]
    if arguments.list:
        print(overview(jobs, results))
        return 0
    budget = Budget(arguments.seconds)
    left = play(
        jobs,
        results,
        budget,
        partial(run, arguments=arguments),
        lambda job: KeptSearches(arguments.runs, job).forget(),
    )
    return 3 if left else 0


if __name__ == "__main__":
    script(main)
