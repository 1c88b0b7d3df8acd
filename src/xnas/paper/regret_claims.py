"""Claims on regret, selection, wipeout and memory, judged by noisy experts and a bad sequence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from xnas.paper.verdicts import (
    SLOPE_TOLERANCE,
    STANDARD_ERRORS,
    fitted_exponent,
    judge,
    standard_score,
)
from xnas.records import AdversaryStudy, Claim, Selection, SelectionStudy

RATE_NAMES = {"0.1": "rate 0.1", "1": "rate 1", "optimal": "η*"}


def stochastic_claims(study: SelectionStudy) -> list[Claim]:
    """Regret and selection among noisy experts (Sec. 3.1, 8.3)."""
    by_experts = {(m, r): study.series(m, r, noise=1.0) for m in ("xnas", "gd") for r in RATE_NAMES}
    curves = [by_experts[m, "0.1"] for m in ("xnas", "gd")]
    curves += [study.series(m, "0.1", experts=10) for m in ("xnas", "gd")]
    return [
        _root_log_claim(by_experts["xnas", "optimal"], by_experts["xnas", "0.1"]),
        _root_claim({rate: by_experts["gd", rate] for rate in RATE_NAMES}),
        _smaller_regret_claim([pair for rate in RATE_NAMES for pair in _rivals(study, rate)]),
        _selection_claim(
            "XNAS selects the best expert more often, at equal rates",
            "0.1",
            _rivals(study, "0.1"),
        ),
        _selection_claim(
            "... also at η*, the rate of Remark 1 (for this study the paper states no rate)",
            "optimal",
            _rivals(study, "optimal"),
        ),
        _monotone_claim(curves),
        _wipeout_claim(study.series("xnas", "optimal")),
    ]


def adversary_claims(study: AdversaryStudy) -> list[Claim]:
    """Adam's regret is linear in T (Sec. 3.1)."""
    curves = {c.method: c for c in study.curves}
    tail = slice(-3, None)
    slope = {m: fitted_exponent(c.rounds[tail], c.regret[tail]) for m, c in curves.items()}
    failing = "adam (0, 0.1)"
    text = ", ".join(f"{m}: {c.regret[-1]:.0f} (exponent {slope[m]:.2f})" for m, c in curves.items())
    return [
        Claim(
            statement="Adam's worst-case regret is linear in T, that of XNAS grows with its square root",
            where="Sec. 3.1",
            measured=f"losses {study.loss}; regret after {curves['xnas'].rounds[-1]} rounds: {text}. "
            "Decay rates (0, 0.1) are those of the counter-example, (0.5, 0.999) those of DARTS",
            verdict=judge(
                abs(slope[failing] - 1) < SLOPE_TOLERANCE, abs(slope["xnas"] - 0.5) < SLOPE_TOLERANCE
            ),
        )
    ]


def memory_claims(state_bytes: Mapping[str, int], essential: int) -> list[Claim]:
    """No momentum to store (Sec. 3.2.2); bytes per 14 x 7 mixture, `essential` those of Algorithm 1."""
    adam, experts = state_bytes["Adam"], state_bytes["ExpertsOptimizer"]
    text = ", ".join(f"{name} {size}" for name, size in state_bytes.items())
    single = essential // 2
    return [
        Claim(
            statement="Without momentum XNAS keeps fewer state variables than Adam or SGD with momentum",
            where="Sec. 3.2.2",
            measured=f"bytes of state for 14 x 7 weights: {text}. Algorithm 1 alone needs one sum per "
            f"expert: {essential} bytes in the double precision used here, {single} in the single "
            "precision of the others; the rest is the ledger, and what is remembered of wiped experts",
            verdict=judge(experts < adam, single < adam, single < state_bytes["SGD"]),
        )
    ]


def _root_log_claim(optimal: Sequence[Selection], fixed: Sequence[Selection]) -> Claim:
    root_log = [math.sqrt(math.log(s.experts)) for s in optimal]
    at_best = fitted_exponent(root_log, [s.regret for s in optimal])
    at_fixed = fitted_exponent(root_log, [s.regret for s in fixed])
    return Claim(
        statement="The regret of XNAS grows with the number of experts like sqrt(ln N)",
        where="Sec. 3.1, 8.3, Fig. 8 (left)",
        measured=f"fitted powers: (ln N)^{at_best / 2:.2f} at η*, (ln N)^{at_fixed / 2:.2f} at rate 0.1",
        verdict=judge(abs(at_best - 1) < SLOPE_TOLERANCE, abs(at_fixed - 1) < SLOPE_TOLERANCE),
    )


def _root_claim(series: Mapping[str, Sequence[Selection]]) -> Claim:
    powers = {
        rate: fitted_exponent([s.experts for s in given], [s.regret for s in given])
        for rate, given in series.items()
    }
    text = ", ".join(f"N^{power:.2f} at {RATE_NAMES[rate]}" for rate, power in powers.items())
    return Claim(
        statement="The regret of gradient descent with softmax grows like sqrt(N)",
        where="Sec. 8.3, Fig. 8 (left)",
        measured=f"fitted powers: {text}",
        verdict=judge(*(abs(power - 0.5) < SLOPE_TOLERANCE for power in powers.values())),
    )


def _rivals(study: SelectionStudy, rate: str) -> list[tuple[Selection, Selection]]:
    """XNAS and gradient descent in every setting (N, σ), at one rate."""
    return list(zip(study.series("xnas", rate), study.series("gd", rate), strict=True))


def _smaller_regret_claim(pairs: Sequence[tuple[Selection, Selection]]) -> Claim:
    scores = [
        standard_score(theirs.regret - ours.regret, ours.regret_error, theirs.regret_error)
        for ours, theirs in pairs
    ]
    ratios = [theirs.regret / ours.regret for ours, theirs in pairs]
    text = ", ".join(dict.fromkeys(RATE_NAMES[ours.rate] for ours, _ in pairs))
    settings = {(ours.experts, ours.noise) for ours, _ in pairs}
    return Claim(
        statement="The regret of XNAS is significantly smaller at equal rates",
        where="Sec. 8.3, Fig. 8",
        measured=f"{len(settings)} settings of N and σ, {text}: gradient descent's regret is "
        f"{min(ratios):.2f} to {max(ratios):.2f} times as large; its excess is {min(scores):.1f} to "
        f"{max(scores):.1f} standard errors",
        verdict=judge(min(scores) > STANDARD_ERRORS, max(scores) > STANDARD_ERRORS),
    )


def _selection_claim(statement: str, rate: str, pairs: Sequence[tuple[Selection, Selection]]) -> Claim:
    scores = [
        standard_score(ours.correct - theirs.correct, ours.correct_error, theirs.correct_error)
        for ours, theirs in pairs
    ]
    more = sum(score > STANDARD_ERRORS for score in scores)
    less = sum(score < -STANDARD_ERRORS for score in scores)
    gains = [100 * (ours.correct - theirs.correct) for ours, theirs in pairs]
    return Claim(
        statement=statement,
        where="Sec. 8.3, Fig. 8",
        measured=f"{RATE_NAMES[rate]}: of {len(scores)} settings, more often by {STANDARD_ERRORS:g} "
        f"standard errors in {more}, less often by as much in {less}; differences from "
        f"{min(gains):+.1f} to {max(gains):+.1f} points",
        verdict=judge(more > 0, more > 0 and less == 0),
    )


def _monotone_claim(series: Sequence[Sequence[Selection]]) -> Claim:
    falls = []
    for given in series:
        ordered = sorted(given, key=lambda s: s.regret)
        for before, after in pairwise(ordered):
            slack = STANDARD_ERRORS * math.hypot(before.correct_error, after.correct_error)
            falls.append(after.correct <= before.correct + slack)
    return Claim(
        statement="Correct selection falls monotonically as the regret grows",
        where="Sec. 8.3, Fig. 8",
        measured=f"rate 0.1: in {sum(falls)} of {len(falls)} steps along {len(series)} curves, within "
        f"{STANDARD_ERRORS:g} standard errors",
        verdict=judge(all(falls), sum(falls) > len(falls) // 2),
    )


def _wipeout_claim(selections: Sequence[Selection]) -> Claim:
    gains = [s.log_wipeout_factor / (2 * math.log(s.experts)) for s in selections]
    gone = [s.wiped / (s.experts - 1) for s in selections]
    return Claim(
        statement="Wipeout reduces the regret bound through the factor γ",
        where="Sec. 3.1, Theorem 1, eq. 4",
        measured=f"{100 * min(gone):.0f}-{100 * max(gone):.0f} % of the inferior experts leave before "
        "the last round; with the wipeouts of the last round, which count in γ too, the bound at η* "
        f"falls by {100 * min(gains):.1f} to {100 * max(gains):.1f} %",
        verdict=judge(min(gains) > 0),
    )
