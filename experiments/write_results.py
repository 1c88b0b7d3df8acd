"""Write the tables of docs/results.md from results/*.jsonl; the prose around them stays.

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`. Jobs without a result are
there too and say so.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import search_tables
from jobs import ROOT, Record
from quick_accuracy import JOBS, Training
from result_tables import NOTHING, Results, gib, machines, percent, seconds_of, spread, table
from search_tables import true_accuracy
from searches import SETS

DOCUMENT = ROOT / "docs" / "results.md"
MARKED = re.compile(r"<!-- table: (?P<name>[\w-]+) -->\n.*?<!-- end of table -->", re.DOTALL)


@dataclass(frozen=True)
class Goal:
    """What a time setting is to reach with the cell `xnas` on CIFAR-10."""

    setting: str
    seconds: float
    accuracy: float | None = None
    """Test accuracy in percent; None where none was set."""


GOALS = (Goal("100 s", 100, 93.0), Goal("4 min", 240, 94.0), Goal("10 min", 600, 95.0))


def document(text: str, results: Results) -> str:
    """The text with all its tables made anew."""
    return MARKED.sub(lambda found: _marked(found["name"], results), text)


def _marked(name: str, results: Results) -> str:
    if name not in TABLES:
        raise SystemExit(f"no table called {name!r}; there are: {', '.join(TABLES)}")
    return f"<!-- table: {name} -->\n\n{TABLES[name](results)}\n\n<!-- end of table -->"


def _quick(results: Results) -> str:
    header = (
        "setting",
        "cell",
        "data",
        "seed",
        "epochs",
        "network",
        "test accuracy",
        "training accuracy",
        "training",
        "an epoch",
        "with imports",
        "memory",
        "command",
    )
    rows = [_quick_row(job, results.of(job)) for job in JOBS]
    return f"{machines(results.measured(JOBS))}\n\n{table(header, rows)}"


def _quick_row(job: Training, line: Record | None) -> list[str]:
    name, options = Path(job.cell).stem, job.options
    known = [job.setting, name, job.data, str(options["seed"]), str(options["epochs"])]
    if line is None:
        return [*known, "", NOTHING, "", "", "", "", "", f"`{job.command}`"]
    size = f"{line['cells']} cells, {line['channels']} channels, {line['parameters'] / 1e6:.2f} M"
    return [
        *known,
        f"{size}, batch {line['batch_size']}",
        percent(line["test_accuracy"]),
        percent(line["train_accuracy"]),
        seconds_of(line["train_seconds"]) + (f" in {line['calls']} calls" if line["calls"] > 1 else ""),
        seconds_of(line["epoch_seconds"]),
        seconds_of(line["process_seconds"]),
        gib(line["memory_bytes"]),
        f"`{job.command}`",
    ]


def _of_setting(setting: str) -> list[Training]:
    return [j for j in JOBS if (j.setting, j.cell, j.data) == (setting, "xnas", "cifar10")]


def _goals(results: Results) -> str:
    rows = []
    for goal in GOALS:
        jobs = _of_setting(goal.setting)
        lines = results.measured(jobs)
        times = [r["train_seconds"] for r in lines if r["train_seconds"] is not None]
        accuracies = [100 * r["test_accuracy"] for r in lines]
        rows.append(
            [
                goal.setting,
                f"{goal.seconds:.0f} s",
                f"{max(times):.1f} s" if times else NOTHING,
                "none set" if goal.accuracy is None else f"{goal.accuracy:.2f} %",
                spread(accuracies),
                f"{len(lines)} of {len(jobs)}",
            ]
        )
    header = ("setting", "time to take", "took at most", "accuracy to reach", "reached, %", "runs")
    return table(header, rows)


def _earlier(results: Results) -> str:
    """Lines of jobs that are declared no more, or with other settings now."""
    declared = {(j.name, j.command) for j in (*JOBS, *(j for jobs in SETS.values() for j in jobs))}
    rows = [
        [line["job"], _gave(line), f"`{line['command']}`"]
        for line in results.lines
        if (line["job"], line["command"]) not in declared
    ]
    return table(("job", "gave", "command"), rows) if rows else "None."


def _gave(line: Record) -> str:
    if "space" not in line:
        return f"test accuracy {percent(line['test_accuracy'])} in {seconds_of(line['train_seconds'])}"
    last = line["epochs"][-1]
    return f"epoch {last['epoch']}" + (f": true accuracy {true_accuracy(last)}" if last["truth"] else "")


TABLES: dict[str, Callable[[Results], str]] = {
    "goals": _goals,
    "quick": _quick,
    "first-epochs": search_tables.first_epochs,
    "rewards": search_tables.rewards,
    "full": search_tables.full,
    "wipeout": search_tables.wipeout,
    "darts": search_tables.darts,
    "earlier": _earlier,
}


def main(words: Sequence[str] | None = None) -> int:
    """Write the document, or check it."""
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if it would change")
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="folder of results")
    parser.add_argument("--document", type=Path, default=DOCUMENT, help="what to write")
    arguments = parser.parse_args(words)
    text = arguments.document.read_text(encoding="utf8")
    made = document(text, Results(arguments.results))
    if arguments.check:
        return int(made != text)
    arguments.document.write_text(made, encoding="utf8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
