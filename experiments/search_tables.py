"""Tables of searches: paths of true accuracy, rewards, what wiping out saves, cells found."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from jobs import Record
from result_tables import NOTHING, Results, gib, machines, seconds_of, spread, table
from searches import SETS, SearchJob

SHOWN_EPOCHS = (5, 10, 20, 30, 40, 50)


def _searches(results: Results, jobs: Sequence[SearchJob]) -> list[tuple[SearchJob, Record | None]]:
    return [(job, results.of(job)) for job in jobs]


def true_accuracy(epoch: Record) -> str:
    """The true accuracy of an epoch's cell, without and with `none`."""
    truth = epoch["truth"]
    other = truth["test_200_with_none"]
    return f"{truth['test_200']:.2f}" + ("" if other is None else f" / {other:.2f}")


def _called(job: SearchJob) -> str:
    return f"{job.variant}, seed {job.options['seed']}"


def _costs(epochs: Sequence[Record]) -> list[str]:
    a_round = statistics.median(e["cost"]["seconds_per_round"] for e in epochs)
    return [f"{1000 * a_round:.1f} ms", gib(max(e["cost"]["memory_bytes"] for e in epochs))]


def first_epochs(results: Results) -> str:
    """True accuracy by epoch, then the cells that were reached."""
    jobs = SETS["first-epochs"]
    most = max(job.epochs for job in jobs)
    rows = [
        [
            _called(job),
            *(NOTHING if line is None else true_accuracy(line["epochs"][e]) for e in range(most)),
        ]
        for job, line in _searches(results, jobs)
    ]
    path = table(["search", *(f"epoch {e + 1}" for e in range(most))], rows)
    header = (
        "search",
        "cell after the last epoch",
        "rank",
        "entropy",
        "skips",
        "a round",
        "memory",
    )
    ends = [_end(job, line) for job, line in _searches(results, jobs)]
    commands = "\n".join(f"- {_called(job)}: `{job.command}`" for job in jobs)
    parts = (machines(results.measured(jobs)), path, table(header, ends), commands)
    return "\n\n".join(parts)


def _end(job: SearchJob, line: Record | None) -> list[str]:
    if line is None:
        return [_called(job), NOTHING, "", "", "", "", ""]
    last = line["epochs"][-1]
    return [
        _called(job),
        "`" + last["truth"]["arch"].replace("|", "\\|") + "`",
        f"{last['truth']['rank']:,}",
        _by_kind(last["entropy"], "{:.3f}"),
        _skips(last),
        *_costs(line["epochs"]),
    ]


def _skips(epoch: Record) -> str:
    """How many of the edges of the cell that is shown are skip connections."""
    arch = epoch["truth"]["arch"]
    return f"{arch.count('skip_connect~')} of {arch.count('~')}"


def _by_kind(values: dict[str, float], form: str) -> str:
    return ", ".join(form.format(v) for v in values.values())


def rewards(results: Results) -> str:
    """Mean rewards of the first and the last epoch played, by operation and stage."""
    lines = results.measured(SETS["first-epochs"])
    if not lines:
        return machines(lines)
    operations = sorted({op for r in lines for op in r["epochs"][0]["rewards"]["normal"]})
    rows = []
    for line in lines:
        first, last = line["epochs"][0], line["epochs"][-1]
        stages = {"all": (first["rewards"]["normal"], last["rewards"]["normal"])}
        by_stage = [epoch["rewards_by_stage"].get("normal", {}) for epoch in (first, last)]
        stages |= {str(int(s) + 1): (by_stage[0][s], by_stage[1][s]) for s in by_stage[0]}
        for stage, (before, after) in stages.items():
            told = (f"{before[op]:+.4f}, {after[op]:+.4f}" if op in after else "—" for op in operations)
            rows.append([f"{line['variant']}, seed {line['seed']}", stage, *told])
    return table(["search", "stage", *operations], rows)


def full(results: Results) -> str:
    """True accuracy along whole searches, then means over seeds."""
    jobs = SETS["full"]
    rows = []
    for job, line in _searches(results, jobs):
        if line is None:
            rows.append([_called(job), NOTHING, *[""] * (len(SHOWN_EPOCHS) + 4)])
            continue
        path = [true_accuracy(line["epochs"][e - 1]) for e in SHOWN_EPOCHS]
        last = line["epochs"][-1]
        skips = _skips(last)
        seconds = seconds_of(line["search_seconds"])
        rank = f"{last['truth']['rank']:,}"
        rows.append([_called(job), *path, rank, skips, *_costs(line["epochs"]), seconds])
    header = [
        "search",
        *(f"epoch {e}" for e in SHOWN_EPOCHS),
        "rank",
        "skips",
        "a round",
        "memory",
        "in all",
    ]
    parts = (machines(results.measured(jobs)), table(header, rows), _variants(results, jobs))
    return "\n\n".join(parts)


def _variants(results: Results, jobs: Sequence[SearchJob]) -> str:
    """Means over seeds at the last epoch."""
    rows = []
    for variant in dict.fromkeys(job.variant for job in jobs):
        same = [job for job in jobs if job.variant == variant]
        lines = results.measured(same)
        ends = [r["epochs"][-1]["truth"]["test_200"] for r in lines]
        rows.append([variant, f"{len(lines)} of {len(same)}", spread(ends)])
    return table(("search", "seeds", "true accuracy at the end, %"), rows)


def wipeout(results: Results) -> str:
    """When experts left, how fast rounds became, and what it did to the cell."""
    jobs = SETS["wipeout"]
    rows = []
    for job, line in _searches(results, jobs):
        if line is None:
            rows.append([_called(job), NOTHING, "", "", "", "", ""])
            continue
        epochs = line["epochs"]
        leaving = [e["epoch"] for e in epochs if e["deleted"]]
        rounds = [1000 * e["cost"]["seconds_per_round"] for e in (epochs[0], epochs[-1])]
        rows.append(
            [
                _called(job),
                str(leaving[0]) if leaving else "never",
                f"{sum(epochs[-1]['experts_alive'].values())} of {_experts(line)}",
                f"{rounds[0]:.1f} ms",
                f"{rounds[1]:.1f} ms",
                f"{sum(e['cost']['seconds'] for e in epochs):.1f} s",
                true_accuracy(epochs[-1]),
            ]
        )
    header = (
        "search",
        "first deletion after epoch",
        "experts at the end",
        "a round of the first epoch",
        "of the last",
        "all epochs",
        "true accuracy",
    )
    return f"{machines(results.measured(jobs))}\n\n{table(header, rows)}"


def _experts(line: Record) -> int:
    """Experts at the start: those of the end and those that were deleted."""
    gone = sum(len(e["deleted"]) for e in line["epochs"])
    return int(sum(line["epochs"][-1]["experts_alive"].values())) + gone


def darts(results: Results) -> str:
    """Cells found, and their cost."""
    jobs = SETS["darts"]
    rows = []
    for job, line in _searches(results, jobs):
        if line is None:
            rows.append([_called(job), NOTHING, "", "", "", "", ""])
            continue
        last = line["epochs"][-1]
        nodes = line["genotype"]["normal"]["nodes"]
        rows.append(
            [
                _called(job),
                "; ".join(", ".join(f"{op} {source}" for op, source in node) for node in nodes),
                _by_kind(last["skip_share"], "{:.2f}"),
                _by_kind(last["entropy"], "{:.3f}"),
                *_costs(line["epochs"]),
                seconds_of(line["search_seconds"]),
            ]
        )
    header = (
        "search",
        "normal cell, a node after another",
        "skips (normal, reduction)",
        "entropy",
        "a round",
        "memory",
        "in all",
    )
    return f"{machines(results.measured(jobs))}\n\n{table(header, rows)}"
