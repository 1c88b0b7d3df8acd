"""Tables in Markdown and plain text, from records."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from xnas.records import (
    Claim,
    DataCost,
    Entry,
    MethodCost,
    RoundCost,
    StepCost,
    Table,
    TrainStepCost,
    Verdict,
)
from xnas.words import counted, printable

Cost = TypeVar("Cost", StepCost, RoundCost, MethodCost, DataCost, TrainStepCost)
PLURALS: dict[Verdict, str] = {
    "holds": "hold",
    "holds in part": "hold in part",
    "does not hold": "do not hold",
}
"""What several claims do, by what one does; in the order in which they are listed."""


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; bars inside cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines)


def markdown_text(name: str) -> str:
    """A name as plain text in Markdown, where none of its characters is markup or HTML."""
    plain = printable(name).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]~$])", r"\\\1", plain)


def table_page(table: Table) -> str:
    """A table as a Markdown page; long numbers have thousands separators."""
    rows = [[_written(entry) for entry in row] for row in table.rows]
    note = f"\n\n{table.note}" if table.note else ""
    return f"# {table.title}\n\n{markdown_table(table.header, rows)}{note}\n"


def table_csv(table: Table) -> str:
    """A table as CSV with a header; numbers are plain, missing entries are empty."""
    text = io.StringIO()
    rows = [[_word(entry) if isinstance(entry, bool) else entry for entry in row] for row in table.rows]
    csv.writer(text, lineterminator="\n").writerows([table.header, *rows])
    return text.getvalue()


def _written(entry: Entry) -> str:
    if entry is None:
        return ""
    if isinstance(entry, bool):
        return _word(entry)
    if isinstance(entry, int):
        return f"{entry:,}"
    return f"{entry:.4g}" if isinstance(entry, float) else entry


def _word(fact: Entry) -> str:
    return "yes" if fact else "no"


def aligned_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)
) -> str:
    """A table for the terminal: the columns of `left` to the left, the others to the right."""
    lines = [[printable(cell) for cell in line] for line in (header, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]

    def row(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    return "\n".join(map(row, lines))


def count_verdicts(claims: Iterable[Claim]) -> str:
    """How many claims hold, as in `2 hold, 1 holds in part`; nothing if there are none."""
    count = Counter(claim.verdict for claim in claims)
    return ", ".join(
        f"{count[verdict]} {verdict if count[verdict] == 1 else plural}"
        for verdict, plural in PLURALS.items()
        if count[verdict]
    )


def claims_page(
    claims: Sequence[Claim], figures: Sequence[str], how: str, *, tables: Sequence[str] = ()
) -> str:
    """The page `claims.md`: every claim with what was measured and whether it holds."""
    count = f"Of {counted(len(claims), 'claim')}: {count_verdicts(claims)}." if claims else "No claims."
    rows = [(c.statement, c.where, c.measured, f"**{c.verdict}**") for c in claims]
    shown = [f"Tables: {', '.join(f'[{name}]({name}.md)' for name in tables)}"] if tables else []
    shown += [f"![{name}]({name}.png)" for name in figures]
    pictures = "\n\n".join(shown)
    return (
        "# What the paper claims, and what was measured\n\n"
        f"{how} Sections, equations, figures and tables are those of arXiv:1906.08031v1. {count}\n\n"
        f"{markdown_table(('claim', 'where', 'measured', 'verdict'), rows)}\n\n{pictures}\n"
    )


def _cost_table(
    costs: Sequence[Cost], columns: Mapping[str, Callable[[Cost], str]], *, left: Sequence[int] = (0,)
) -> str:
    """Costs for the terminal, one line per case; a column is its title and what it shows of a cost."""
    rows = [tuple(entry(cost) for entry in columns.values()) for cost in costs]
    return aligned_table(tuple(columns), rows, left=left)


def step_cost_table(costs: Sequence[StepCost]) -> str:
    """Costs of an optimizer step, with ratios to `ExpertsOptimizer` on the same mixtures."""
    return _cost_table(
        costs,
        {
            "one step of": lambda c: c.optimizer,
            "mixtures": lambda c: f"{c.mixtures}",
            "us (median)": lambda c: f"{c.microseconds:,.0f}",
            "quartiles": lambda c: f"{c.spread:,.0f}",
            "ratio": lambda c: f"{c.ratio:.2f}",
            "state bytes / mixture": lambda c: f"{c.state_bytes:,}",
        },
    )


def round_cost_table(costs: Sequence[RoundCost]) -> str:
    """Costs of a round, with ratios to the first case: the plain round with all experts."""
    table = _cost_table(
        costs,
        {
            "left": lambda c: c.case,
            "backend": lambda c: f"{c.backend}, {c.precision}",
            "experts": lambda c: f"{c.experts}",
            "weights": lambda c: f"{c.weights:,}",
            "ms/round": lambda c: f"{c.milliseconds:,.1f}",
            "quartiles": lambda c: f"{c.spread:,.1f}",
            "ratio": lambda c: f"{c.milliseconds / costs[0].milliseconds:.2f}",
            "MiB": lambda c: f"{c.memory_bytes / 2**20:,.0f}",
            "method": lambda c: "" if c.method_share is None else f"{100 * c.method_share:.1f} %",
        },
        left=(0, 1),
    )
    return f"{costs[0].device}\n{table}"


def method_cost_table(costs: Sequence[MethodCost]) -> str:
    """Costs of a round of each method, with ratios to the first one; failures follow as lines."""
    measured = [cost for cost in costs if cost.failure is None]
    failed = [f"{cost.method}: {cost.failure}" for cost in costs if cost.failure is not None]
    first = costs[0].milliseconds
    table = _cost_table(
        measured,
        {
            "method": lambda c: c.method,
            "backend": lambda c: f"{c.backend}, {c.precision}",
            "ms/round": lambda c: f"{c.milliseconds:,.1f}",
            "quartiles": lambda c: f"{c.spread:,.1f}",
            "ratio": lambda c: f"{c.milliseconds / first:.2f}" if first else "",
            "rounds that learn": lambda c: f"{100 * c.learning_share:.0f} %",
            "MiB": lambda c: f"{c.memory_bytes / 2**20:,.0f}",
        },
        left=(0, 1),
    )
    return "\n".join([costs[0].device, table, *failed])


def data_cost_table(costs: Sequence[DataCost]) -> str:
    """Costs of augmented batches, with ratios to torchvision's with one worker."""
    table = _cost_table(
        costs,
        {
            "batches by": lambda c: c.case,
            "images": lambda c: f"{c.images:,}",
            "ms (median)": lambda c: f"{c.milliseconds:,.2f}",
            "quartiles": lambda c: f"{c.spread:,.2f}",
            "images/s": lambda c: f"{1000 * c.images / c.milliseconds:,.0f}",
            "x one worker": lambda c: "" if c.ratio is None else f"{c.ratio:.2f}",
        },
    )
    return f"{costs[0].device}\n{table}"


def train_cost_table(costs: Sequence[TrainStepCost]) -> str:
    """Costs of a training step, with ratios to the plain one."""
    table = _cost_table(
        costs,
        {
            "step": lambda c: c.case,
            "ms": lambda c: f"{c.milliseconds:,.1f}",
            "quartiles": lambda c: f"{c.spread:,.1f}",
            "ratio": lambda c: f"{c.milliseconds / costs[0].milliseconds:.2f}",
            "MiB": lambda c: f"{c.memory_bytes / 2**20:,.0f}",
            "s before it": lambda c: f"{c.preparation:.0f}",
        },
    )
    return f"{costs[0].device}\n{table}"
