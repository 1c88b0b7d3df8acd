"""A comparison as tables: for the terminal, in Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from xnas.records import ComparedRun, Difference, EntrySummary, Measure, RunComparison
from xnas.report.tables import aligned_table, markdown_table, markdown_text
from xnas.words import counted

WORDS: dict[Measure, str] = {
    "true": "true accuracy",
    "judged": "judged accuracy",
    "trained": "test accuracy of the trained cell",
    "supernet": "validation accuracy of the search",
}
LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}
GIB = 2**30


def accuracy_words(measure: Measure) -> str:
    """What is compared, in words."""
    return WORDS[measure]


def run_line(run: ComparedRun) -> str:
    """A run that has ended in one line."""
    name = f"{run.entry}, seed {run.seed} on {run.data}, {run.space}"
    if run.state == "failed":
        return f"{name}: failed: {run.reason}"
    cost = "" if run.minutes is None else f" in {_minutes(run.minutes)} min"
    return f"{name}: {_percent(run.accuracy)} %{cost}"


def summary_table(found: RunComparison) -> str:
    """The entries for the terminal."""
    header, rows = _summary_rows(found)
    return aligned_table(header, rows)


def difference_table(found: RunComparison) -> str:
    """Differences to the reference for the terminal."""
    header, rows = _difference_rows(found)
    return aligned_table(header, rows)


def verdicts(found: RunComparison) -> list[str]:
    """What differs, one sentence for each data set and space."""
    if found.test is None:
        return []
    sentences = []
    for data, space in dict.fromkeys((d.data, d.space) for d in found.differences):
        own = [d for d in found.differences if (d.data, d.space) == (data, space)]
        apart = [f"{d.entry} ({_signed(d.difference)} points)" for d in own if d.noise is False]
        alike = [d.entry for d in own if d.noise is True]
        untested = [d.entry for d in own if d.noise is None]
        parts = [f"more than noise is the difference of {', '.join(apart)}"] * bool(apart)
        parts += [f"chance may explain that of {', '.join(alike)}"] * bool(alike)
        parts += [f"too few runs finished to test {', '.join(untested)}"] * bool(untested)
        sentences.append(f"On {data}, {space}, compared with {found.reference}: {'; '.join(parts)}.")
    return sentences


def failures(found: RunComparison) -> list[str]:
    """The runs that failed, one line each."""
    return [run_line(run) for run in found.runs if run.state == "failed"]


def comparison_page(found: RunComparison, *, figures: Sequence[str] = ()) -> str:
    """The page comparison.md."""
    entries = list(dict.fromkeys(run.entry for run in found.runs))
    seeds = sorted({run.seed for run in found.runs})
    what = (
        f"{accuracy_words(found.measure).capitalize()} in percent, mean ± standard deviation over the "
        f"seeds {', '.join(map(str, seeds))}. {found.done} of {counted(len(found.runs), 'run')} "
        f"finished{f', {found.failed} failed' if found.failed else ''}."
    )
    parts = [
        f"# Comparison of {', '.join(map(markdown_text, entries))}",
        what,
        *[f"**Note.** {markdown_text(note[0].upper() + note[1:])}." for note in found.notes],
        markdown_table(*_escaped(_summary_rows(found))),
    ]
    if found.random_mean:
        parts.append(f"Random cells ({found.random_words}) have {_random_means(found)} on average.")
    if found.differences:
        parts += ["## Differences", _how_tested(found), *map(markdown_text, verdicts(found))]
        parts.append(markdown_table(*_escaped(_difference_rows(found))))
    parts += [f"![{accuracy_words(found.measure)}](figures/{name}.svg)" for name in figures]
    parts += ["## All runs", markdown_table(*_escaped(_run_rows(found)))]
    return "\n\n".join(parts) + "\n"


def comparison_csv(found: RunComparison) -> str:
    """One line per entry, data set and space; numbers are plain, unknown ones empty."""
    header = (
        *("entry", "data", "space", "runs", "failed", "mean", "deviation", "least", "most"),
        *("over_random", "over_reference", "minutes_per_run", "peak_memory_bytes"),
        *("reference", "difference_low", "difference_high", "hedges_g", "p", "p_holm"),
    )
    by_place = {(d.entry, d.data, d.space): d for d in found.differences}
    rows = []
    for s in found.summaries:
        d = by_place.get((s.entry, s.data, s.space))
        rows.append(
            (
                *(s.entry, s.data, s.space, s.runs, s.failed, s.mean, s.deviation, s.least, s.most),
                *(s.over_random, s.over_reference, s.minutes, s.memory_bytes),
                *((found.reference, d.low, d.high, d.hedges_g, d.p, d.adjusted) if d else [None] * 6),
            )
        )
    return _csv(header, rows)


def runs_csv(found: RunComparison) -> str:
    """One line per run."""
    header = (
        *("run", "entry", "data", "space", "seed", "state", "accuracy", "minutes", "memory_bytes"),
        *("cell", "reason"),
    )
    rows = [
        (
            *(r.name, r.entry, r.data, r.space, r.seed, r.state, r.accuracy, r.minutes, r.memory_bytes),
            *(r.cell, r.reason),
        )
        for r in found.runs
    ]
    return _csv(header, rows)


def comparison_latex(found: RunComparison) -> str:
    """The entries as a `tabular` with the rules of booktabs."""
    header, rows = _summary_rows(found)
    lines = [" & ".join(map(latex_text, row)) + r" \\" for row in (header, *rows)]
    columns = "l" + "r" * (len(header) - 1)
    how = latex_text(f"{accuracy_words(found.measure)} in percent, mean ± standard deviation over seeds")
    return "\n".join(
        [
            f"% {how}; needs \\usepackage{{booktabs}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def latex_text(text: str) -> str:
    """Text in which LaTeX finds no command."""
    plain = "".join(LATEX.get(c, c) for c in text)
    return plain.replace("±", r"$\pm$").replace("−", "$-$")


def _random_means(found: RunComparison) -> str:
    """Their accuracy, with data and space if there are several."""
    means = found.random_mean
    if len(means) == 1:
        return f"{next(iter(means.values())):.2f} %"
    return ", ".join(f"{value:.2f} % ({markdown_text(where)})" for where, value in means.items())


def _how_tested(found: RunComparison) -> str:
    if found.test is None:
        return "Nothing was tested: the intervals are those of Welch's t, without any correction."
    return (
        f"Test: {found.test}; p is adjusted by Holm's correction for {len(found.differences)} tests. "
        "Intervals are 95 % by Student's t, each by itself. g is the difference in pooled standard "
        "deviations (Hedges)."
    )


def _summary_rows(found: RunComparison) -> tuple[list[str], list[list[str]]]:
    several = len({(s.data, s.space) for s in found.summaries}) > 1
    random = any(s.over_random is not None for s in found.summaries)
    header = ["entry", *["data", "space"] * several, "runs", "mean ± std", "range"]
    header += ["over random"] * random
    header += [f"over {found.reference}", "device min", "GiB"]
    rows = []
    for s in found.summaries:
        row = [s.entry, *[s.data, s.space] * several, _counts(s), _mean(s), _range(s)]
        row += [_signed(s.over_random)] * random
        row.append("" if s.entry == found.reference else _signed(s.over_reference))
        row += ["" if s.minutes is None else _minutes(s.minutes), _memory(s.memory_bytes)]
        rows.append(row)
    return header, rows


def _difference_rows(found: RunComparison) -> tuple[list[str], list[list[str]]]:
    several = len({(d.data, d.space) for d in found.differences}) > 1
    header = ["entry", *["data", "space"] * several, "points", "95 % interval", "g"]
    header += ["p", "p (Holm)", "more than noise"] * (found.test is not None)
    rows = []
    for d in found.differences:
        row = [d.entry, *[d.data, d.space] * several, _signed(d.difference), _interval(d)]
        row.append(_signed(d.hedges_g))
        if found.test is not None:
            row += [_p(d.p), _p(d.adjusted), {None: "", True: "no", False: "yes"}[d.noise]]
        rows.append(row)
    return header, rows


def _run_rows(found: RunComparison) -> tuple[list[str], list[list[str]]]:
    header = ["run", "seed", "accuracy", "device min", "cell"]
    rows = [
        [
            *[run.name, str(run.seed), _percent(run.accuracy)],
            "" if run.minutes is None else _minutes(run.minutes),
            f"failed: {run.reason}" if run.state == "failed" else run.cell or run.state,
        ]
        for run in found.runs
    ]
    return header, rows


def _escaped(table: tuple[list[str], list[list[str]]]) -> tuple[list[str], list[list[str]]]:
    header, rows = table
    return [markdown_text(name) for name in header], [[markdown_text(c) for c in row] for row in rows]


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return re.sub(r"\r", "", text.getvalue())


def _counts(summary: EntrySummary) -> str:
    return f"{summary.runs}" + (f" ({summary.failed} failed)" if summary.failed else "")


def _mean(summary: EntrySummary) -> str:
    if summary.mean is None:
        return ""
    return _percent(summary.mean) + ("" if summary.deviation is None else f" ± {summary.deviation:.2f}")


def _range(summary: EntrySummary) -> str:
    return "" if summary.least is None else f"{_percent(summary.least)} to {_percent(summary.most)}"


def _interval(difference: Difference) -> str:
    if difference.low is None:
        return ""
    return f"{_signed(difference.low)} to {_signed(difference.high)}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}"


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"


def _minutes(value: float) -> str:
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _memory(value: int | None) -> str:
    return "" if value is None else f"{value / GIB:.2f}"
