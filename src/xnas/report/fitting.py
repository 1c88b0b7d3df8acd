"""The plan and the comparison of a fit, as tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xnas.records import FitPlan, FitRow, FitSummary
from xnas.records.fitting import Comparison
from xnas.report.tables import aligned_table
from xnas.words import counted

TITLES = {
    "found": "found cell",
    "published": "published cell",
    "random": "random cell",
    "resnet": "small ResNet",
    "pretrained": "pretrained",
}
BASELINES = {
    "random": "the random cell",
    "resnet": "the small ResNet",
    "pretrained": "the pretrained model",
}
WEIGHTS = "by the weights of the last epoch, which are exported"
"""Whose accuracies are compared: the best of many epochs on few images would flatter a network."""
SECONDS = "the seconds of the found cell have its search in them"
NAMES = {"found": "the found cell", "published": "the published cell"} | BASELINES
HEADER = ("", "network", "validation", "parameters", "MACs", "latency", "seconds")


def plan_table(plan: FitPlan) -> str:
    """What is going to happen, and why, one decision per line."""
    rows = [(one.subject, one.choice, one.reason) for one in plan.decisions]
    return aligned_table(("", "plan", "because"), rows, left=(0, 1, 2))


def fit_table(rows: Sequence[FitRow], missing: Mapping[str, str]) -> str:
    """The networks, the best first, and those that are missing, with the reason."""
    header, *cells = fit_rows(rows)
    table = aligned_table(header, cells, left=(0, 1))
    return "\n".join([table, *missing_lines(missing)])


def fit_rows(rows: Sequence[FitRow]) -> list[tuple[str, ...]]:
    """The header, and a row for each network, the best first."""
    return [HEADER, *(row_cells(row) for row in best_first(rows))]


def best_first(rows: Sequence[FitRow]) -> list[FitRow]:
    """The networks by validation accuracy; of equals the smaller first."""
    return sorted(rows, key=lambda row: (-row.accuracy, row.parameters))


def missing_lines(missing: Mapping[str, str]) -> list[str]:
    """A line for each row that is not there."""
    return [f"{TITLES[name]}: {reason}" for name, reason in missing.items()]


def accuracy_text(row: FitRow) -> str:
    """Validation accuracy with its interval, in percent."""
    return f"{100 * row.accuracy:.1f} % ({100 * row.lower:.1f}-{100 * row.upper:.1f})"


def verdict(summary: FitSummary) -> list[str]:
    """What the comparisons say, in sentences."""
    comparison, gain = summary.comparison, summary.gain
    winner, second = NAMES[comparison.first], NAMES[comparison.second]
    lead = f"as accurate as {second}"
    if comparison.lead:
        lead = f"{100 * comparison.lead:.1f} points before {second}"
    lines = [f"best by validation: {winner}, {lead} ({_test(comparison)})"]
    if not comparison.clear:
        lines.append("that is within noise: both may be equally good")
    if summary.behind is not None:
        test = "" if summary.behind == comparison else f" ({_test(summary.behind)})"
        lines.append(f"{_baseline(summary.behind)}{test}{_noise(summary.behind)}")
    if gain is not None:
        points = f"{100 * gain.lead:+.1f} points ({_test(gain)}){_noise(gain)}"
        lines.append(f"the found cell against the random one: {points}")
    return lines


def _baseline(pair: Comparison) -> str:
    """A baseline that is best by validation, against the cell that it is a baseline of."""
    says = "a baseline wins" if pair.clear else "a baseline comes first"
    better = f"{100 * pair.lead:.1f} points better than" if pair.lead else "as accurate as"
    return f"{says}: {NAMES[pair.first]} is {better} {NAMES[pair.second]}"


def _noise(pair: Comparison) -> str:
    return "" if pair.clear else ", which is within noise"


def _test(pair: Comparison) -> str:
    alone = f"{counted(pair.only_first, 'image')} only it answers rightly"
    return f"{alone}, {pair.only_second} only the other; p = {pair.p:.2g}, McNemar's exact test"


def row_cells(row: FitRow) -> tuple[str, ...]:
    """A line of the table."""
    return (
        TITLES[row.name],
        row.what,
        accuracy_text(row),
        f"{row.parameters:,}",
        f"{row.macs / 1e6:,.1f} M",
        f"{row.cost.latency.milliseconds:.2f} ms",
        f"{row.cost.seconds:,.0f}",
    )
