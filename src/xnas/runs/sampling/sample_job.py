"""The job of a search by sampling: sampler, evaluator and limits of one run, and what becomes of them.

What was asked and told is in ledger.jsonl before anything follows from it; resuming plays it to a fresh
sampler (`trial_ledger`). genotype.json, the best cell, is written last: its presence says that the
search is finished.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, fields
from typing import Any

from xnas.data import Images
from xnas.errors import ConfigError
from xnas.process.interrupt import Interrupted, stop_at_round
from xnas.process.output import explain_lost_output
from xnas.process.versions import made_with
from xnas.records import Sampled
from xnas.runs.cell_costs import Latencies
from xnas.runs.config_file import NAME as CONFIG
from xnas.runs.config_file import ConfigFile, read_json
from xnas.runs.displays import SampleDisplay
from xnas.runs.results import SampleResult
from xnas.runs.resume_command import ResumeCommand
from xnas.runs.run_folder import RunFolder
from xnas.runs.sampling import shared_evaluator, training_evaluator, worker_pools  # noqa: F401 - register theirs
from xnas.runs.sampling.benchmark_evaluators import SurrogateEvaluator, TableEvaluator
from xnas.runs.sampling.cell_limits import CellLimits
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.costs_file import NAME as COSTS
from xnas.runs.sampling.costs_file import CostsFile
from xnas.runs.sampling.evaluators import EVALUATORS, KnowsBudgets
from xnas.runs.sampling.image_batch import hand_images
from xnas.runs.sampling.ledger_values import require_possible
from xnas.runs.sampling.loop import Evaluated, SampleLoop
from xnas.runs.sampling.pools import POOLS
from xnas.runs.sampling.records import records_of
from xnas.runs.sampling.trial_ledger import NAME as LEDGER
from xnas.runs.sampling.trial_ledger import TrialLedger, replay
from xnas.runs.truth import Benchmark, JudgedCells, KnownCells, load_truth
from xnas.samplers import SAMPLERS, Remarks, Sampler, Trial
from xnas.space import encoding_of
from xnas.words import counted, printable

GENOTYPE = "genotype.json"
COMMAND = "sample"


class SampleJob:
    """One search: sampler, evaluator and limits, made of the options."""

    def __init__(
        self,
        config: SampleConfig,
        data: Images | str | None,
        display: SampleDisplay,
        times: Callable[[Latencies], Latencies] | None = None,
    ) -> None:
        """`data` is what the evaluator is built with; everything that cannot be used is refused here.

        `times` puts the latencies that a run has measured in place of new ones.
        """
        self.config, self.data, self.display = config, data, display
        self.kind, self.pool = SAMPLERS[config.sampler], POOLS[config.pool]
        encoding = encoding_of(config.space, tied=config.tied)
        settings = config.sampler_settings
        self.kind.checked(settings)
        _require_whole_cells(config)
        self.evaluator = EVALUATORS[config.evaluator].build(config, data)
        self.limits = CellLimits.of(config, self.evaluator, times)
        self.encoding = self.limits.applied(encoding)
        self.settings = self._planned() | settings
        self._require_budgets()
        self._require_enough_cells()
        self.sampler: Sampler = self.kind(self.encoding, config.seed, self.settings)
        hand_images(self.sampler, data, seed=config.seed)
        self.truth = self._benchmark()

    def _planned(self) -> dict[str, int]:
        """What the sampler wants to know of the run: how many evaluations, and of how many epochs."""
        config = self.config
        known = {"evaluations": config.evaluations, "max_epochs": config.epochs}
        wanted = {declared.name for declared in fields(self.kind.settings)}
        return {name: value for name, value in known.items() if name in wanted and value is not None}

    def _require_budgets(self) -> None:
        """Raise if the sampler will ask for epochs that the evaluator does not know."""
        if isinstance(self.evaluator, KnowsBudgets):
            for budget in self.kind.budgets(self.kind.checked(self.settings)):
                self.evaluator.require_budget(budget)

    def _require_enough_cells(self) -> None:
        """Raise if more evaluations are wanted than there are cells, each at every rung."""
        rungs = len(self.kind.budgets(self.kind.checked(self.settings)))
        cells = math.prod(self.encoding.cardinalities)
        if self.config.evaluations > cells * rungs:
            times = f", each with {counted(rungs, 'rung')}" if rungs > 1 else ""
            raise ConfigError(
                f"--evaluations must be at most {cells * rungs:,}, as the space {self.config.space} has "
                f"{cells:,} cells{times}, got {self.config.evaluations}"
            )

    def _benchmark(self) -> Benchmark | None:
        """What knows the best cell, for the report alone."""
        path, evaluator = self.config.truth, self.evaluator
        if path is None:
            return None
        if isinstance(evaluator, TableEvaluator):
            return KnownCells(evaluator.table, printable(path.name), evaluator.data)
        if isinstance(evaluator, SurrogateEvaluator):
            return JudgedCells(evaluator.judge, printable(path.name))
        return load_truth(path, self.config.space)

    def play(self, folder: RunFolder, saved: ConfigFile, changes: dict[str, Any]) -> SampleResult:
        """Evaluate what is left, and conclude."""
        config = self.config
        durable = EVALUATORS[config.evaluator].leaves_files
        ledger = TrialLedger(folder.path / LEDGER, folder.storage_errors, durable=durable)
        costs = CostsFile(folder.path / COSTS, folder.storage_errors)
        require_possible(ledger.events, self.evaluator, config.evaluator, ledger.path)
        replay(ledger.events, self.sampler, ledger.path, _writer(folder))
        if config.evaluations > saved.config.get("evaluations", config.evaluations):
            _raise_evaluations(folder, config.evaluations)
        loop = SampleLoop(
            self.sampler,
            ledger,
            self.limits.beyond,
            evaluations=config.evaluations,
            at_once=config.at_once,
            ordered=not config.unordered,
        )
        self._introduce(loop)

        def stopped() -> str:
            command = ResumeCommand(
                program="xnas",
                kind=COMMAND,
                path=folder.path,
                in_memory=saved.data is None,
                changes=changes,
            )
            return f"stopped after evaluation {loop.evaluated}; resume with: {command}"

        def after(one: Evaluated) -> None:
            costs.add(one.result)
            self.display.after_trial(one, loop)

        with explain_lost_output(stopped), folder.storage_errors(), stop_at_round() as asked:
            pool = self.pool.build(self.evaluator, folder.path / "trials", config.at_once)
            try:
                with closing(pool):
                    ended = loop.play(pool, stopped=asked, after=after)
            except Interrupted:
                ended = False
            if not ended:
                raise Interrupted(stopped())
            result = self._conclude(folder, loop, costs)
        if config.report:
            from xnas.runs.reports.write import write_at_end  # noqa: PLC0415 - what draws is needed now

            write_at_end(folder.path, self.display)
        return result

    def _introduce(self, loop: SampleLoop) -> None:
        config = self.config
        given = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        self.display.say(
            f"sampler {config.sampler} ({self.kind.summary}){': ' if given else ''}{given}; space "
            f"{config.space}, seed {config.seed}"
        )
        self.display.say(self.evaluator.line)
        if loop.told:
            self.display.say(f"resuming after evaluation {loop.evaluated}")

    def _conclude(self, folder: RunFolder, loop: SampleLoop, costs: CostsFile) -> SampleResult:
        """Write the curve, its figure and, last, the best cell."""
        loop.ledger.sync()
        _require_a_value(folder, loop)
        best = self._best(loop)
        records = records_of(loop.told, self.evaluator.size, costs.seconds())
        value = next(one.result.value for one in loop.told if one.trial.number == best.number)
        assert value is not None  # noqa: S101 - a failed trial is never the best
        cells = tuple(one.trial.genotype for one in loop.told if not one.refused)
        rows = [asdict(record) for record in records]
        remarks = self._remarks()
        self._warn_of_few_cells(loop, of_repeats="warning" not in remarks)
        curve = {"format": "xnas-curve", "version": 1, "evaluations": rows, "remarks": remarks}
        folder.write_json("curve.json", curve)
        _draw(records, folder, f"{self.config.sampler} on {self.config.space}")
        folder.write_text(GENOTYPE, best.genotype.to_json())
        return SampleResult(
            out=str(folder.path),
            genotype=best.genotype,
            value=value,
            evaluations=tuple(records),
            cells=cells,
            truth=None if self.truth is None else self.truth.truth(best.genotype),
        )

    def _best(self, loop: SampleLoop) -> Trial:
        """The best trial; with a limit on latency the best one whose network obeys it when measured."""
        if self.limits.costs.latencies is None:
            return self.sampler.best()
        done = [one for one in loop.told if one.result.value is not None]
        done.sort(key=lambda one: (-(one.trial.budget or 0), -(one.result.value or 0), one.trial.number))
        fault: str | None = ""
        for trial in (one.trial for one in done):
            fault = self.limits.measured_beyond(trial.genotype)
            if fault is None:
                return trial
            self.display.say(f"evaluation {trial.number} is passed over: measured, {fault}")
        raise ConfigError(
            f"none of the {len(done)} cells was measured within the limits; the last: {fault}. The "
            "machine may be busy: resume the run when it is idle, or begin another with a higher "
            "--max-latency"
        )

    def _warn_of_few_cells(self, loop: SampleLoop, *, of_repeats: bool) -> None:
        """Say that a search ended before its number of evaluations, or that most were of known cells."""
        sampler, done = self.config.sampler, loop.evaluated
        if done < loop.evaluations:
            within = f" within {self.limits.limits.words}" if self.limits.limits.most else ""
            self.display.warn(
                f"the search ended after {done} of {counted(loop.evaluations, 'evaluation')}: the "
                f"sampler {sampler} has no further cells{within} to ask"
            )
        trials = [one.trial for one in loop.told if not one.refused]
        different = len({(trial.genotype, trial.budget) for trial in trials})
        if of_repeats and 2 * different < done:
            self.display.warn(
                f"{counted(done, 'evaluation')} were of {counted(different, 'different cell')} alone: "
                f"the sampler {sampler} asks for cells again, and each time they are evaluated again; "
                "another one, such as local, bananas or npenas, would see more cells"
            )

    def _remarks(self) -> dict[str, float | str | None]:
        """What the sampler has to say, which the display also gets."""
        if not isinstance(self.sampler, Remarks):
            return {}
        remarks = dict(self.sampler.remarks())
        numbers = {name: value for name, value in remarks.items() if not isinstance(value, str)}
        if numbers:
            shown = (_remark(name, value) for name, value in numbers.items())
            self.display.say(f"sampler {self.config.sampler}: {'; '.join(shown)}")
        warning = remarks.get("warning")
        if isinstance(warning, str):
            self.display.warn(warning)
        return remarks


def _remark(name: str, value: float | None) -> str:
    """A number of a sampler in words: `rank correlation at step 2 0.329` for `rank_correlation_2`."""
    words = re.sub(r"_(\d+)$", r" at step \1", name).replace("_", " ")
    return f"{words} {'not defined' if value is None else f'{value:.3g}'}"


def _require_whole_cells(config: SampleConfig) -> None:
    """Raise if the sampler asks cells of fewer nodes, and the evaluator knows none of these."""
    smaller = config.space in SAMPLERS[config.sampler].smaller_cells
    if smaller and EVALUATORS[config.evaluator].whole_cells:
        raise ConfigError(
            f"the sampler {config.sampler} also asks cells of fewer nodes than the space {config.space} "
            f"has, which the evaluator {config.evaluator} cannot evaluate; use --evaluator train, or "
            "another --sampler"
        )


def _require_a_value(folder: RunFolder, loop: SampleLoop) -> None:
    """Raise if every evaluation failed, with the reason of the last one."""
    failed = [one for one in loop.told if not one.refused]
    if failed and all(one.result.value is None for one in failed):
        raise ConfigError(
            f"the search has no best cell: all of its {counted(len(failed), 'evaluation')} failed, the "
            f"last one with: {failed[-1].result.reason}; the reasons are in {folder.path / LEDGER}, so "
            "remove their cause and begin another search"
        )


def _raise_evaluations(folder: RunFolder, wanted: int) -> None:
    """Make a search that may be finished one of more evaluations; its answer is to be found again."""
    with folder.storage_errors():
        (folder.path / GENOTYPE).unlink(missing_ok=True)
    whole = read_json(folder.path / CONFIG)
    whole["config"]["evaluations"] = wanted
    folder.write_json(CONFIG, whole)


def _writer(folder: RunFolder) -> str:
    """The versions that began a run, in words; empty if they are those that resume it."""
    made, here = read_json(folder.path / CONFIG).get("made_with"), made_with()
    versions = made if isinstance(made, dict) else {}
    names = [name for name in ("xnas", "torch", "optuna") if name in versions]
    if names and all(versions[name] == here.get(name) for name in names):
        return ""
    return ", ".join(f"{name} {versions[name]}" for name in names) or "another version"


def _draw(records: list[Sampled], folder: RunFolder, title: str) -> None:
    """The figure of the evaluations, as SVG and PNG."""
    from xnas.report.figures import save_figure  # noqa: PLC0415 - imports matplotlib
    from xnas.report.sampling_figures import draw_evaluations  # noqa: PLC0415

    if any(record.value is not None for record in records):
        save_figure(draw_evaluations(records, title), folder.path / "figures", "evaluations")
