"""What searches measured about each claim, and what follows by the rules of `small_claims.py`.

A function here is called when all runs that its part needs are done.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import mean

import claim_rules
from claim_parts import Outcome
from claim_rules import MARGIN, SPARSE, UNIFORM
from jobs import Record
from result_tables import Results, spread
from small_search import HELD, SIZES
from small_searches import of_variant
from xnas.space import SPACES

SMALL = "small"
GAP_MARGIN = 6.5
"""Points of validation accuracy: two standard errors of a difference, at 30 % on 400 images."""
UNIFORM_WEIGHT = 0.25
PAIRS = {
    "wipeout": "no-wipeout",
    "relaxation-0.1": "no-wipeout",
    "bound-0.1": "bound-0.1-no-wipeout",
}
"""A search with wipeout, and its twin without."""
EARLIER_PAIRS = {"relaxation-0.03": "no-wipeout", "bound-0.03": "bound-0.03-no-wipeout"}
"""The same, with settings by which experts leave earlier."""
COLUMN = [name for name in SPACES["nasbench201"].operations if name != "none"].index(HELD)

Number = Callable[[Record], float]


def lines_of(results: Results, variant: str, size: str = SMALL) -> dict[int, Record]:
    """Results by seed."""
    return {line["seed"]: line for line in results.measured(of_variant(variant, size))}


def found_accuracy(line: Record) -> float:
    """Of the cell at the end: on the test set after 200 epochs, or as judged in the DARTS space."""
    last = line["epochs"][-1]
    return float(last["true_accuracy" if line["space"] == "nasbench201" else "judged_accuracy"])


def gap_before_end(line: Record) -> float:
    """Points that the cell is below the mixture, an epoch before the end."""
    gap = line["epochs"][-2]["gap"]
    return 100 * float(gap["mixture"] - gap["cell"])


def cell_in_place(line: Record) -> float:
    """Accuracy of the cell at the end with the supernet's weights, in percent."""
    return 100 * float(line["epochs"][-1]["gap"]["cell"])


def cpu_seconds(line: Record) -> float:
    """Of the rounds of all epochs."""
    return sum(float(epoch["cpu_seconds"]) for epoch in line["epochs"])


def wall_seconds(line: Record) -> float:
    """Of the rounds of all epochs, by the clock: for a machine that a search has to itself."""
    return sum(float(epoch["seconds"]) for epoch in line["epochs"])


def experts_gone(line: Record) -> float:
    """Share of the experts that had left, mean over all epochs but the last; it needs no clock."""
    left = [sum(epoch["experts_alive"].values()) for epoch in line["epochs"][:-1]]
    return float(1 - mean(left) / left[0])


def held_weight(line: Record, epoch: int = -1) -> float:
    """Mean weight of the operation that was held back."""
    return float(line["epochs"][epoch]["mean_mixture"]["normal"][COLUMN])


def entropy_before_wipeout(line: Record) -> float:
    """Of the last epoch in which all experts were there; the mean over kinds of cells."""
    epochs = line["epochs"]
    whole = epochs[0]["experts_alive"]
    first = next((i for i, e in enumerate(epochs) if e["experts_alive"] != whole), len(epochs))
    return float(mean(epochs[max(0, first - 1)]["entropy"].values()))


def pairs(
    results: Results, number: Number, of: Mapping[str, str] = PAIRS, size: str = SMALL
) -> dict[str, tuple[float, float]]:
    """The number with wipeout and without, by setting and seed."""
    found = {}
    for variant, twin in of.items():
        ours, twins = lines_of(results, variant, size), lines_of(results, twin, size)
        for seed, line in ours.items():
            found[f"{variant}, seed {seed}"] = (number(line), number(twins[seed]))
    return found


def _text(found: Mapping[str, tuple[float, float]]) -> str:
    told = (f"{name}: {ours:.1f} against {others:.1f}" for name, (ours, others) in found.items())
    return "; ".join(told)


def smaller_gap(
    of: Mapping[str, str] = PAIRS, size: str = SMALL, margin: float = GAP_MARGIN
) -> Callable[[Results], Outcome]:
    """Gaps with wipeout and without."""

    def judge(results: Results) -> Outcome:
        found = pairs(results, gap_before_end, of, size)
        less = [others - ours >= margin for ours, others in found.values()]
        verdict = claim_rules.unanimous(less, [not yes for yes in less])
        return f"points, with wipeout against without: {_text(found)}.", verdict

    return judge


def better_cell_in_place(
    of: Mapping[str, str] = PAIRS, size: str = SMALL, margin: float = GAP_MARGIN
) -> Callable[[Results], Outcome]:
    """Accuracies of the final cells with the supernet's weights."""

    def judge(results: Results) -> Outcome:
        found = pairs(results, cell_in_place, of, size)
        more = [ours - others >= margin for ours, others in found.values()]
        verdict = claim_rules.unanimous(more, [not yes for yes in more])
        return f"percent, with wipeout against without: {_text(found)}.", verdict

    return judge


def saves_time(
    variant: str, of: Mapping[str, str] = PAIRS, size: str = SMALL
) -> Callable[[Results], Outcome]:
    """Time of a variant against its twin without wipeout: of the CPU, or by the clock on a GPU."""

    def judge(results: Results) -> Outcome:
        number = cpu_seconds if size == SMALL else wall_seconds
        found = pairs(results, number, {variant: of[variant]}, size)
        lines = [lines_of(results, name, size).values() for name in (variant, of[variant])]
        if len({line["device"] for group in lines for line in group}) > 1:
            return "times on several devices do not compare.", "not decided"
        shares = {name: 1 - ours / others for name, (ours, others) in found.items()}
        told = "; ".join(f"{name}: {100 * share:.1f} % saved" for name, share in shares.items())
        gone = ", ".join(
            f"{100 * experts_gone(line):.1f} %" for line in lines_of(results, variant, size).values()
        )
        return (
            f"{told}. Experts gone, mean over all epochs but the last: {gone}.",
            claim_rules.saves(list(shares.values())),
        )

    return judge


def keeps_cell(of: Mapping[str, str] = PAIRS, size: str = SMALL) -> Callable[[Results], Outcome]:
    """True or judged accuracies with wipeout and without."""

    def judge(results: Results) -> Outcome:
        found = pairs(results, found_accuracy, of, size)
        kept = [ours > others - MARGIN for ours, others in found.values()]
        verdict = claim_rules.unanimous(kept, [not yes for yes in kept])
        return (
            f"{_kind(size)} accuracy in percent, with wipeout against without: {_text(found)}.",
            verdict,
        )

    return judge


def _kind(size: str) -> str:
    """How accuracies of a size are known."""
    return "true" if SIZES[size].settings["space"] == "nasbench201" else "judged"


def gains_over(ours: str, others: str, size: str = SMALL) -> Callable[[Results], Outcome]:
    """True or judged accuracies of one variant against another."""

    def judge(results: Results) -> Outcome:
        values = {
            name: [found_accuracy(line) for line in lines_of(results, name, size).values()]
            for name in (ours, others)
        }
        found = claim_rules.difference(values[ours], values[others])
        numbers = ", ".join(f"{name} {spread(v)} %" for name, v in values.items())
        return f"{numbers}: {found}.", claim_rules.gain(found)

    return judge


def no_worse(ours: str, others: str, size: str = SMALL) -> Callable[[Results], Outcome]:
    """Whether the second does not gain over the first; the rule of a gain, reversed."""

    def judge(results: Results) -> Outcome:
        measured, verdict = gains_over(others, ours, size)(results)
        return measured, claim_rules.opposite(verdict)

    return judge


def sparse(variant: str, size: str = SMALL) -> Callable[[Results], Outcome]:
    """Entropies while all experts were there."""

    def judge(results: Results) -> Outcome:
        lines = lines_of(results, variant, size)
        found = {seed: entropy_before_wipeout(line) for seed, line in lines.items()}
        told = ", ".join(f"{value:.4f}" for value in found.values())
        verdict = claim_rules.unanimous(
            [value < SPARSE for value in found.values()], [value >= UNIFORM for value in found.values()]
        )
        return f"entropy before the first wipeout: {told}.", verdict

    return judge


def _held(results: Results, variant: str, size: str) -> tuple[str, list[float]]:
    found = {seed: held_weight(line) for seed, line in lines_of(results, variant, size).items()}
    told = "; ".join(f"seed {seed}: {value:.3f}" for seed, value in found.items())
    return f"mean weight at the end: {told}.", list(found.values())


def recovers(variant: str, size: str = SMALL) -> Callable[[Results], Outcome]:
    """Whether the operation ends above an equal share."""

    def judge(results: Results) -> Outcome:
        told, found = _held(results, variant, size)
        above = [value > UNIFORM_WEIGHT for value in found]
        return told, claim_rules.unanimous(above, [not yes for yes in above])

    return judge


def stays_behind(variant: str, size: str = SMALL) -> Callable[[Results], Outcome]:
    """Whether it ends below an equal share."""

    def judge(results: Results) -> Outcome:
        told, verdict = recovers(variant, size)(results)
        return told, claim_rules.opposite(verdict)

    return judge


def gains_more(ours: str, others: str, size: str = SMALL) -> Callable[[Results], Outcome]:
    """Growth of the operation's weight under two rules."""

    def judge(results: Results) -> Outcome:
        gains = {
            name: {
                seed: math.log(held_weight(line) / held_weight(line, 0))
                for seed, line in lines_of(results, name, size).items()
            }
            for name in (ours, others)
        }
        more = [gains[ours][seed] > gains[others][seed] for seed in gains[ours]]
        told = "; ".join(
            f"seed {seed}: {gains[ours][seed]:+.3f} against {gains[others][seed]:+.3f}"
            for seed in gains[ours]
        )
        return f"logarithm of the weight, {ours} against {others}: {told}.", claim_rules.unanimous(
            more, [not yes for yes in more]
        )

    return judge


def robust_start(size: str = SMALL) -> Callable[[Results], Outcome]:
    """Distances between searches that start apart, under two rules."""

    def judge(results: Results) -> Outcome:
        far = {}
        for late, early in (("late-eg", "early-eg"), ("late-softmax", "early-softmax")):
            controls = lines_of(results, early, size)
            lines = lines_of(results, late, size)
            far[late] = {seed: _distance(line, controls[seed]) for seed, line in lines.items()}
        eg, softmax = far.values()
        nearer = [eg[seed] < softmax[seed] for seed in eg]
        told = "; ".join(f"seed {seed}: {eg[seed]:.3f} against {softmax[seed]:.3f}" for seed in eg)
        measured = f"total variation, EG against gradient descent with softmax: {told}."
        return measured, claim_rules.unanimous(nearer, [not yes for yes in nearer])

    return judge


def _distance(one: Record, other: Record) -> float:
    """Total variation between mean mixtures at the end."""
    mixtures = [line["epochs"][-1]["mean_mixture"]["normal"] for line in (one, other)]
    return float(sum(abs(a - b) for a, b in zip(*mixtures, strict=True))) / 2
