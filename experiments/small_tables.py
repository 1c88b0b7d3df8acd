"""Tables of docs/results.md on small searches, on those of full size, and on long trainings."""

from __future__ import annotations

import long_trainings
from jobs import Record
from result_tables import NOTHING, Results, machines, percent, seconds_of, spread, table
from small_judges import (
    cell_in_place,
    cpu_seconds,
    entropy_before_wipeout,
    found_accuracy,
    gap_before_end,
    held_weight,
)
from small_search import SmallSearch
from small_searches import LATE, declared
from xnas.paper.entropy_claims import entropy_claims
from xnas.records import EntropyPoint, EntropyStudy

ENTROPY = "entropy.json"
"""Numbers of `xnas reproduce entropy`, as it writes them."""


def small(results: Results) -> str:
    """Searches that differ in one setting, a line per variant, values by seed."""
    header = (
        "search",
        "true accuracy",
        "entropy before wipeouts",
        "gap before the end",
        "cell in the supernet at the end",
        "experts left half-way",
        "CPU time of rounds",
    )
    jobs = [job for job in declared("small") if job.variant not in LATE]
    rows = []
    for variant in dict.fromkeys(job.variant for job in jobs):
        lines = results.measured([job for job in jobs if job.variant == variant])
        rows.append([f"`{variant}`", *(_row(lines) if lines else [NOTHING, *[""] * 5])])
    return f"{machines(results.measured(jobs))}\n\n{table(header, rows)}"


def _row(lines: list[Record]) -> list[str]:
    def each(values: list[str]) -> str:
        return ", ".join(values)

    return [
        each([f"{found_accuracy(line):.2f}" for line in lines]),
        each([f"{entropy_before_wipeout(line):.3f}" for line in lines]),
        each([f"{gap_before_end(line):.1f}" for line in lines]),
        each([f"{cell_in_place(line):.1f}" for line in lines]),
        each([str(_experts_half_way(line)) for line in lines]),
        each([f"{cpu_seconds(line):.1f} s" for line in lines]),
    ]


def _experts_half_way(line: Record) -> int:
    epochs = line["epochs"]
    return sum(epochs[len(epochs) // 2 - 1]["experts_alive"].values())


def late(results: Results) -> str:
    """Weights of the convolution that was held back, and of the controls."""
    header = ("search", "weight at the start", "half-way", "at the end", "true accuracy")
    jobs = [job for job in declared("small") if job.variant in LATE]
    rows = []
    for variant in LATE:
        lines = results.measured([job for job in jobs if job.variant == variant])
        rows.append([f"`{variant}`", *(_late_row(lines) if lines else [NOTHING, *[""] * 3])])
    return table(header, rows)


def _late_row(lines: list[Record]) -> list[str]:
    middle = [len(line["epochs"]) // 2 - 1 for line in lines]
    return [
        ", ".join(f"{held_weight(line, 0):.3f}" for line in lines),
        ", ".join(f"{held_weight(line, at):.3f}" for line, at in zip(lines, middle, strict=True)),
        ", ".join(f"{held_weight(line):.3f}" for line in lines),
        ", ".join(f"{found_accuracy(line):.2f}" for line in lines),
    ]


def on_gpu(results: Results) -> str:
    """The same searches at full size, on a GPU; cells of the DARTS space are judged."""
    header = ("search", "seeds", "true or judged accuracy", "epochs took")
    rows = []
    for size in ("benchmark", "darts"):
        jobs = declared(size)
        for variant in dict.fromkeys(job.variant for job in jobs):
            mine = [job for job in jobs if job.variant == variant]
            rows.append(_gpu_row(size, variant, mine, results.measured(mine)))
    return table(header, rows)


def _gpu_row(size: str, variant: str, jobs: list[SmallSearch], lines: list[Record]) -> list[str]:
    name, seeds = f"`{size}`, `{variant}`", f"{len(lines)} of {len(jobs)}"
    if not lines:
        return [name, seeds, NOTHING, ""]
    seconds = [sum(epoch["seconds"] for epoch in line["epochs"]) for line in lines]
    what = "true_accuracy" if size == "benchmark" else "judged_accuracy"
    found = [float(line["epochs"][-1][what]) for line in lines]
    return [name, seeds, spread(found), ", ".join(map(seconds_of, seconds))]


def entropy(results: Results) -> str:
    """What `xnas reproduce entropy` measured, a line per weight decay and one of XNAS."""
    header = ("method", "weight decay of logits", "normalised entropy", "points lost at discretization")
    study = results.whole(ENTROPY)
    if study is None:
        return f"N{NOTHING[1:]}."
    points: dict[tuple[str, float | None], list[Record]] = {}
    for point in study["points"]:
        points.setdefault((point["method"], point["weight_decay"]), []).append(point)
    rows = [
        [
            f"`{method}`",
            "none to set" if decay is None else f"{decay:g}",
            ", ".join(f"{point['entropy']:.4f}" for point in found),
            ", ".join(f"{_points_lost(point):.1f}" for point in found),
        ]
        for (method, decay), found in points.items()
    ]
    return f"{table(header, rows)}\n\n{_entropy_verdicts(study)}"


def _entropy_verdicts(study: Record) -> str:
    """What the claims of `xnas reproduce entropy` say of these numbers."""
    points = tuple(EntropyPoint(**point) for point in study["points"])
    whole = EntropyStudy(**study | {"points": points})
    rows = [[claim.statement, claim.measured, f"**{claim.verdict}**"] for claim in entropy_claims(whole)]
    return table(("claim of the paper", "measured", "verdict"), rows)


def _points_lost(point: Record) -> float:
    return 100 * float(point["mixture_accuracy"] - point["cell_accuracy"])


def long(results: Results) -> str:
    """Trainings in parts."""
    header = ("training", "epochs", "test accuracy", "training", "calls", "command")
    rows = []
    for job in long_trainings.all_jobs():
        line = results.of(job)
        if line is None:
            rows.append([f"`{job.name}`", "", NOTHING, "", "", f"`{job.command}`"])
            continue
        rows.append(
            [
                f"`{job.name}`",
                str(line["epochs"]),
                percent(line["test_accuracy"]),
                seconds_of(line["train_seconds"]),
                str(line["calls"]),
                f"`{job.command}`",
            ]
        )
    return table(header, rows)
