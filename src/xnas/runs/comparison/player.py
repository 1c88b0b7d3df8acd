"""Plays a comparison: performs the runs that are left, and keeps what became of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from xnas.errors import ConfigError, WorkerError, XnasError
from xnas.process.devices import pick_device
from xnas.process.interrupt import Interrupted, stop_at_round
from xnas.process.output import explain_lost_output
from xnas.records import ComparedRun, RunComparison
from xnas.runs.command_line import flags
from xnas.runs.comparison.checks import compared_data, require_possible
from xnas.runs.comparison.config import CompareConfig
from xnas.runs.comparison.display import CompareDisplay, Watches
from xnas.runs.comparison.entries import RANDOM, entries_of, measure_of, reference_of, require_seeds
from xnas.runs.comparison.jobs import perform
from xnas.runs.comparison.outcomes import finished, outcome, waiting
from xnas.runs.comparison.outputs import PAGE, write_outputs
from xnas.runs.comparison.plan import (
    ComparedData,
    PlannedRun,
    asks_the_benchmark,
    planned_runs,
    require_new_names,
    require_spaces,
)
from xnas.runs.comparison.state_file import write_state
from xnas.runs.comparison.summaries import compared
from xnas.runs.comparison.underway import Underway
from xnas.runs.displays import Silence
from xnas.runs.sampling import worker_pools  # noqa: F401 - registers its pools
from xnas.runs.sampling.pools import POOLS
from xnas.runs.truth import Benchmark, load_benchmark
from xnas.space import Genotype

COMMAND = "compare"
METHOD_OF_CHANCE = "random"
"""The method that draws its cells; where nothing else is known of random cells, it stands for them."""
CHANCE = "what the entry random ended with, one supernet per seed"
Block = tuple[str, str]
"""Data and space."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A comparison that can be begun."""

    config: CompareConfig
    data: tuple[ComparedData, ...]
    entries: tuple[str, ...]
    reference: str
    runs: tuple[PlannedRun, ...]
    truths: Mapping[str, Benchmark]

    @classmethod
    def checked(cls, config: CompareConfig, given: Sequence[Any]) -> Plan:
        """Everything that can be refused is refused here, the cheapest first."""
        pool = POOLS[config.pool]
        if pool.workers is None:
            raise ConfigError(f"the pool {config.pool} evaluates cells alone; use another --pool")
        require_spaces(config)
        entries = entries_of(config)
        reference = reference_of(config, entries)
        require_seeds(config, entries, len(given) * len(config.spaces))
        truths = {space: load_benchmark(path, space) for space, path in config.truths.items()}
        data = compared_data(given, config)
        runs = planned_runs(config, entries, data)
        require_new_names(runs)
        require_possible(runs, {one.label: one for one in data})
        return cls(config, data, tuple(entry.name for entry in entries), reference, runs, truths)


class Player:
    """Performs the runs that are left, and writes what is known after each."""

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        display: CompareDisplay,
        reasons: Mapping[str, str],
    ) -> None:
        self.plan, self.folder, self.display = plan, folder.absolute(), display
        self.data = {one.label: one for one in plan.data}
        self.found: dict[str, ComparedRun] = {run.name: waiting(run) for run in plan.runs}
        for run in plan.runs:
            if run.name in reasons:
                self.found[run.name] = waiting(run, reasons[run.name])
            elif finished(run, self.folder):
                self.found[run.name] = self._outcome(run)
        self.random_means, self.random_words = self._random()
        self.underway = Underway(self.folder, ())
        self.random_entry = RANDOM if plan.config.train is not None else METHOD_OF_CHANCE

    def play(self) -> RunComparison:
        """Perform what is left, and write the tables."""
        config, left = (
            self.plan.config,
            [
                number
                for number, run in enumerate(self.plan.runs)
                if self.found[run.name].state != "done"
            ],
        )
        if left:
            (self.folder / PAGE).unlink(missing_ok=True)  # a page says that a comparison is finished
        write_state(self.folder, config, self.plan.data, self.comparison())
        self.display.begin(self.comparison(), left=len(left))
        self.underway = Underway(self.folder, [self.plan.runs[number] for number in left])
        if isinstance(self.display, Watches):
            self.display.watch(self.underway)
        with explain_lost_output(self._stopped), stop_at_round() as asked:
            try:
                self._perform(left, asked)
            except Interrupted:
                raise Interrupted(self._stopped()) from None
        result = self.comparison()
        write_outputs(self.folder, result)
        if config.report:
            self._report()
        return result

    def _report(self) -> None:
        """Write the page of the comparison, which is finished."""
        from xnas.runs.reports.write import Voice, write_at_end  # noqa: PLC0415 - draws, and reads this

        write_at_end(self.folder, self.display if isinstance(self.display, Voice) else Silence())

    def comparison(self) -> RunComparison:
        """What is known so far."""
        plan = self.plan
        return compared(
            [self.found[run.name] for run in plan.runs],
            entries=plan.entries,
            reference=plan.reference,
            measure=measure_of(plan.config),
            random_means=self.random_means or self._measured_random(),
            random_words=self.random_words,
            test=plan.config.test_kind if plan.config.test else None,
            notes=self._notes(),
        )

    def _notes(self) -> list[str]:
        """What a reader has to know of the accuracies."""
        notes = {truth.line for run in self.plan.runs if (truth := self._truth(run)) is not None}
        told = sorted(run.entry for run in self.plan.runs if asks_the_benchmark(run))
        if told:
            names = ", ".join(dict.fromkeys(told))
            notes.add(
                f"{names}: cells are looked up in the benchmark, which costs nothing here and took "
                "thousands of trainings once"
            )
        return sorted(notes)

    def _perform(self, left: Sequence[int], asked: Callable[[], bool]) -> None:
        config, runs = self.plan.config, self.plan.runs
        make = POOLS[config.pool].workers
        assert make is not None  # noqa: S101 - checked with the plan
        if not left:
            return
        workers = make(config.at_once, pick_device(config.device).type == "cuda")
        with workers:
            for number in left:
                data = self.data[runs[number].data]  # a job loads named images by itself
                workers.submit(
                    number, partial(perform, runs[number], self.folder, data.place or data.images)
                )
            for _ in left:
                number = workers.first(stopped=asked)
                try:
                    reason = workers.result(number, stopped=asked)
                except WorkerError as error:
                    reason = str(error)
                self._note(runs[number], reason)
                if asked():
                    raise Interrupted

    def _note(self, run: PlannedRun, reason: str | None) -> None:
        """Keep what became of a run."""
        self.found[run.name] = self._outcome(run) if reason is None else waiting(run, reason)
        self.underway.end(run.name)
        so_far = self.comparison()
        write_state(self.folder, self.plan.config, self.plan.data, so_far)
        self.display.after_run(self.found[run.name], so_far)

    def _outcome(self, run: PlannedRun) -> ComparedRun:
        try:
            return outcome(run, self.folder, self._truth(run))
        except XnasError as error:
            return waiting(run, str(error))

    def _truth(self, run: PlannedRun) -> Benchmark | None:
        truth = self.plan.truths.get(run.space)
        return None if truth is None else truth.on(run.data)

    def _random(self) -> tuple[dict[Block, float], str]:
        """The mean accuracy of random cells by a benchmark, and what they are in words."""
        config, means = self.plan.config, dict[Block, float]()
        for run in self.plan.runs:
            block, truth = (run.data, run.space), self._truth(run)
            if truth is not None and block not in means:
                cells = (Genotype.random(run.space, seed) for seed in range(config.random_cells))
                means[block] = fmean(truth.truth(cell).accuracy for cell in cells)
        if means:
            return means, f"{config.random_cells:,} cells drawn at random"
        if config.train is not None:
            return {}, "one random cell per seed, trained as the others"
        return {}, CHANCE if METHOD_OF_CHANCE in self.plan.entries else ""

    def _measured_random(self) -> dict[Block, float]:
        """The mean accuracy of the random cells that were trained so far, else of the entry `random`."""
        found: dict[Block, list[float]] = {}
        for run in self.found.values():
            if run.entry == self.random_entry and run.accuracy is not None:
                found.setdefault((run.data, run.space), []).append(run.accuracy)
        return {block: fmean(values) for block, values in found.items()}

    def _stopped(self) -> str:
        known = self.comparison()
        return (
            f"stopped after {known.done + known.failed} of {len(known.runs)} runs; resume with: xnas "
            f"{COMMAND} {flags({'resume': self.folder})}"
        )
