"""What small searches measured about each claim, and what follows by the rules of `small_claims.py`.

A function here is called when all runs that its part needs are done.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import claim_rules
from claim_parts import Outcome
from claim_rules import MARGIN, SPARSE, UNIFORM
from jobs import Record
from result_tables import Results, spread
from small_search import HELD
from small_searches import of_variant
from xnas.space import SPACES

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


def lines_of(results: Results, variant: str) -> dict[int, Record]:
    """Results by seed."""
    return {line["seed"]: line for line in results.measured(of_variant(variant))}


def true_accuracy(line: Record) -> float:
    """Of the cell at the end, on the test set after 200 epochs."""
    return float(line["epochs"][-1]["true_accuracy"])


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


def held_weight(line: Record, epoch: int = -1) -> float:
    """Mean weight of the operation that was held back."""
    return float(line["epochs"][epoch]["mean_mixture"]["normal"][COLUMN])


def entropy_before_wipeout(line: Record) -> float:
    """Of the last epoch in which all experts were there."""
    epochs = line["epochs"]
    whole = epochs[0]["experts_alive"]
    first = next((i for i, e in enumerate(epochs) if e["experts_alive"] != whole), len(epochs))
    return float(epochs[max(0, first - 1)]["entropy"]["normal"])


def pairs(
    results: Results, number: Number, of: Mapping[str, str] = PAIRS
) -> dict[str, tuple[float, float]]:
    """The number with wipeout and without, by setting and seed."""
    found = {}
    for variant, twin in of.items():
        ours, twins = lines_of(results, variant), lines_of(results, twin)
        for seed, line in ours.items():
            found[f"{variant}, seed {seed}"] = (number(line), number(twins[seed]))
    return found


def _text(found: Mapping[str, tuple[float, float]]) -> str:
    told = (f"{name}: {ours:.1f} against {others:.1f}" for name, (ours, others) in found.items())
    return "; ".join(told)


def smaller_gap(of: Mapping[str, str] = PAIRS) -> Callable[[Results], Outcome]:
    """Gaps with wipeout and without."""

    def judge(results: Results) -> Outcome:
        found = pairs(results, gap_before_end, of)
        less = [others - ours >= GAP_MARGIN for ours, others in found.values()]
        verdict = claim_rules.unanimous(less, [not yes for yes in less])
        return f"points, with wipeout against without: {_text(found)}.", verdict

    return judge


def better_cell_in_place(of: Mapping[str, str] = PAIRS) -> Callable[[Results], Outcome]:
    """Accuracies of the final cells with the supernet's weights."""

    def judge(results: Results) -> Outcome:
        found = pairs(results, cell_in_place, of)
        more = [ours - others >= GAP_MARGIN for ours, others in found.values()]
        verdict = claim_rules.unanimous(more, [not yes for yes in more])
        return f"percent, with wipeout against without: {_text(found)}.", verdict

    return judge


def saves_time(variant: str, of: Mapping[str, str] = PAIRS) -> Callable[[Results], Outcome]:
    """CPU time of a variant against its twin without wipeout."""

    def judge(results: Results) -> Outcome:
        only = {variant: of[variant]}
        found = {
            name: 1 - ours / others for name, (ours, others) in pairs(results, cpu_seconds, only).items()
        }
        told = "; ".join(f"{name}: {100 * share:.1f} % saved" for name, share in found.items())
        return f"{told}.", claim_rules.saves(list(found.values()))

    return judge


def keeps_cell(of: Mapping[str, str] = PAIRS) -> Callable[[Results], Outcome]:
    """True accuracies with wipeout and without."""

    def judge(results: Results) -> Outcome:
        found = pairs(results, true_accuracy, of)
        kept = [ours > others - MARGIN for ours, others in found.values()]
        verdict = claim_rules.unanimous(kept, [not yes for yes in kept])
        return f"true accuracy in percent, with wipeout against without: {_text(found)}.", verdict

    return judge


def gains_over(ours: str, others: str) -> Callable[[Results], Outcome]:
    """True accuracies of one variant against another."""

    def judge(results: Results) -> Outcome:
        values = {
            name: [true_accuracy(line) for line in lines_of(results, name).values()]
            for name in (ours, others)
        }
        found = claim_rules.difference(values[ours], values[others])
        numbers = ", ".join(f"{name} {spread(v)} %" for name, v in values.items())
        return f"{numbers}: {found}.", claim_rules.gain(found)

    return judge


def paper_rate_no_worse(results: Results) -> Outcome:
    """The default's rate against the paper's; the part says the reverse."""
    measured, verdict = gains_over("wipeout", "rate-paper")(results)
    return measured, claim_rules.opposite(verdict)


def per_sample_no_worse(results: Results) -> Outcome:
    """The default's accounting against the paper's; the part says the reverse."""
    measured, verdict = gains_over("wipeout", "per-sample")(results)
    return measured, claim_rules.opposite(verdict)


def sparse(variant: str) -> Callable[[Results], Outcome]:
    """Entropies while all experts were there."""

    def judge(results: Results) -> Outcome:
        found = {s: entropy_before_wipeout(line) for s, line in lines_of(results, variant).items()}
        told = ", ".join(f"{value:.4f}" for value in found.values())
        verdict = claim_rules.unanimous(
            [value < SPARSE for value in found.values()], [value >= UNIFORM for value in found.values()]
        )
        return f"entropy before the first wipeout: {told}.", verdict

    return judge


def _held(results: Results, variant: str) -> tuple[str, list[float]]:
    found = {seed: held_weight(line) for seed, line in lines_of(results, variant).items()}
    told = "; ".join(f"seed {seed}: {value:.3f}" for seed, value in found.items())
    return f"mean weight at the end: {told}.", list(found.values())


def recovers(variant: str) -> Callable[[Results], Outcome]:
    """Whether the operation ends above an equal share."""

    def judge(results: Results) -> Outcome:
        told, found = _held(results, variant)
        above = [value > UNIFORM_WEIGHT for value in found]
        return told, claim_rules.unanimous(above, [not yes for yes in above])

    return judge


def stays_behind(variant: str) -> Callable[[Results], Outcome]:
    """Whether it ends below an equal share."""

    def judge(results: Results) -> Outcome:
        told, verdict = recovers(variant)(results)
        return told, claim_rules.opposite(verdict)

    return judge


def gains_more(ours: str, others: str) -> Callable[[Results], Outcome]:
    """Growth of the operation's weight under two rules."""

    def judge(results: Results) -> Outcome:
        gains = {
            name: {
                seed: math.log(held_weight(line) / held_weight(line, 0))
                for seed, line in lines_of(results, name).items()
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


def robust_start(results: Results) -> Outcome:
    """Distances between searches that start apart, under two rules."""
    far = {}
    for late, early in (("late-eg", "early-eg"), ("late-softmax", "early-softmax")):
        controls = lines_of(results, early)
        far[late] = {
            seed: _distance(line, controls[seed]) for seed, line in lines_of(results, late).items()
        }
    eg, softmax = far.values()
    nearer = [eg[seed] < softmax[seed] for seed in eg]
    told = "; ".join(f"seed {seed}: {eg[seed]:.3f} against {softmax[seed]:.3f}" for seed in eg)
    measured = f"total variation, EG against gradient descent with softmax: {told}."
    return measured, claim_rules.unanimous(nearer, [not yes for yes in nearer])


def _distance(one: Record, other: Record) -> float:
    """Total variation between mean mixtures at the end."""
    mixtures = [line["epochs"][-1]["mean_mixture"]["normal"] for line in (one, other)]
    return float(sum(abs(a - b) for a, b in zip(*mixtures, strict=True))) / 2
