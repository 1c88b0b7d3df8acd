"""The stages of a search as they will be played; most searches are one stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from xnas.errors import ConfigError
from xnas.methods import Stage
from xnas.nn.partial import require_divisible


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Neighbouring epochs."""

    first: int
    """From 0."""
    epochs: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StagePlan:
    """One stage, with nothing left open."""

    number: int
    """From 0."""
    span: Span
    cells: int
    channels: int
    partial_channels: int
    experts: int | None
    """With which each forecaster begins; None: all that are alive."""
    fresh_weights: bool
    fresh_method: bool
    weights_lr: float
    final_weights_lr: float | None
    rates: Span
    """Epochs over which the rate of the weights follows its schedule."""
    game: Span
    """Epochs that the stage's method plays, in several stages if it is kept."""
    game_stage: int
    """In which stage that method was made."""


def plan_stages(
    stages: Sequence[Stage],
    *,
    epochs: int,
    cells: int,
    channels: int,
    partial_channels: int,
    weights_lr: float,
    final_weights_lr: float | None,
    given: Sequence[str] = (),
) -> tuple[StagePlan, ...]:
    """Scale the stages to so many epochs; none is one stage of all.

    The sizes are those of the first stage. A stage changes those that are not among the `given` names,
    which the user has set for the whole search.
    """
    stages = stages or [Stage(epochs=epochs)]
    spans = _scaled([stage.epochs for stage in stages], epochs)
    sizes = {"cells": cells, "channels": channels, "partial_channels": partial_channels}
    rate, final = weights_lr, final_weights_lr
    rates = _spans_from(spans, _own_rate(stages))
    games = _spans_from(spans, _own_method(stages))
    plans = []
    for number, stage in enumerate(stages):
        changed = {name: getattr(stage, name) for name in sizes if name not in given}
        sizes |= {name: own for name, own in changed.items() if own is not None}
        require_divisible(sizes["channels"], sizes["partial_channels"])
        if number and stage.fresh_weights:
            rate, final = weights_lr, final_weights_lr
        rate = rate if stage.weights_lr is None else stage.weights_lr
        final = final if stage.final_weights_lr is None else stage.final_weights_lr
        game_stage = max(i for i in _own_method(stages) if i <= number)
        plans.append(
            StagePlan(
                number=number,
                span=spans[number],
                **sizes,
                experts=stage.experts,
                fresh_weights=stage.fresh_weights,
                fresh_method=stage.fresh_method,
                weights_lr=rate,
                final_weights_lr=final,
                rates=rates[number],
                game=games[number],
                game_stage=game_stage,
            )
        )
    return tuple(plans)


def _scaled(published: Sequence[int], epochs: int) -> list[Span]:
    """Spans of the stages, as long as published in proportion."""
    if epochs < len(published):
        raise ConfigError(
            f"a search in {len(published)} stages needs an epoch for each, got {epochs}; use more "
            "--epochs"
        )
    total = sum(published)
    ends = [round(epochs * end / total) for end in accumulate(published)]
    for index, end in enumerate(ends):  # none is empty
        before, after = ends[index - 1] if index else 0, len(ends) - 1 - index
        ends[index] = min(max(end, before + 1), epochs - after)
    firsts = [0, *ends[:-1]]
    return [Span(first=a, epochs=b - a) for a, b in zip(firsts, ends, strict=True)]


def _own_rate(stages: Sequence[Stage]) -> list[int]:
    """Stages with which a schedule of the rate begins."""
    later = enumerate(stages[1:], start=1)
    return [0, *(i for i, s in later if s.fresh_weights or s.weights_lr is not None)]


def _own_method(stages: Sequence[Stage]) -> list[int]:
    """Stages with which a method begins."""
    return [0, *(i for i, s in enumerate(stages[1:], start=1) if s.fresh_method)]


def _spans_from(spans: Sequence[Span], begins: Sequence[int]) -> list[Span]:
    """For each stage the span from the last beginning to the next one."""
    found = []
    for number in range(len(spans)):
        begin = max(i for i in begins if i <= number)
        end = min((i for i in begins if i > number), default=len(spans))
        epochs = sum(span.epochs for span in spans[begin:end])
        found.append(Span(first=spans[begin].first, epochs=epochs))
    return found
