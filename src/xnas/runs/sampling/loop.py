"""The loop of a search by sampling: ask, submit, wait, tell.

With W evaluations in parallel, trial n + W is asked when trials 0 to n were told, in that order. So what
is asked depends on the seed and W alone, not on the speed of machines. Without that order a result is
told as it comes. Every ask and tell is in the ledger before anything follows from it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xnas.errors import ConfigError
from xnas.process.interrupt import stopped_at_once
from xnas.runs.sampling.pools import Pool
from xnas.runs.sampling.trial_ledger import TrialLedger
from xnas.samplers import Result, Sampler, Trial
from xnas.space import Genotype

MOST_REFUSED = 1000
"""Cells beyond the limits that a sampler may ask in a row."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A trial that was told, with its result."""

    trial: Trial
    result: Result

    @property
    def refused(self) -> bool:
        """Whether it was beyond the limits, and so not evaluated."""
        return self.result.state == "refused"


class SampleLoop:
    """One search, from wherever its ledger ends."""

    def __init__(
        self,
        sampler: Sampler,
        ledger: TrialLedger,
        beyond: Callable[[Genotype], str | None],
        *,
        evaluations: int,
        at_once: int = 1,
        ordered: bool = True,
    ) -> None:
        """`sampler` was replayed to the end of the ledger; `beyond` says which limit a cell breaks."""
        self.sampler, self.ledger, self.beyond = sampler, ledger, beyond
        self.evaluations, self.at_once, self.ordered = evaluations, at_once, ordered
        self.told: list[Evaluated] = []
        """All trials that were told, in that order."""
        self.waiting: deque[Trial] = deque()
        """Those that were asked and not told, in order."""
        self._refusals: dict[int, str] = {}
        """Why a trial that waits is not evaluated, by number."""
        self._refused, self._in_a_row = 0, 0
        self._remember(event.content for event in ledger.events)

    @property
    def evaluated(self) -> int:
        """How many evaluations are told; failures count, refusals do not."""
        return len(self.told) - self._refused

    @property
    def complete(self) -> bool:
        """Whether as many evaluations were asked as there should be."""
        return self.evaluated + len(self.waiting) - len(self._refusals) >= self.evaluations

    def play(
        self,
        pool: Pool,
        *,
        stopped: Callable[[], bool] = lambda: False,
        after: Callable[[Evaluated], None] = lambda _: None,
    ) -> bool:
        """Evaluate until enough are told or the sampler is finished; False if `stopped` before that."""
        for trial in self.waiting:
            if trial.number not in self._refusals:
                pool.submit(trial)
        while True:
            halted = stopped()
            while not halted and len(self.waiting) < self.at_once and self._ask(pool):
                pass
            if not self.waiting and (self.complete or not halted):
                return True
            if halted:
                return False
            after(self._tell(pool))

    def _ask(self, pool: Pool) -> bool:
        """Ask for one more, and submit it; False if there is nothing to ask now."""
        if self.complete:
            return False
        with stopped_at_once():  # a sampler may plan for long
            trial = self.sampler.ask()
        if trial is None:
            return False
        self.ledger.ask(trial)
        self._open(trial)
        if trial.number not in self._refusals:
            pool.submit(trial)
        return True

    def _tell(self, pool: Pool) -> Evaluated:
        """Wait for the next result, and tell it; without the order, refusals come first."""
        number = self.waiting[0].number if self.ordered else next(iter(self._refusals), None)
        reason = self._refusals.get(number) if number is not None else None
        if number is not None and reason is not None:
            result = Result(number=number, value=None, state="refused", reason=reason)
        else:
            result = pool.result(number)
        self.ledger.tell(result)
        self.sampler.tell(result)
        return self._close(result)

    def _remember(self, contents: Iterable[Trial | Result]) -> None:
        for content in contents:
            if isinstance(content, Trial):
                self._open(content)
            else:
                self._close(content)

    def _open(self, trial: Trial) -> None:
        self.waiting.append(trial)
        reason = self.beyond(trial.genotype)
        if reason is not None:
            self._refusals[trial.number] = reason

    def _close(self, result: Result) -> Evaluated:
        trial = next(trial for trial in self.waiting if trial.number == result.number)
        self.waiting.remove(trial)
        self._refusals.pop(trial.number, None)
        evaluated = Evaluated(trial, result)
        self._refused += evaluated.refused
        self._in_a_row = self._in_a_row + 1 if evaluated.refused else 0
        self.told.append(evaluated)
        if self._in_a_row == MOST_REFUSED:
            raise ConfigError(
                f"the sampler asked {MOST_REFUSED:,} cells in a row that are beyond the limits, the "
                f"last because {result.reason}; raise the limits, or choose another sampler"
            )
        return evaluated
