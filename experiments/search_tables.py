"""Tables of searches with known truth: paths of accuracy, rewards, what wiping out saves."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from jobs import Record
from result_tables import NOTHING, Results, gib, machines, seconds_of, spread, table
from searches import SETS, SearchJob

SHOWN_EPOCHS = (5, 10, 20, 30, 40, 50)
ROUND_ALONE = (9.108, 7.234)  # ms with four experts an edge, with two: docs/performance.md


def with_results(results: Results, jobs: Sequence[SearchJob]) -> list[tuple[SearchJob, Record | None]]:
    """Searches with their results, or None."""
    return [(job, results.of(job)) for job in jobs]


def true_accuracy(epoch: Record) -> str:
    """The true accuracy of an epoch's cell, without and with `none`."""
    truth = epoch["truth"]
    other = truth["test_200_with_none"]
    return f"{truth['test_200']:.2f}" + ("" if other is None else f" / {other:.2f}")


def called(job: SearchJob) -> str:
    """Variant and seed."""
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
            called(job),
            *(NOTHING if line is None else true_accuracy(line["epochs"][e]) for e in range(most)),
        ]
        for job, line in with_results(results, jobs)
    ]
    path = table(["search", *(f"epoch {e + 1}" for e in range(most))], rows)
    header = (
        "search",
        "cell after the last epoch",
        "rank",
        "entropy",
        "skips",
        "per round",
        "memory",
    )
    ends = [_end(job, line) for job, line in with_results(results, jobs)]
    commands = "\n".join(f"- {called(job)}: `{job.command}`" for job in jobs)
    parts = (machines(results.measured(jobs)), path, table(header, ends), commands)
    return "\n\n".join(parts)


def _end(job: SearchJob, line: Record | None) -> list[str]:
    if line is None:
        return [called(job), NOTHING, "", "", "", "", ""]
    last = line["epochs"][-1]
    return [
        called(job),
        "`" + last["truth"]["arch"].replace("|", "\\|") + "`",
        f"{last['truth']['rank']:,}",
        by_kind(last["entropy"], "{:.3f}"),
        _skips(last),
        *_costs(line["epochs"]),
    ]


def _skips(epoch: Record) -> str:
    """How many of the edges of the cell that is shown are skip connections."""
    arch = epoch["truth"]["arch"]
    return f"{arch.count('skip_connect~')} of {arch.count('~')}"


def by_kind(values: dict[str, float], form: str) -> str:
    """Numbers of the kinds of cells."""
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
        stages |= {str(int(s) + 1): (by_stage[0][s], by_stage[1].get(s, {})) for s in by_stage[0]}
        for stage, (before, after) in stages.items():
            told = (f"{before[op]:+.4f}, {after[op]:+.4f}" if op in after else "—" for op in operations)
            rows.append([f"{line['variant']}, seed {line['seed']}", stage, *told])
    return table(["search", "stage", *operations], rows)


def full(results: Results) -> str:
    """True accuracy along whole searches, then means over seeds."""
    jobs = SETS["full"]
    rows = []
    for job, line in with_results(results, jobs):
        if line is None:
            rows.append([called(job), NOTHING, *[""] * (len(SHOWN_EPOCHS) + 5)])
            continue
        path = [true_accuracy(line["epochs"][e - 1]) for e in SHOWN_EPOCHS]
        before, last = line["epochs"][-2:]
        entropy = by_kind(before["entropy"], "{:.3f}")
        found = [f"{last['truth']['rank']:,}", _skips(last), entropy]
        seconds = seconds_of(line["search_seconds"])
        rows.append([called(job), *path, *found, *_costs(line["epochs"]), seconds])
    header = [
        "search",
        *(f"epoch {e}" for e in SHOWN_EPOCHS),
        "rank",
        "skips",
        "entropy before the last epoch",
        "per round",
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
    """When experts left, what it saved, and what it did to the cell."""
    jobs = SETS["wipeout"]
    rows = []
    for job, line in with_results(results, jobs):
        if line is None:
            rows.append([called(job), NOTHING, *[""] * 10])
            continue
        first, last = line["epochs"][0], line["epochs"][-1]
        rows.append(
            [
                called(job),
                _relaxation(line),
                *departures(line),
                f"{100 * _work(line):.0f} %",
                *(milliseconds(e) for e in (first, last)),
                f"{_all_seconds(line):.1f} s",
                *(gib(e["cost"]["memory_bytes"]) for e in (first, last)),
                f"{100 * calculated_saving(line):.1f} %",
                true_accuracy(last),
            ]
        )
    header = (
        "search",
        "relaxation",
        "first, half, last expert left after epoch",
        "experts before the last epoch",
        "weights, mean over epochs",
        "per round, first epoch",
        "last epoch",
        "all epochs",
        "memory of the first epoch",
        "last epoch",
        "time saved, calculated",
        "true accuracy",
    )
    parts = (machines(results.measured(jobs)), table(header, rows), _variants(results, jobs))
    return "\n\n".join(parts)


def _relaxation(line: Record) -> str:
    settings = line["settings"]
    return f"{settings['relaxation']:g}" if settings["wipeout"] else "no wipeout"


def departures(line: Record) -> list[str]:
    """After which epochs the first, half of those that left and the last one left; how many stayed.

    The end of the last epoch does not count: no round is left then, so all but the leaders go.
    """
    before = line["epochs"][:-1]
    leaving = [e["epoch"] for e in before for _ in e["deleted"]]
    living = sum(before[-1]["experts_alive"].values())
    when = f"{leaving[0]}, {leaving[(len(leaving) - 1) // 2]}, {leaving[-1]}" if leaving else "never"
    return [when, f"{living} of {living + len(leaving)}"]


def _work(line: Record) -> float:
    """Trainable numbers in the network, mean over all epochs but the last, as a share of the first's."""
    weights = [e["weights_alive"] for e in line["epochs"][:-1]]
    return float(statistics.mean(weights) / weights[0])


def milliseconds(epoch: Record) -> str:
    """Of a round of the epoch."""
    return f"{1000 * epoch['cost']['seconds_per_round']:.1f} ms"


def _all_seconds(line: Record) -> float:
    return float(sum(e["cost"]["seconds"] for e in line["epochs"]))


def calculated_saving(line: Record) -> float:
    """Share of the time of all rounds, as if each took as long as alone on the GPU.

    Between all experts and two an edge, and on below, a line: each expert costs the same.
    """
    after = [sum(e["experts_alive"].values()) for e in line["epochs"]]
    first = after[0] + len(line["epochs"][0]["deleted"])
    everything, half = ROUND_ALONE
    an_expert = (everything - half) / everything / (first / 2)
    return float(statistics.mean((first - alive) * an_expert for alive in (first, *after[:-1])))
