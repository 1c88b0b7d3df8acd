"""The protocol between a search and a sampler: ask for a cell, tell what it is worth, ask again.

    sampler = SAMPLERS["evolution"](encoding_of("nasbench201"), 0, {"population": 10})
    while (trial := sampler.ask()) is not None:
        sampler.tell(Result(number=trial.number, value=evaluate(trial.genotype), state="done"))

A sampler
- is deterministic in its seed and the sequence of asks and tells. It draws from a `random.Random` or a
  `torch.Generator` of its own, reads no clock, and knows neither evaluator nor pool;
- may be asked again while trials are open. It answers None while it waits for one of them to be told,
  and when it is finished, which it never is with nothing open and more to ask;
- computes on the CPU, in float64 where sums decide;
- reads `value` and `state` of a result alone: `cost` is for the record;
- makes no failed trial a parent or the answer.

A sampler of your own is a class with these four methods and an entry in `SAMPLERS`:

    @dataclass(frozen=True, kw_only=True)
    class MySettings(Options):
        rate: float = option(0.1, POSITIVE)
        '''Step of the update.'''

    SAMPLERS.add("mine", SamplerKind(MySampler, MySettings, "what it does, in a few words"))

`MySampler(encoding, seed, settings)` is what the entry calls; the class may keep its trials in a `Book`.
Settings are checked by their dataclass, and one that it does not know is refused by name. A field
`evaluations: int | None = None` is filled in by a run with the number that it plans, and `max_epochs`
with the epochs of an evaluation, if they are given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from reprlib import repr as brief
from typing import Any, Literal, Protocol, runtime_checkable

from torch import Tensor

from xnas.errors import ConfigError
from xnas.options import Options, flag_name
from xnas.registry import Registry, known_names
from xnas.space.encoding import Choices, Encoding
from xnas.space.genotype import Genotype

LARGEST_VALUE = 1e15
"""Of values that mean anything: sums and figures stay finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One cell to be evaluated."""

    number: int
    """0, 1, 2, ... in the order of asking."""
    genotype: Genotype
    budget: int | None = None
    """Epochs; None is all that the evaluator has. A larger budget of a cell that was asked before is a
    new trial, with that one as its parent."""
    parent: int | None = None
    """The trial that it was made from, for the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a trial."""

    number: int
    value: float | None
    """Validation accuracy as a share; None unless the trial is done."""
    state: Literal["done", "failed", "refused"]
    """A refused trial was not evaluated, because its cell is beyond a limit."""
    at: int | None = None
    """The epoch that it was measured at."""
    cost: Mapping[str, float] = field(default_factory=dict)
    """Seconds, parameters, macs: for the record, never for the sampler."""
    reason: str = ""
    """Why it failed or was refused, in one line."""

    def __post_init__(self) -> None:
        if (self.value is None) == (self.state == "done"):
            raise ConfigError(
                f"the result of trial {self.number} is {self.state!r} with the value {self.value}; a "
                "result that is done has a value, others have none"
            )
        if self.value is not None and not abs(self.value) < LARGEST_VALUE:
            raise ConfigError(
                f"the value of trial {self.number} is {brief(self.value)}; one that is not finite, or "
                f"has {LARGEST_VALUE:g} or more, has failed"
            )


class Sampler(Protocol):
    """Draws cells by what earlier ones were worth."""

    def ask(self) -> Trial | None:
        """Return the next trial; None if one has to be told first, or if the search is over."""

    def tell(self, result: Result) -> None:
        """Take the result of an open trial."""

    @property
    def finished(self) -> bool:
        """Whether nothing will be asked any more."""

    def best(self) -> Trial:
        """Return the told trial of the largest value, the earlier one of equals."""


@runtime_checkable
class Accepts(Protocol):
    """A sampler whose answers are dear: while a ledger is replayed, they need not be computed again."""

    def accept(self, trial: Trial) -> None:
        """Take `trial` as what `ask` would have returned now; the next `ask` then computes its own."""


class BeginsWith(Protocol):
    """A sampler that can be given the cells to ask first, such as the best of a zero-cost proxy."""

    def begin_with(self, cells: Sequence[Choices]) -> None:
        """Ask these cells, in this order, in place of as many random ones; before the first ask."""


@runtime_checkable
class Remarks(Protocol):
    """A sampler that has something to say for the record of a run."""

    def remarks(self) -> Mapping[str, float | str | None]:
        """Return what was found out so far, by name; a text under `warning` is for the user."""


@runtime_checkable
class TakesImages(Protocol):
    """A sampler that judges cells by networks that have seen nothing yet but one batch of images."""

    @property
    def wanted_images(self) -> int:
        """How many images it takes."""

    def use_images(self, images: Tensor) -> None:
        """Take standardised images (batch, channels, height, width) of the run; before the first ask."""


@dataclass(frozen=True, slots=True)
class SamplerKind:
    """An entry of `SAMPLERS`: how a sampler is made, and what it can be set to."""

    build: Callable[[Encoding, int, Any], Sampler]
    """Called with encoding, seed and an object of `settings`."""
    settings: type[Options]
    summary: str
    """What it does, in one line."""
    spaces: tuple[str, ...] | None = None
    """Names of the search spaces that it takes; None for all that have an encoding."""
    extendable: bool = True
    """Whether a search that was planned with fewer evaluations asks the same ones first."""
    smaller_cells: tuple[str, ...] = ()
    """Names of the spaces in which it also asks cells of fewer nodes than the space has."""
    budgets: Callable[[Any], Sequence[int | None]] = lambda _: (None,)
    """Gives the budgets of all trials that it may ask, from an object of `settings`."""

    def __call__(self, encoding: Encoding, seed: int, settings: Mapping[str, Any]) -> Sampler:
        """Return a sampler that was asked nothing yet."""
        if self.spaces is not None and encoding.space not in self.spaces:
            raise ConfigError(
                f"this sampler draws cells of the space {' or '.join(self.spaces)}, not of "
                f"{encoding.space}; choose another sampler or space"
            )
        return self.build(encoding, seed, self.checked(settings))

    def checked(self, settings: Mapping[str, Any]) -> Options:
        """Return settings as the object that the sampler reads; raises for what it does not know."""
        known = [declared.name for declared in fields(self.settings)]
        for name in settings:
            if name not in known:
                raise ConfigError(f"the sampler has no setting {name!r}; {known_names(name, known)}")
        try:
            return self.settings(**settings)
        except ConfigError as error:  # which names options as flags of their own
            raise ConfigError(_as_settings(str(error), known)) from error


def _as_settings(text: str, names: Sequence[str]) -> str:
    """A message with the place where settings are given, in place of flags that there are not."""
    for name in names:
        text = re.sub(rf"{flag_name(name)}(?![\w-])", f"the setting {name} of --settings", text)
    return text


SAMPLERS: Registry[SamplerKind] = Registry("sampler")
"""Samplers by name; add your own with `SAMPLERS.add`."""
