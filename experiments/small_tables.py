"""Tables of docs/results.md on small searches, on those of full size, and on long trainings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import long_trainings
from jobs import Job, Record
from result_tables import (
    NOTHING,
    Results,
    machines,
    percent,
    seconds_of,
    spread,
    table,
    table_of_measured,
)
from small_judges import (
    cell_in_place,
    cpu_seconds,
    entropy_before_wipeout,
    experts_gone,
    found_accuracy,
    gap_before_end,
    held_weight,
)
from small_search import SmallSearch
from small_searches import LATE, RIVALS, declared
from xnas.paper.entropy_claims import entropy_claims
from xnas.records import EntropyPoint, EntropyStudy

ENTROPY = "entropy.json"
"""Numbers of `xnas reproduce entropy`, as it writes them."""


HEADER = (
    "search",
    "accuracy",
    "entropy before wipeouts",
    "gap before the end",
    "cell in the supernet at the end",
    "experts gone",
    "CPU time of rounds",
)
COMMAND = "python experiments/small_searches.py --size SIZE --data-dir DIR --truth FILE --seconds 540"
LONG_COMMAND = "python experiments/long_trainings.py --set SET --data-dir DIR --seconds 540 --out FOLDER"


def small(results: Results) -> str:
    """Searches that differ in one setting, a line per variant, values by seed."""
    return _by_variant(results, "small", lambda v: v not in LATE and v not in RIVALS)


def small_darts(results: Results) -> str:
    """The same on the DARTS space; accuracies are judged."""
    return _by_variant(results, "small-darts", lambda _: True)


def rivals(results: Results) -> str:
    """Other systems of the paper's tables, and the default beside them."""
    return _by_variant(results, "small", lambda v: v in RIVALS or v == "wipeout")


def _by_variant(results: Results, size: str, shown: Callable[[str], bool]) -> str:
    jobs = [job for job in declared(size) if shown(job.variant)]
    rows = []
    for variant in dict.fromkeys(job.variant for job in jobs):
        lines = results.measured([job for job in jobs if job.variant == variant])
        rows.append([f"`{variant}`", *(_row(lines) if lines else [NOTHING, *[""] * 5])])
    return f"{machines(results.measured(jobs))}\n\n{table(HEADER, rows)}"


def _row(lines: list[Record]) -> list[str]:
    def each(values: list[str]) -> str:
        return ", ".join(values)

    return [
        each([f"{found_accuracy(line):.2f}" for line in lines]),
        each([f"{entropy_before_wipeout(line):.3f}" for line in lines]),
        each([_points(line, -2, gap_before_end) for line in lines]),
        each([_points(line, -1, cell_in_place) for line in lines]),
        each([f"{100 * experts_gone(line):.1f} %" for line in lines]),
        each([f"{cpu_seconds(line):.1f} s" for line in lines]),
    ]


def _points(line: Record, epoch: int, number: Callable[[Record], float]) -> str:
    """Points of accuracy; a dash where operations of the cell had left the supernet."""
    gap = line["epochs"][epoch]["gap"]
    return "—" if gap is None or gap["cell"] is None else f"{number(line):.1f}"


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
    rows: list[tuple[str, list[str] | None]] = []
    jobs = {size: declared(size) for size in ("benchmark", "fewer", "darts")}
    for size, of_size in jobs.items():
        for variant in dict.fromkeys(job.variant for job in of_size):
            mine = [job for job in of_size if job.variant == variant]
            if lines := results.measured(mine):
                rows.append((size, _gpu_row(size, variant, mine, lines)))
    return table_of_measured([], header, [*rows, *_left(results, jobs)], COMMAND)


def _left(results: Results, sets: Mapping[str, Sequence[Job]]) -> list[tuple[str, Sequence[str] | None]]:
    """How many runs of each set are left, as rows that were not measured."""
    left = {name: len(jobs) - len(results.measured(jobs)) for name, jobs in sets.items()}
    return [(f"`{name}` ({count} of {len(sets[name])})", None) for name, count in left.items() if count]


def _gpu_row(size: str, variant: str, jobs: list[SmallSearch], lines: list[Record]) -> list[str]:
    name, seeds = f"`{size}`, `{variant}`", f"{len(lines)} of {len(jobs)}"
    seconds = [sum(epoch["seconds"] for epoch in line["epochs"]) for line in lines]
    found = [found_accuracy(line) for line in lines]
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
    rows: list[tuple[str, list[str] | None]] = []
    for job in long_trainings.all_jobs():
        if (line := results.of(job)) is not None:
            row = [
                f"`{job.name}`",
                str(line["epochs"]),
                percent(line["test_accuracy"]),
                seconds_of(line["train_seconds"]),
                str(line["calls"]),
                f"`{job.command}`",
            ]
            rows.append((job.name, row))
    left = _left(results, long_trainings.sets())
    return table_of_measured([], header, [*rows, *left], LONG_COMMAND)
