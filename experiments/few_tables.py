"""The table of docs/results.md on every method with few images."""

from __future__ import annotations

from collections.abc import Sequence

from jobs import Record
from result_tables import Results, table_of_measured
from small_judges import cpu_seconds
from small_searches import declared

EPOCHS = (10, 20, 30, 50, 70, 100)
COUNTED_FROM = 20
"""The epoch from which on the least accuracy counts, as for guards."""
UNIFORM = 1 - 1e-8
"""Entropy of mixtures that have learned nothing."""
COMMAND = "python experiments/small_searches.py --size few --data-dir DIR --truth FILE"
HEADER = (
    "search",
    "seed",
    *(f"epoch {epoch}" for epoch in EPOCHS),
    f"least from epoch {COUNTED_FROM}",
    "skips at the end",
    "CPU time",
)


def methods_with_few_images(results: Results) -> str:
    """A row per search: the cell's true accuracy on the way, and how often it is a skip at the end."""
    jobs = declared("few")
    rows = [
        (f"`{job.variant}`", None if line is None else [f"`{job.variant}`", str(job.seed), *_row(line)])
        for job, line in ((job, results.of(job)) for job in jobs)
    ]
    return table_of_measured(results.measured(jobs), HEADER, rows, COMMAND)


def _row(line: Record) -> list[str]:
    epochs = line["epochs"]
    known = {epoch["epoch"]: epoch["true_accuracy"] for epoch in epochs if _has_chosen(epoch, epochs)}
    late = [accuracy for epoch, accuracy in known.items() if epoch >= COUNTED_FROM]
    skips = epochs[-1]["arch"].count("skip_connect")
    return [
        *(f"{known[epoch]:.2f}" if epoch in known else "—" for epoch in EPOCHS),
        f"{min(late):.2f}",
        f"{skips} of 6",
        f"{cpu_seconds(line):.0f} s",
    ]


def _has_chosen(epoch: Record, epochs: Sequence[Record]) -> bool:
    """Whether the cell of an epoch says something: a method that decides at its end has none before."""
    last = epoch["epoch"] == epochs[-1]["epoch"]
    return last or any(entropy < UNIFORM for entropy in epoch["entropy"].values())
