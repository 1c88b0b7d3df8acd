"""A comparison as tables: for the terminal, in Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from xnas.records import RunComparison
from xnas.report.comparison_rows import (
    accuracy_words,
    difference_rows,
    how_tested,
    run_line,
    run_rows,
    summary_rows,
    verdicts,
)
from xnas.report.tables import aligned_table, markdown_table, markdown_text
from xnas.words import counted

LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}


def summary_table(found: RunComparison) -> str:
    """The entries for the terminal."""
    header, rows = summary_rows(found)
    return aligned_table(header, rows)


def difference_table(found: RunComparison) -> str:
    """Differences to the reference for the terminal."""
    header, rows = difference_rows(found)
    return aligned_table(header, rows)


def failures(found: RunComparison) -> list[str]:
    """The runs that failed, one line each."""
    return [run_line(run) for run in found.runs if run.state == "failed"]


def comparison_markdown(found: RunComparison, *, charts: Sequence[tuple[str, str]] = ()) -> str:
    """The page comparison.md; `charts` are names of its figures, with their titles."""
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
        markdown_table(*_escaped(summary_rows(found))),
    ]
    if found.random_mean:
        parts.append(f"Random cells ({found.random_words}) have {_random_means(found)} on average.")
    if found.differences:
        parts += ["## Differences", how_tested(found), *map(markdown_text, verdicts(found))]
        parts.append(markdown_table(*_escaped(difference_rows(found))))
    parts += [f"![{title}](figures/{name}.svg)" for name, title in charts]
    parts += ["## All runs", markdown_table(*_escaped(run_rows(found)))]
    return "\n\n".join(parts) + "\n"


def comparison_csv(found: RunComparison) -> str:
    """One line per entry, data set and space; numbers are plain, unknown ones empty."""
    header = (
        *("entry", "data", "space", "runs", "failed", "mean", "deviation", "least", "most"),
        *("over_random", "over_reference", "over_default", "minutes_per_run", "peak_memory_bytes"),
        *("reference", "difference_low", "difference_high", "hedges_g", "p", "p_holm"),
    )
    by_place = {(d.entry, d.data, d.space): d for d in found.differences}
    rows = []
    for s in found.summaries:
        d = by_place.get((s.entry, s.data, s.space))
        rows.append(
            (
                *(s.entry, s.data, s.space, s.runs, s.failed, s.mean, s.deviation, s.least, s.most),
                *(s.over_random, s.over_reference, s.over_default, s.minutes, s.memory_bytes),
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
    header, rows = summary_rows(found)
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


def _escaped(table: tuple[list[str], list[list[str]]]) -> tuple[list[str], list[list[str]]]:
    header, rows = table
    return [markdown_text(name) for name in header], [[markdown_text(c) for c in row] for row in rows]


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return re.sub(r"\r", "", text.getvalue())
