"""What every sampler keeps: numbers, open trials, results, the best one."""

from __future__ import annotations

from xnas.errors import ConfigError
from xnas.samplers.protocol import Result, Trial
from xnas.space.genotype import Genotype


class Book:
    """The trials of one sampler. It numbers them as they are asked, and takes each result once."""

    def __init__(self) -> None:
        self.asked = 0
        """How many trials were asked."""
        self.failed = 0
        """How many of the told ones failed."""
        self.open: dict[int, Trial] = {}
        """Trials that were asked and not told, by number."""
        self.told: list[tuple[Trial, Result]] = []
        """The others, in the order of telling."""

    def ask(self, genotype: Genotype, *, parent: int | None = None, budget: int | None = None) -> Trial:
        """Return the next trial, which is open now."""
        trial = Trial(number=self.asked, genotype=genotype, parent=parent, budget=budget)
        self.asked += 1
        self.open[trial.number] = trial
        return trial

    def accept(self, trial: Trial) -> None:
        """Open a trial that an earlier process asked."""
        if trial.number != self.asked:
            raise ConfigError(
                f"trial {trial.number} cannot be accepted: the next number is {self.asked}"
            )
        self.asked += 1
        self.open[trial.number] = trial

    def tell(self, result: Result) -> Trial:
        """Close a trial, and return it."""
        if result.number not in self.open:
            fault = "was told already" if 0 <= result.number < self.asked else "was never asked"
            raise ConfigError(f"trial {result.number} {fault}; tell each open trial once")
        trial = self.open.pop(result.number)
        self.told.append((trial, result))
        self.failed += result.state != "done"
        return trial

    def best(self) -> Trial:
        """Return the told trial of the largest value, the earlier one of equals.

        Where trials have budgets, it is one of the largest budget told: the learning rate falls over all
        epochs, so a training that was stopped early is not a shorter one, and values of different
        budgets cannot be compared.
        """
        done = [(trial, result.value) for trial, result in self.told if result.value is not None]
        if not done:
            raise ConfigError(
                f"no trial has a value yet: {len(self.told)} were told, of which {self.failed} failed; "
                "tell one that is done"
            )
        return max(done, key=lambda pair: (pair[0].budget or 0, pair[1], -pair[0].number))[0]
