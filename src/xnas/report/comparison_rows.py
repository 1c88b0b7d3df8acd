"""The rows of a comparison as text, which its tables and its page share."""

from __future__ import annotations

from collections.abc import Sequence

from xnas.records import ComparedRun, Difference, EntrySummary, Measure, RunComparison
from xnas.words import counted, cut, listed

WORDS: dict[Measure, str] = {
    "true": "true accuracy",
    "judged": "judged accuracy",
    "trained": "test accuracy of the trained cell",
    "supernet": "validation accuracy of the search",
}
WELCH = "Intervals are Welch's at 95 % (unequal variances, his degrees of freedom), without correction."
PAIRED = "Intervals are Student's for the differences within seeds at 95 %, without correction."
LEAST_MINUTES = 0.01
GIB = 2**30
Table = tuple[list[str], list[list[str]]]
"""Header and rows."""


def accuracy_words(measure: Measure) -> str:
    """What is compared, in words."""
    return WORDS[measure]


def run_line(run: ComparedRun) -> str:
    """A run that has ended in one line for the terminal, which has the beginning of a long reason."""
    name = f"{run.entry}, seed {run.seed} on {run.data}, {run.space}"
    if run.state == "failed":
        return f"{name}: failed: {cut(run.reason or '')}"
    cost = "" if run.minutes is None else f" in {minutes_text(run.minutes)} min"
    return f"{name}: {percent(run.accuracy)} %{cost}"


def verdicts(found: RunComparison) -> list[str]:
    """What differs, one sentence for each data set and space."""
    if found.test is None:
        return []
    sentences = []
    for data, space in dict.fromkeys((d.data, d.space) for d in found.differences):
        own = [d for d in found.differences if (d.data, d.space) == (data, space)]
        apart = [f"{d.entry} ({signed(d.difference)} points)" for d in own if d.noise is False]
        alike = [d.entry for d in own if d.noise is True]
        untested = [d.entry for d in own if d.noise is None]
        parts = [f"{_differ(apart, found)} by more than noise"] * bool(apart)
        parts += [f"chance may explain how {_differ(alike, found)}"] * bool(alike)
        parts += [f"too few runs finished to test how {_differ(untested, found)}"] * bool(untested)
        sentences.append(f"On {data}, {space}: {'; '.join(parts)}.")
    return sentences


def _differ(names: Sequence[str], found: RunComparison) -> str:
    return f"{listed(names)} {'differs' if len(names) == 1 else 'differ'} from {found.reference}"


def how_tested(found: RunComparison) -> str:
    """Test, correction, intervals and effect size, in words."""
    if found.test is None:
        return f"Nothing was tested. {WELCH} g is the difference in pooled standard deviations (Hedges)."
    tests = sum(one.p is not None for one in found.differences)
    return (
        f"Test: {found.test}; p is adjusted by Holm's correction for {counted(tests, 'test')}. "
        f"{PAIRED if 'paired' in found.test else WELCH} g is the difference in pooled standard "
        "deviations (Hedges)."
    )


def summary_rows(found: RunComparison) -> Table:
    """A row for each entry on each data set and space: mean, spread, gains and cost."""
    several = len({(s.data, s.space) for s in found.summaries}) > 1
    random = any(s.over_random is not None for s in found.summaries)
    usual = any(s.over_default is not None for s in found.summaries)
    header = ["entry", *["data", "space"] * several, "runs", "mean ± std", "range"]
    header += ["over random"] * random
    header += [f"over {found.reference}", *["over xnas"] * usual, "device min", "GiB"]
    rows = []
    for s in found.summaries:
        row = [s.entry, *[s.data, s.space] * several, _counts(s), _mean(s), _range(s)]
        row += [signed(s.over_random)] * random
        row.append("" if s.entry == found.reference else signed(s.over_reference))
        row += ["" if s.entry == "xnas" else signed(s.over_default)] * usual
        row += ["" if s.minutes is None else minutes_text(s.minutes), _memory(s.memory_bytes)]
        rows.append(row)
    return header, rows


def difference_rows(found: RunComparison) -> Table:
    """A row for each entry that is compared with the reference."""
    several = len({(d.data, d.space) for d in found.differences}) > 1
    header = ["entry", *["data", "space"] * several, "points", "95 % interval", "g"]
    header += ["p", "p (Holm)", "more than noise"] * (found.test is not None)
    rows = []
    for d in found.differences:
        row = [d.entry, *[d.data, d.space] * several, signed(d.difference), _interval(d)]
        row.append(signed(d.hedges_g))
        if found.test is not None:
            row += [_p(d.p), _p(d.adjusted), {None: "", True: "no", False: "yes"}[d.noise]]
        rows.append(row)
    return header, rows


def run_rows(found: RunComparison) -> Table:
    """A row for each run, whatever became of it."""
    header = ["run", "seed", "accuracy", "device min", "cell"]
    rows = [
        [
            *[run.name, str(run.seed), percent(run.accuracy)],
            "" if run.minutes is None else minutes_text(run.minutes),
            f"failed: {run.reason}" if run.state == "failed" else run.cell or run.state,
        ]
        for run in found.runs
    ]
    return header, rows


def _counts(summary: EntrySummary) -> str:
    return f"{summary.runs}" + (f" ({summary.failed} failed)" if summary.failed else "")


def _mean(summary: EntrySummary) -> str:
    if summary.mean is None:
        return ""
    return percent(summary.mean) + ("" if summary.deviation is None else f" ± {summary.deviation:.2f}")


def _range(summary: EntrySummary) -> str:
    return "" if summary.least is None else f"{percent(summary.least)} to {percent(summary.most)}"


def _interval(difference: Difference) -> str:
    if difference.low is None:
        return ""
    return f"{signed(difference.low)} to {signed(difference.high)}"


def percent(value: float | None) -> str:
    """An accuracy in percent; empty for none."""
    return "" if value is None else f"{value:.2f}"


def signed(value: float | None) -> str:
    """A difference with its sign; empty for none."""
    return "" if value is None else f"{value:+.2f}"


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"


def minutes_text(value: float) -> str:
    """Minutes in two or three digits."""
    if value < LEAST_MINUTES:
        return f"< {LEAST_MINUTES}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _memory(value: int | None) -> str:
    return "" if value is None else f"{value / GIB:.2f}"
