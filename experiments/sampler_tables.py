"""Tables of the samplers that `samplers.py` compares."""

from __future__ import annotations

from statistics import mean, stdev

from jobs import Record, ResultsFile
from result_tables import NOTHING, Results, machines, table, table_of_measured
from samplers import EVALUATIONS, FIRST_EPOCHS, JOBS, MARKS, RESULTS, Sampling
from xnas.samplers import PROXIES as REGISTERED

PROXIES = "proxies.json"
"""What `proxies.py` writes."""
LOOKED_UP = {"valid_12": "for comparison: validation accuracy after 12 epochs"}
COMMAND = "python experiments/samplers.py --table NASBENCH201.csv --cells CELLS.csv"
PUBLISHED = {
    "table-random": "93.70 ± 0.36",
    "table-evolution-population-10-sample-3": "93.92 ± 0.30",
    "table-controller-controller-logits": "93.85 ± 0.37",
}
"""Test accuracies on NAS-Bench-201 by Dong and Yang (2020): 12,000 simulated seconds, 500 runs, with the
validation accuracy after 25 of 200 epochs as signal, which the table here does not have."""


def benchmark(results: Results) -> str:
    """One row per sampler on NAS-Bench-201."""
    return _table("table", results, (*_header("table"), "published"))


def darts(results: Results) -> str:
    """One row per sampler on the DARTS space, by the judge."""
    return _table("surrogate", results, _header("surrogate"))


def _table(evaluator: str, results: Results, header: tuple[str, ...]) -> str:
    measured = [line for line in _lines(results).values() if line["evaluator"] == evaluator]
    expected = next((line["expected"] for line in measured if "expected" in line), None)
    said = (
        []
        if expected is None
        else [f"By the closed formula random search has {expected:.2f} % on average."]
    )
    if stopped := [line for line in measured if "min_epochs" in line["settings"]]:
        said.append(_epochs(stopped, EVALUATIONS[evaluator]))
    parts = [machines(measured)] if measured else []
    if said:
        parts.append(" ".join(said))
    return "\n\n".join([*parts, table_of_measured([], header, _rows(evaluator, results), COMMAND)])


def proxies(results: Results) -> str:
    """How zero-cost proxies rank cells of NAS-Bench-201, a line per proxy, and what a score takes."""
    found = results.whole(PROXIES)
    if found is None:
        return f"N{NOTHING[1:]}."
    header = (
        "proxy",
        "images",
        "on noise",
        "on CIFAR-10",
        "all cells",
        "best tenth",
        "seconds per cell",
    )
    known = {**dict.fromkeys(REGISTERED), **found.get("proxies", {})}
    whole = found["table"]["table"]
    rows = [_proxy(name, one, whole.get(name, {})) for name, one in known.items()]
    root = found["cells"] ** 0.5
    said = (
        f"By {found['cells']} random cells with one set of weights: the standard error is "
        f"{(1 - 0.8**2) / root:.2f} at a correlation of 0.8, {(1 - 0.6**2) / root:.2f} at 0.6. Sizes "
        "and short trainings are compared over all 15,625 cells and among the best tenth as well."
    )
    return f"{machines([found])}\n\n{said}\n\n{table(header, rows)}"


def _proxy(name: str, found: Record | None, whole: Record) -> list[str]:
    if found is None:
        return [f"`{name}`", "", NOTHING, "", "", "", ""]

    def shown(number: float | None, digits: int = 2) -> str:
        return "—" if number is None else f"{number:.{digits}f}"

    noise, images = found.get("noise", {}), found.get("images", {})
    seconds = images.get("seconds", noise.get("seconds"))
    return [
        LOOKED_UP.get(name, f"`{name}`"),
        str(found["batch"] or "—"),
        shown(noise.get("correlation", found.get("table", {}).get("correlation"))),
        shown(images.get("correlation")),
        shown(whole.get("all"), 3),
        shown(whole.get("best tenth"), 3),
        "—" if seconds is None else f"{seconds:.1g}",
    ]


def shared(results: Results) -> str:
    """Seconds of an evaluation by shared weights."""
    found = results.whole(PROXIES)
    if found is None or not found.get("shared"):
        return f"N{NOTHING[1:]}."
    each = " and ".join(f"{one['seconds']:.1g} s for `{s}`" for s, one in found["shared"].items())
    return (
        f"An evaluation with the default supernet on the digits takes {each}, of one CPU core "
        f"({_versions(found)})."
    )


def _versions(found: Record) -> str:
    return f"torch {found['torch']}, Python {found['python']}, xnas {found['xnas']}"


def _epochs(lines: list[Record], evaluations: int) -> str:
    """What samplers that stop trainings early have trained."""
    each = " and ".join(f"{line['epochs']:,.0f} epochs with `{line['sampler']}`" for line in lines)
    return (
        f"{evaluations} evaluations train for {each} on average, and for "
        f"{evaluations * FIRST_EPOCHS:,} with the others."
    )


def _header(evaluator: str) -> tuple[str, ...]:
    marks = [f"after {mark}" for mark in MARKS if mark <= EVALUATIONS[evaluator]]
    return (
        "sampler",
        "settings",
        "searches",
        *marks,
        "spread",
        "distinct cells",
        "CPU seconds per search",
    )


def _rows(evaluator: str, results: Results) -> list[tuple[str, list[str] | None]]:
    lines = _lines(results)
    known = [(job, lines.get((job.name, job.command))) for job in JOBS if job.evaluator == evaluator]
    return [
        (" with ".join([f"`{job.sampler}`", *_set(job)]), None if line is None else _row(job, line))
        for job, line in known
    ]


def _set(job: Sampling) -> list[str]:
    return [", ".join(f"{name} {value}" for name, value in job.options.items())] if job.options else []


def _lines(results: Results) -> dict[tuple[str, str], Record]:
    """The lines of jobs that are declared as they were run."""
    declared = {(job.name, job.command) for job in JOBS}
    lines = ResultsFile(results.folder / RESULTS).lines()
    return {key: line for line in lines if (key := (line["job"], line["command"])) in declared}


def _row(job: Sampling, line: Record) -> list[str]:
    marks = [str(mark) for mark in MARKS if mark <= EVALUATIONS[job.evaluator]]
    found = line["found"]
    spread = f"± {stdev(found):.2f} ({min(found):.2f} to {max(found):.2f})"
    means = [f"{line['curve'][mark]:.2f}" for mark in marks[:-1]]
    return [
        job.sampler,
        *(_set(job) or ["its own"]),
        str(line["seeds"]),
        *means,
        f"{mean(found):.2f}",
        spread,
        f"{line['distinct']:.0f}",
        f"{line['search_seconds']:.2g}",
        *([PUBLISHED.get(job.name, "—")] if job.evaluator == "table" else []),
    ]
