"""Tables of docs/results.md on fits: the rows of their comparisons, and how well their time held."""

from __future__ import annotations

from fits import IMAGES, SETS, Fit
from jobs import Record
from result_tables import NOTHING, Results, percent, table, table_of_measured

ROWS = {
    "found": "found cell",
    "published": "published cell",
    "random": "random cell",
    "resnet": "small ResNet",
    "pretrained": "pretrained",
}
JOBS = [job for jobs in SETS.values() for job in jobs]


def accuracies(results: Results) -> str:
    """One line per fit: validation accuracy of every row, the winner and its test accuracy."""
    header = ("data", "minutes", "seed", *ROWS.values(), "found minus random (p)", "best", "its test")
    known = [(job, results.of(job)) for job in JOBS]
    rows = [(_named(job), None if line is None else _accuracies(job, line)) for job, line in known]
    return table_of_measured(results.measured(JOBS), header, rows, COMMAND)


def times(results: Results) -> str:
    """One line per fit: how much of its time it took, on what, and what it searched."""
    header = ("data", "minutes", "seed", "took", "of its time", *STAGES, "search", "epochs", "command")
    known = [(job, results.of(job)) for job in JOBS]
    rows = [_times(job, line) for job, line in known if line is not None]
    return table(header, rows) if rows else f"N{NOTHING[1:]}."


STAGES = ("beginning", "search", "trainings", "end")
COMMAND = "python experiments/fits.py --set SET --data-dir DIR"


def _named(job: Fit) -> str:
    where = " on a GPU" if job.set == "gpu" else ""
    return f"`{job.data}`{where} for {job.minutes:g} minutes"


def _known(job: Fit) -> list[str]:
    where = " (GPU)" if job.set == "gpu" else f", {IMAGES:,} images" * job.in_folder
    return [f"{job.data}{where}", f"{job.minutes:g}", str(job.seed)]


def _accuracies(job: Fit, line: Record) -> list[str]:
    rows = {row["name"]: row for row in line["rows"]}
    gain = line["gain"]
    lead = f"{100 * gain['lead']:+.1f} ({gain['p']:.2g})" if gain else "—"
    return [
        *_known(job),
        *(_accuracy(rows.get(name)) for name in ROWS),
        lead,
        ROWS[line["winner"]],
        percent(line["test_accuracy"]),
    ]


def _accuracy(row: Record | None) -> str:
    if row is None:
        return "—"
    return f"{100 * row['accuracy']:.1f} ({100 * row['lower']:.1f} to {100 * row['upper']:.1f})"


def _times(job: Fit, line: Record) -> list[str]:
    stages = line["stages"]
    trained = sum(seconds for stage, seconds in stages.items() if stage not in STAGES)
    spent = [stages.get("beginning"), stages.get("search"), trained, stages.get("end")]
    epochs = ", ".join(f"{row['epochs']}" for row in line["rows"])
    space = line["space"] or "none"
    return [
        *_known(job),
        f"{line['seconds']:.0f} s" + _calls(line),
        f"{line['seconds'] / 60 / job.minutes:.0%}",
        *(_seconds(one) for one in spent),
        space,
        epochs,
        f"`{job.command}`",
    ]


def _calls(line: Record) -> str:
    return f" in {line['calls']} calls" if line["calls"] > 1 else ""


def _seconds(value: float | None) -> str:
    return "—" if value is None else f"{value:.0f} s"
