"""The plan and the comparison of a fit, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xnas.records import FitPlan, FitRow
from xnas.report.tables import aligned_table

TITLES = {
    "found": "found cell",
    "published": "published cell",
    "random": "random cell",
    "resnet": "small ResNet",
    "pretrained": "pretrained",
}
HEADER = ("", "network", "validation", "parameters", "MACs", "latency", "seconds")


def plan_table(plan: FitPlan) -> str:
    """What is going to happen, and why, one decision per line."""
    rows = [(one.subject, one.choice, one.reason) for one in plan.decisions]
    return aligned_table(("", "plan", "because"), rows, left=(0, 1, 2))


def fit_table(rows: Sequence[FitRow], missing: Mapping[str, str]) -> str:
    """The networks, the best first, and those that are missing, with the reason."""
    header, *cells = fit_rows(rows)
    table = aligned_table(header, cells, left=(0, 1))
    return "\n".join([table, *(f"{TITLES[name]}: {reason}" for name, reason in missing.items())])


def fit_rows(rows: Sequence[FitRow]) -> list[tuple[str, ...]]:
    """The header, and a row for each network, the best first."""
    ordered = sorted(rows, key=lambda row: (-row.accuracy, row.parameters))
    return [HEADER, *map(_cells, ordered)]


def _cells(row: FitRow) -> tuple[str, ...]:
    return (
        TITLES[row.name],
        row.what,
        f"{100 * row.accuracy:.1f} % ({100 * row.lower:.1f}-{100 * row.upper:.1f})",
        f"{row.parameters:,}",
        f"{row.macs / 1e6:,.1f} M",
        f"{row.cost.latency.milliseconds:.2f} ms",
        f"{row.cost.seconds:,.0f}",
    )
