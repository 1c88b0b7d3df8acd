"""NASNet's controller: a policy that draws cells and learns from rewards (Zoph et al., 2017 and 2018).

`controller="lstm"` is the published one: an LSTM with one softmax per choice, improved by PPO on
minibatches of architectures (Zoph et al., 2018, appendix A). `controller="logits"` is its plain twin,
one row of logits per choice and REINFORCE after every result, as in the scripts of NAS-Bench-201.

The published rate of 0.00035 and minibatch of 20 are for 20,000 evaluations: a search of 300 makes 15
small steps with them and differs little from random search. The defaults suit some hundreds of
evaluations, and `learning_rate=0.00035, minibatch=20` is the published search.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

import torch

from xnas.options import NOT_NEGATIVE, POSITIVE, SHARE, Options, at_least, option
from xnas.samplers.book import Book
from xnas.samplers.policy import (
    CorrectedAverage,
    Judged,
    LogitsPolicy,
    MovingAverage,
    RecurrentPolicy,
    draw,
    judge,
    ppo_loss,
    recurrent_policy,
    reinforce_loss,
)
from xnas.samplers.protocol import SAMPLERS, Result, SamplerKind, Trial
from xnas.space.encoding import Choices, Encoding
from xnas.space.limited_encoding import LimitedEncoding

# Departure: the published rate is 0.00035 and the minibatch 20, see above.
LSTM_RATE, LSTM_MINIBATCH, LSTM_MOMENTUM = 0.01, 10, 0.95
# Departure: the scripts of NAS-Bench-201 have had rates of 0.001, 0.01 and 0.5. At 0.5 the policy
# settles on few cells within 100 evaluations, at 0.01 it hardly moves.
LOGITS_RATE, LOGITS_MOMENTUM = 0.05, 0.9

RECENT = 50
"""Cells asked last, among which distinct ones are counted."""
FEW = 10
"""Distinct ones of `RECENT` below which the policy has collapsed."""
MOST_DRAWS = 50
"""Draws of the policy, all beyond the limits, after which a cell within them is drawn uniformly."""


@dataclass(frozen=True, kw_only=True)
class ControllerSettings(Options):
    """How the controller learns; some defaults depend on its kind."""

    controller: Literal["lstm", "logits"] = "lstm"
    """`lstm` learns by PPO from minibatches, `logits` by REINFORCE from every result."""
    learning_rate: float | None = option(None, POSITIVE)
    """Of Adam: 0.01 for `lstm` (published: 0.00035), 0.05 for `logits`."""
    momentum: float | None = option(None, SHARE)
    """Of the moving average of rewards that is the baseline: 0.95 for `lstm`, 0.9 for `logits`."""
    minibatch: int = option(LSTM_MINIBATCH, at_least(1))
    """Results per update of `lstm` (published: 20). It waits for all before it asks again."""
    passes: int = option(1, at_least(1))
    """Updates of `lstm` from one minibatch. The paper does not state it."""
    clip: float = option(0.2, POSITIVE, SHARE)
    """PPO's ratio is clipped to 1 ± this, for `lstm`. The paper does not state it."""
    entropy_weight: float = option(1e-5, NOT_NEGATIVE)
    """Weight of the entropy bonus of `lstm`."""
    hidden: int = option(100, at_least(1))
    """Units of the LSTM."""


class Controller:
    """Cells drawn from a policy that learns which of them are rewarded."""

    def __init__(self, encoding: Encoding, seed: int, settings: ControllerSettings) -> None:
        self.encoding, self.settings, self.book = encoding, settings, Book()
        self.recurrent = settings.controller == "lstm"
        self._draws, self._draw_within = torch.Generator().manual_seed(seed), Random(seed)
        cardinalities, momentum = encoding.cardinalities, settings.momentum
        self.policy: RecurrentPolicy | LogitsPolicy
        self._baseline: MovingAverage | CorrectedAverage
        if self.recurrent:
            self.policy = recurrent_policy(cardinalities, self._draws, hidden=settings.hidden)
            self._baseline = MovingAverage(LSTM_MOMENTUM if momentum is None else momentum)
        else:
            self.policy = LogitsPolicy(cardinalities, self._draws)
            self._baseline = CorrectedAverage(LOGITS_MOMENTUM if momentum is None else momentum)
        rate = settings.learning_rate or (LSTM_RATE if self.recurrent else LOGITS_RATE)
        self._adam = torch.optim.Adam(self.policy.parameters(), lr=rate)
        self._asked: dict[int, Judged] = {}
        self._rewarded: list[tuple[Judged, float]] = []
        self._told = 0
        self._recent: deque[Choices] = deque(maxlen=RECENT)

    @property
    def minibatch(self) -> int:
        """Results per update."""
        return self.settings.minibatch if self.recurrent else 1

    def ask(self) -> Trial | None:
        """Return the next trial; None while `lstm` waits for the last results of a minibatch."""
        if self.recurrent and len(self._asked) + self._told == self.minibatch:
            return None
        drawn = self._within_limits()
        choices = tuple(drawn.choices[0].tolist())
        trial = self.book.ask(self.encoding.decode(choices))
        self._asked[trial.number] = drawn
        self._recent.append(self.encoding.canonical(choices))
        return trial

    def tell(self, result: Result) -> None:
        """Take the result of an open trial, and learn once a minibatch is complete."""
        drawn = self._asked.pop(self.book.tell(result).number)
        self._told += 1
        if result.value is not None:
            self._rewarded.append((drawn, self._baseline.advantage(result.value)))
        if self._told == self.minibatch:
            self._learn()

    @property
    def finished(self) -> bool:
        """Never."""
        return False

    def best(self) -> Trial:
        """Return the told trial of the largest value, the earlier one of equals."""
        return self.book.best()

    def remarks(self) -> Mapping[str, float | str | None]:
        """How many of the last cells are distinct, and a warning if the policy has collapsed."""
        distinct = len(set(self._recent))
        found: dict[str, float | str | None] = {
            "recently_asked": len(self._recent),
            "distinct": distinct,
        }
        if len(self._recent) == RECENT and distinct < FEW:
            found["warning"] = (
                f"the controller has collapsed: of the last {RECENT} cells only {distinct} are "
                "distinct; lower learning_rate, or raise entropy_weight"
            )
        return found

    def _within_limits(self) -> Judged:
        """A cell drawn from the policy; within limits the first that obeys them of so many draws.

        If none does, a cell within the limits is drawn uniformly. The policy learns nothing from draws
        beyond them, which were never rewarded.
        """
        if not isinstance(self.encoding, LimitedEncoding):
            return draw(self.policy, self._draws)
        for choices in draw(self.policy, self._draws, batch=MOST_DRAWS).choices:
            if self.encoding.allows(choices.tolist()):
                break
        else:
            choices = torch.tensor(self.encoding.draw(self._draw_within))
        with torch.no_grad():
            return judge(self.policy, choices[None])

    def _learn(self) -> None:
        """Update the policy from what was told since the last update; failed trials teach nothing."""
        batch, self._rewarded, self._told = self._rewarded, [], 0
        if not batch:
            return
        choices = torch.cat([drawn.choices for drawn, _ in batch])
        # With others in flight the policy may have changed since it drew these.
        when_asked = torch.cat([drawn.log_probability for drawn, _ in batch])
        advantage = torch.tensor([advantage for _, advantage in batch], dtype=torch.float64)
        for _ in range(self.settings.passes if self.recurrent else 1):
            self._adam.zero_grad()
            now = judge(self.policy, choices)
            loss = (
                ppo_loss(
                    now.log_probability,
                    when_asked,
                    advantage,
                    now.entropy,
                    clip=self.settings.clip,
                    entropy_weight=self.settings.entropy_weight,
                )
                if self.recurrent
                else reinforce_loss(now.log_probability, advantage)
            )
            loss.backward()  # type: ignore[no-untyped-call]
            self._adam.step()


SAMPLERS.add(
    "controller",
    SamplerKind(
        Controller, ControllerSettings, "NASNet's: a policy, an LSTM or logits, by its gradient"
    ),
)
