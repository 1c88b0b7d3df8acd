"""What our searches measured about each claim of the paper, and what follows by the rules.

A function here is called when all runs that its claim needs are done.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from statistics import mean

import claim_rules
from cell_statistics import Array, compare, told, whole_table
from cell_tables import DEFAULT, accuracies
from claim_parts import Outcome
from claim_rules import SPARSE, UNIFORM
from compare_cells import JOBS, PUBLISHED, RANDOM, SEEDS, Cell
from jobs import Job, Record
from result_tables import Results, machines, spread
from search_tables import departures
from searches import SETS, SearchJob
from xnas.space import Genotype, cell_depth

DEEPEST_RIVAL = 0.9
"""Amoeba-A in Table 4, the deepest cell there except XNAS's."""
RELAXED = ("relaxation-0.1", "relaxation-0.03")
DARTS_V2 = next(cell for cell in PUBLISHED if cell.name == "darts_v2")


def runs(set_name: str, *variants: str) -> list[SearchJob]:
    """Searches of a set, of these variants."""
    return [job for job in SETS[set_name] if job.variant in variants]


def _lines(results: Results, set_name: str, variant: str) -> dict[int, Record]:
    """Results by seed."""
    return {line["seed"]: line for line in results.measured(runs(set_name, variant))}


def _truths(lines: Mapping[int, Record]) -> list[float]:
    """True accuracies of the cells at the end, without `none`."""
    return [line["epochs"][-1]["truth"]["test_200"] for line in lines.values()]


def _all_seconds(line: Record) -> float:
    return float(sum(epoch["cost"]["seconds"] for epoch in line["epochs"]))


def _by_seed(values: Mapping[int, str]) -> str:
    return "; ".join(f"seed {seed}: {value}" for seed, value in values.items())


def compared(ours: str, others: str) -> Callable[[Results], Outcome]:
    """True accuracies of one kind of search against those of another."""

    def judge(results: Results) -> Outcome:
        values = {name: _truths(_lines(results, "full", name)) for name in (ours, others)}
        found = claim_rules.difference(values[ours], values[others])
        numbers = ", ".join(f"{name} {spread(v)} %" for name, v in values.items())
        return f"{numbers}: {found}.", claim_rules.gain(found)

    return judge


def with_and_without(results: Results) -> Outcome:
    """Default searches against those without wipeout."""
    ours, without = _lines(results, "full", "default"), _lines(results, "wipeout", "no-wipeout")
    found = claim_rules.difference(_truths(ours), _truths(without))
    same = [
        seed
        for seed, line in without.items()
        if line["epochs"][-1]["truth"]["arch"] == ours[seed]["epochs"][-1]["truth"]["arch"]
    ]
    measured = (
        f"with wipeout {spread(_truths(ours))} %, without {spread(_truths(without))} %: {found}. "
        f"{len(same)} of {len(without)} seeds found the same cell either way."
    )
    return measured, "does not hold" if len(same) == len(without) else claim_rules.gain(found)


def _time_saved(results: Results, variant: str, than: str) -> dict[int, float]:
    lines, twins = (_lines(results, "wipeout", name) for name in (variant, than))
    return {
        seed: 1 - _all_seconds(line) / _all_seconds(twins[seed])
        for seed, line in lines.items()
        if seed in twins
    }


def _alike(results: Results, jobs: Sequence[SearchJob]) -> bool:
    """Whether times compare: one device, as many searches in parallel in all calls, nothing else."""
    conditions = {
        (line["device"], at_once, line.get("beside"))
        for line in results.measured(jobs)
        for at_once in line.get("at_once_by_call", [line["at_once"]])
    }
    return len(conditions) == 1


def _judged_times(
    results: Results, jobs: Sequence[SearchJob], shares: Sequence[float], stated: str
) -> Outcome:
    """The verdict on shares of time, stated if they compare, and where they were measured."""
    where = machines(results.measured(jobs))
    if _alike(results, jobs):
        return f"{stated}. {where}", claim_rules.saves(shares)
    return (
        f"Times do not compare, because the searches ran under different loads. {where}",
        "not decided",
    )


def faster(results: Results) -> Outcome:
    """Time that wipeout saves."""
    jobs = runs("wipeout", "default", "no-wipeout")
    saved = _time_saved(results, "default", "no-wipeout")
    stated = f"time saved: {_by_seed({s: f'{100 * v:.1f} %' for s, v in saved.items()})}"
    return _judged_times(results, jobs, list(saved.values()), stated)


def smaller(results: Results) -> Outcome:
    """Weights that wipeout saves, and when experts leave."""
    told_seeds, saved = {}, []
    lines, twins = (_lines(results, "wipeout", name) for name in ("default", "no-wipeout"))
    for seed, line in lines.items():
        weights = [epoch["weights_alive"] for epoch in line["epochs"][:-1]]
        saved.append(1 - mean(weights) / weights[0])
        memory = [r["epochs"][-1]["cost"]["memory_bytes"] for r in (line, twins[seed])]
        when, stayed = departures(line)
        told_seeds[seed] = (
            f"weights saved {100 * saved[-1]:.1f} %, memory of the last epoch "
            f"{100 * (1 - memory[0] / memory[1]):.1f} %; first, half and last expert left after epoch: "
            f"{when}; {stayed} experts stayed to the last"
        )
    return f"{_by_seed(told_seeds)}.", claim_rules.saves(saved)


def relaxed(results: Results) -> Outcome:
    """Time that relaxed thresholds save beyond."""
    saved = {name: _time_saved(results, name, "default") for name in RELAXED}
    shares = [share for by_seed in saved.values() for share in by_seed.values()]
    numbers = "; ".join(
        f"{name} saved {_by_seed({s: f'{100 * v:.1f} %' for s, v in by_seed.items()})}"
        for name, by_seed in saved.items()
    )
    times, verdict = _judged_times(results, runs("wipeout", "default", *RELAXED), shares, numbers)
    truths = ", ".join(
        f"{name} {spread(_truths(_lines(results, 'wipeout', name)))} %" for name in RELAXED
    )
    return f"{times} True accuracies: {truths}.", verdict


def decisive_rate(results: Results) -> Outcome:
    """Entropies with the paper's rate.

    Before the last epoch: at its end one expert an edge is left whatever the rate. Those of the last
    epoch with all experts are also reported: what falls later falls by wipeout.
    """
    found, whole = [], []
    for line in _lines(results, "full", "faithful").values():
        by_epoch = [mean(epoch["entropy"].values()) for epoch in line["epochs"][:-1]]
        lost = [bool(epoch["deleted"]) for epoch in line["epochs"][:-1]]
        found.append(by_epoch[-1])
        whole.append(([1.0, *by_epoch])[lost.index(True)] if any(lost) else by_epoch[-1])
    verdict = claim_rules.unanimous([e < SPARSE for e in found], [e >= UNIFORM for e in found])
    told = ", ".join(f"{e:.4f}" for e in found)
    rate = ", ".join(f"{e:.4f}" for e in whole)
    return f"entropy with the paper's rate: {told}; with all experts still there: {rate}.", verdict


def paper_rate(results: Results) -> Outcome:
    """The default against `--faithful`; the claim says the reverse."""
    measured, verdict = compared("default", "faithful")(results)
    return measured, claim_rules.opposite(verdict)


def _depths(results: Results) -> list[float]:
    lines = _lines(results, "darts", "default").values()
    return [cell_depth(Genotype.from_json(json.dumps(line["genotype"]))) for line in lines]


def _told_depths(depths: Sequence[float]) -> str:
    return f"depths {', '.join(f'{d:.3f}' for d in depths)}, mean {mean(depths):.3f}"


def deeper_than_rivals(results: Results) -> Outcome:
    """Depths against those that Table 4 prints."""
    depths = _depths(results)
    verdict = claim_rules.unanimous(
        [d > DEEPEST_RIVAL for d in depths], [d <= DEEPEST_RIVAL for d in depths]
    )
    return f"{_told_depths(depths)}.", verdict


def deeper_than_chance(results: Results) -> Outcome:
    """Depths against those of random cells."""
    depths = _depths(results)
    deep, shallow = claim_rules.chance_of_depth(depths)
    measured = (
        f"{_told_depths(depths)}; as many random cells are as deep with chance {deep:.3f}, as shallow "
        f"with chance {shallow:.3f}."
    )
    return measured, claim_rules.deeper_than_chance(depths)


def trainings(*cells: Cell) -> list[Job]:
    """The trainings of these cells, and the searches that found them."""
    return [
        *(cell.search for cell in cells if cell.search is not None),
        *(job for job in JOBS if job.of in cells),
    ]


def _accuracies(results: Results, cells: Sequence[Cell]) -> Array:
    return whole_table(accuracies(results, cells))[2]


def better_than_random(results: Results) -> Outcome:
    """Trainings of found cells against those of random ones."""
    found = compare(_accuracies(results, DEFAULT), _accuracies(results, RANDOM))
    return told(found, SEEDS), claim_rules.better_cells(found)


def better_than_darts(results: Results) -> Outcome:
    """... and against those of DARTS's published cell."""
    ours = [float(v) for v in _accuracies(results, DEFAULT).mean(1)]
    darts = float(_accuracies(results, [DARTS_V2]).mean())
    found = claim_rules.difference_to(ours, darts)
    return f"found cells {spread(ours)} %, DARTS_V2 {darts:.2f} %: {found}.", claim_rules.gain(found)


def varies_little(results: Results) -> Outcome:
    """True accuracies of searches with other seeds."""
    values = _truths(_lines(results, "full", "default"))
    low, high = claim_rules.deviation_interval(values)
    measured = f"{spread(values)} %; 95 % interval of the deviation {low:.2f} to {high:.2f}."
    return measured, claim_rules.varies_little(values)
