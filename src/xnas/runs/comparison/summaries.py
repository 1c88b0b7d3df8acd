"""From runs to what they say: a summary per entry, and each entry compared with the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev

from xnas.records import ComparedRun, Difference, EntrySummary, Measure, RunComparison
from xnas.runs.comparison.statistics import LEVEL, TESTS, effect, holm

SUPERNETS = (
    "supernet accuracies do not compare across methods: a method whose supernet is more accurate need "
    "not find better cells; compare cells with --truth or --train"
)
DEFAULT = "xnas"
"""The entry of the method that a search has by default."""
Block = tuple[str, str]
"""Data and space."""


def compared(
    runs: Sequence[ComparedRun],
    *,
    entries: Sequence[str],
    reference: str,
    measure: Measure,
    random_means: Mapping[Block, float],
    random_words: str,
    test: str | None,
    notes: Sequence[str] = (),
) -> RunComparison:
    """The comparison of runs; `test` is the name of one, None for none."""
    blocks = list(dict.fromkeys((run.data, run.space) for run in runs))
    if measure == "supernet":
        test, notes = None, (*notes, SUPERNETS)
    summaries = [
        _summary(name, block, runs, reference, random_means)
        for block in blocks
        for name in entries
        if any(_is_of(run, name, block) for run in runs)
    ]
    found = [
        difference
        for block in blocks
        for name in entries
        if name != reference
        and (difference := _difference(name, reference, block, runs, test)) is not None
    ]
    return RunComparison(
        measure=measure,
        reference=reference,
        random_mean={f"{data}, {space}": mean for (data, space), mean in random_means.items()},
        random_words=random_words,
        test=None if test is None else TESTS[test].words,
        runs=tuple(runs),
        summaries=tuple(summaries),
        differences=tuple(_corrected(found)),
        notes=tuple(notes),
    )


def _summary(
    name: str,
    block: Block,
    runs: Sequence[ComparedRun],
    reference: str,
    random_means: Mapping[Block, float],
) -> EntrySummary:
    own = [run for run in runs if _is_of(run, name, block)]
    values = list(_values(own).values())
    others = list(_values([run for run in runs if _is_of(run, reference, block)]).values())
    mean = fmean(values) if values else None
    usual = _values([run for run in runs if reference != DEFAULT and _is_of(run, DEFAULT, block)])
    minutes = [run.minutes for run in own if run.minutes is not None and run.state == "done"]
    memory = [run.memory_bytes for run in own if run.memory_bytes is not None]
    random_mean = random_means.get(block)
    return EntrySummary(
        entry=name,
        data=block[0],
        space=block[1],
        runs=len(values),
        failed=sum(run.state == "failed" for run in own),
        mean=mean,
        deviation=stdev(values) if len(values) > 1 else None,
        least=min(values, default=None),
        most=max(values, default=None),
        over_random=None if mean is None or random_mean is None else mean - random_mean,
        over_reference=None if mean is None or not others else mean - fmean(others),
        minutes=fmean(minutes) if minutes else None,
        memory_bytes=max(memory, default=None),
        over_default=None if mean is None or not usual else mean - fmean(usual.values()),
    )


def _difference(
    name: str, reference: str, block: Block, runs: Sequence[ComparedRun], test: str | None
) -> Difference | None:
    """An entry compared with the reference; None where one of them has no finished run."""
    one = _values([run for run in runs if _is_of(run, name, block)])
    other = _values([run for run in runs if _is_of(run, reference, block)])
    paired = test is not None and TESTS[test].paired
    if paired:
        both = sorted(one.keys() & other.keys())
        one, other = ({seed: values[seed] for seed in both} for values in (one, other))
    if not one or not other:
        return None
    first, second = list(one.values()), list(other.values())
    size = effect(first, second, paired=paired)
    tested = test is not None and min(len(first), len(second)) > 1
    return Difference(
        entry=name,
        reference=reference,
        data=block[0],
        space=block[1],
        runs=(len(first), len(second)),
        difference=size.difference,
        low=size.low,
        high=size.high,
        hedges_g=size.hedges_g,
        p=TESTS[test].p(first, second) if tested and test is not None else None,
        adjusted=None,
        noise=None,
    )


def _corrected(found: Sequence[Difference]) -> list[Difference]:
    """Differences with p-values adjusted for all that were tested."""
    tested = [difference for difference in found if difference.p is not None]
    adjusted = dict(zip(map(id, tested), holm([d.p for d in tested if d.p is not None]), strict=True))
    return [
        difference
        if difference.p is None
        else replace(
            difference, adjusted=adjusted[id(difference)], noise=adjusted[id(difference)] > LEVEL
        )
        for difference in found
    ]


def _values(runs: Sequence[ComparedRun]) -> dict[int, float]:
    """The accuracies of finished runs, by seed."""
    return {run.seed: run.accuracy for run in runs if run.accuracy is not None and run.state == "done"}


def _is_of(run: ComparedRun, entry: str, block: Block) -> bool:
    return run.entry == entry and (run.data, run.space) == block
