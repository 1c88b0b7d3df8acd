"""Optuna's samplers and pruners: one adapter for TPE, successive halving, and Hyperband with TPE (BOHB).

A study in memory proposes cells, each number of the encoding a categorical parameter. A pruner is told
the value of a trial at every rung, a number of epochs, and says whether the cell is worth the next one.
The next rung is a trial of its own: the same cell, a larger budget, and the earlier trial as its parent.

Optuna's successive halving is the asynchronous form (arXiv 1810.05934): a cell is promoted immediately
if it is among the best 1 / `eta` of those that reached its rung before it. With Hyperband, a study draws
a cell's bracket from its own name and the cell's number, so the name is fixed here.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from random import Random
from typing import Any, Literal

from xnas.errors import ConfigError
from xnas.options import Options, at_least, option
from xnas.samplers.book import Book
from xnas.samplers.protocol import SAMPLERS, Result, SamplerKind, Trial
from xnas.space.encoding import Choices, Encoding
from xnas.space.genotype import Genotype
from xnas.space.limited_encoding import LimitedEncoding

STUDY = "xnas"  # Hyperband's brackets depend on it
MOST_PROPOSALS = 50
"""Proposals beyond the limits in a row, after which a cell within them is drawn."""


@dataclass(frozen=True, kw_only=True)
class OptunaSettings(Options):
    """A sampler and a pruner of Optuna."""

    proposals: Literal["tpe", "random"] = "tpe"
    """How cells are proposed: by tree-structured Parzen estimators, or uniformly."""
    startup: int = option(10, at_least(1))
    """Uniform cells before TPE has something to learn from."""
    multivariate: bool = False
    """Let TPE model all numbers of a cell together."""
    pruner: Literal["none", "halving", "hyperband"] = "none"
    """Stop cells early: not at all, by successive halving, or by Hyperband's brackets of it."""
    min_epochs: int = option(1, at_least(1))
    """Epochs of the first rung, with a pruner."""
    max_epochs: int = option(27, at_least(1))
    """Epochs of the last rung, with a pruner. Default: 27, or the run's epochs of an evaluation."""
    eta: int = option(3, at_least(2))
    """Factor between the epochs of two rungs; about one cell of so many is promoted."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.min_epochs > self.max_epochs:
            raise ConfigError(
                f"--min-epochs must be at most --max-epochs, got {self.min_epochs} and {self.max_epochs}"
            )

    @property
    def rungs(self) -> tuple[int | None, ...]:
        """Epochs of each rung; one rung of all that the evaluator has without a pruner.

        >>> OptunaSettings(pruner="halving", min_epochs=3, max_epochs=24, eta=2).rungs
        (3, 6, 12, 24)
        """
        if self.pruner == "none":
            return (None,)
        rungs = [self.min_epochs]
        while rungs[-1] < self.max_epochs:
            rungs.append(min(rungs[-1] * self.eta, self.max_epochs))
        return tuple(rungs)


@dataclass(frozen=True, kw_only=True)
class HalvingSettings(OptunaSettings):
    """Successive halving of uniform cells."""

    proposals: Literal["tpe", "random"] = "random"
    """How cells are proposed: by tree-structured Parzen estimators, or uniformly."""
    pruner: Literal["none", "halving", "hyperband"] = "halving"
    """Stop cells early: not at all, by successive halving, or by Hyperband's brackets of it."""


@dataclass(frozen=True, kw_only=True)
class BohbSettings(OptunaSettings):
    """Hyperband on cells that TPE proposes. It has one TPE a bracket, and each needs `startup` cells."""

    multivariate: bool = True
    """Let TPE model all numbers of a cell together, as BOHB does."""
    pruner: Literal["none", "halving", "hyperband"] = "hyperband"
    """Stop cells early: not at all, by successive halving, or by Hyperband's brackets of it."""


@dataclass(frozen=True, slots=True)
class _Climb:
    """A cell on its way up the rungs."""

    study_trial: Any
    genotype: Genotype
    rung: int
    parent: int | None


class OptunaSampler:
    """A study of Optuna, asked and told."""

    def __init__(self, encoding: Encoding, seed: int, settings: OptunaSettings) -> None:
        self.encoding, self.settings = encoding, settings
        self.book, self._draw = Book(), Random(seed)
        self._optuna = require_optuna()
        self._study = self._new_study(seed)
        category = self._optuna.distributions.CategoricalDistribution
        self._names = [position.name for position in encoding.positions]
        self._distributions = {
            name: category(tuple(range(values)))
            for name, values in zip(self._names, encoding.cardinalities, strict=True)
        }
        self._climbing: dict[int, _Climb] = {}
        """Of the open trials, by number."""
        self._promoted: deque[_Climb] = deque()

    def begin_with(self, cells: Sequence[Choices]) -> None:
        """Ask these cells, in this order, in place of as many proposals; before the first ask."""
        for cell in cells:
            with _quiet(self._optuna):
                self._study.enqueue_trial(dict(zip(self._names, cell, strict=True)))

    def ask(self) -> Trial:
        """Return the next rung of a cell that was promoted, or else the first of a new cell."""
        climb = self._promoted.popleft() if self._promoted else self._new_cell()
        trial = self.book.ask(
            climb.genotype, parent=climb.parent, budget=self.settings.rungs[climb.rung]
        )
        self._climbing[trial.number] = climb
        return trial

    def tell(self, result: Result) -> None:
        """Take the result of an open trial, and let the pruner judge it."""
        trial = self.book.tell(result)
        climb = self._climbing.pop(trial.number)
        states = self._optuna.trial.TrialState
        if result.value is None:
            self._study.tell(climb.study_trial, state=states.FAIL)
            return
        if trial.budget is not None:
            climb.study_trial.report(result.value, step=trial.budget)
        if climb.rung == len(self.settings.rungs) - 1:
            self._study.tell(climb.study_trial, result.value)
        elif climb.study_trial.should_prune():
            self._study.tell(climb.study_trial, state=states.PRUNED)
        else:
            above = _Climb(climb.study_trial, climb.genotype, climb.rung + 1, trial.number)
            self._promoted.append(above)

    @property
    def finished(self) -> bool:
        """Never."""
        return False

    def best(self) -> Trial:
        """Return the told trial of the largest value, the earlier one of equals, at the highest rung."""
        return self.book.best()

    def _new_cell(self) -> _Climb:
        """The next proposal within the limits; Optuna takes the others for worse than all."""
        proposed, choices = self._proposal()
        if not isinstance(self.encoding, LimitedEncoding):
            return _Climb(proposed, self.encoding.decode(choices), 0, None)
        for left in reversed(range(MOST_PROPOSALS)):
            if self.encoding.allows(choices):
                break
            self._study.tell(proposed, state=self._optuna.trial.TrialState.PRUNED)
            if left == 0:
                self.begin_with([self.encoding.draw(self._draw)])
            proposed, choices = self._proposal()
        return _Climb(proposed, self.encoding.decode(choices), 0, None)

    def _proposal(self) -> tuple[Any, Choices]:
        with _quiet(self._optuna):
            proposed = self._study.ask(self._distributions)
        return proposed, self.encoding.canonical([proposed.params[name] for name in self._names])

    def _new_study(self, seed: int) -> Any:  # noqa: ANN401 - Optuna has no place in our annotations
        samplers, pruners = self._optuna.samplers, self._optuna.pruners
        settings = self.settings
        with _quiet(self._optuna):
            if settings.proposals == "tpe":
                sampler = samplers.TPESampler(
                    seed=seed, n_startup_trials=settings.startup, multivariate=settings.multivariate
                )
            else:
                sampler = samplers.RandomSampler(seed=seed)
            if settings.pruner == "halving":
                pruner = pruners.SuccessiveHalvingPruner(
                    min_resource=settings.min_epochs, reduction_factor=settings.eta
                )
            elif settings.pruner == "hyperband":
                pruner = pruners.HyperbandPruner(
                    min_resource=settings.min_epochs,
                    max_resource=settings.max_epochs,
                    reduction_factor=settings.eta,
                )
            else:
                pruner = pruners.NopPruner()
            return self._optuna.create_study(
                study_name=STUDY, direction="maximize", sampler=sampler, pruner=pruner
            )


def require_optuna() -> Any:  # noqa: ANN401 - a module
    """Return Optuna, or raise a ConfigError that names the extra to install."""
    try:
        return import_module("optuna")
    except ImportError as error:
        raise ConfigError(
            f"this sampler is Optuna's, which cannot be imported ({error}); install it with pip install "
            "'xnas[optuna]', or choose another sampler"
        ) from error


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:  # noqa: ANN401 - a module
    """Without Optuna's log lines and its warnings of experimental settings."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)


for _name, _settings, _summary in (
    ("tpe", OptunaSettings, "Optuna's Parzen estimators"),
    ("halving", HalvingSettings, "Optuna's asynchronous successive halving"),
    ("bohb", BohbSettings, "Optuna's Hyperband with its TPE"),
):
    _kind = SamplerKind(OptunaSampler, _settings, _summary, budgets=attrgetter("rungs"))
    SAMPLERS.add(_name, _kind)
