"""Verdicts follow the numbers: each claim on hand-made studies, on both sides of its criterion."""

import math
from dataclasses import replace

import pytest
from judged import FAILS, HOLDS, IN_PART, NEAR, found, verdict

from xnas.paper.regret_claims import adversary_claims, memory_claims, stochastic_claims
from xnas.paper.verdicts import SLOPE_TOLERANCE, STANDARD_ERRORS
from xnas.records import AdversaryStudy, RegretCurve, Selection, SelectionStudy

# --- Noisy experts ---

ROOM = 0.01  # of an exponent, to either side of a criterion


def noisy_study(change=lambda s: s, *, powers=None):
    """A study of which every claim holds, with its selections changed one by one.

    `powers` are the exponents of regret: of gradient descent's in N, of XNAS's in √(ln N).
    """
    powers = {"gd": 0.5, "xnas": 1.0} | (powers or {})
    pairs = [(n, 1.0) for n in (2, 5, 10, 20, 50, 100)]
    pairs += [(10, s) for s in (0.1, 0.5, 2.0, 5.0, 10.0, 20.0)]
    selections = []
    for method in ("xnas", "gd"):
        for rate in ("0.1", "1", "optimal"):
            power = powers.get((method, rate), powers[method])
            for experts, noise in pairs:
                base = math.sqrt(math.log(experts)) if method == "xnas" else 10 * experts
                regret = 10 * base**power * noise
                selection = Selection(
                    method=method,
                    rate=rate,
                    learning_rate=0.1,
                    reward_bound=1.0,
                    experts=experts,
                    noise=noise,
                    regret=regret,
                    regret_error=regret / 1000,
                    pseudo_regret=regret,
                    correct=(0.9 if method == "xnas" else 0.6) - regret / 1e5,
                    correct_error=0.03,
                    wiped=1.0,
                    log_wipeout_factor=0.1,
                )
                selections.append(change(selection))
    return SelectionStudy(runs=2, rounds=2, seed=0, selections=tuple(selections))


def at(selection, method, experts=10, noise=1.0):
    return (selection.method, selection.experts, selection.noise) == (method, experts, noise)


def test_of_the_hand_made_study_every_claim_holds():
    claims = stochastic_claims(noisy_study())
    assert [claim.verdict for claim in claims] == [HOLDS] * 7


@pytest.mark.parametrize("side", [-1, 1])
def test_the_root_of_the_logarithm_is_wanted_at_both_rates(side):
    inside, outside = (1 + side * (SLOPE_TOLERANCE + room) for room in (-ROOM, ROOM))
    for best, fixed, expected in (
        (inside, inside, HOLDS),
        (outside, inside, IN_PART),
        (inside, outside, IN_PART),
        (outside, outside, FAILS),
    ):
        powers = {("xnas", "optimal"): best, ("xnas", "0.1"): fixed}
        claim = found(stochastic_claims(noisy_study(powers=powers)), "The regret of XNAS grows")
        assert claim.verdict == expected
        assert f"(ln N)^{best / 2:.2f} at η*, (ln N)^{fixed / 2:.2f} at rate 0.1" in claim.measured


@pytest.mark.parametrize("side", [-1, 1])
def test_the_root_is_wanted_at_every_rate(side):
    inside, outside = (0.5 + side * (SLOPE_TOLERANCE + room) for room in (-ROOM, ROOM))
    for powers, expected in (
        ((inside, inside, inside), HOLDS),
        ((outside, inside, inside), IN_PART),
        ((inside, outside, inside), IN_PART),
        ((inside, inside, outside), IN_PART),
        ((outside, outside, outside), FAILS),
    ):
        by_rate = {("gd", r): p for r, p in zip(("0.1", "1", "optimal"), powers, strict=True)}
        claims = stochastic_claims(noisy_study(powers=by_rate))
        assert verdict(claims, "The regret of gradient descent") == expected


@pytest.mark.parametrize("rate", ["0.1", "1", "optimal"])
@pytest.mark.parametrize("noise", [1.0, 20.0])
def test_smaller_regret_has_to_be_clear_in_every_setting_and_at_every_rate(rate, noise):
    for lead, expected in ((STANDARD_ERRORS + NEAR, HOLDS), (STANDARD_ERRORS - NEAR, IN_PART)):

        def change(s, lead=lead):
            if s.rate == rate and s.noise == noise and s.experts == 10:
                # Errors of 3 and 4 combine to 5.
                regret, error = (100.0, 3.0) if s.method == "xnas" else (100 + 5 * lead, 4.0)
                return replace(s, regret=regret, regret_error=error)
            return s

        claim = found(stochastic_claims(noisy_study(change)), "The regret of XNAS is")
        assert claim.verdict == expected
        assert "12 settings of N and σ, rate 0.1, rate 1, η*" in claim.measured
        assert f"its excess is {lead:.1f} to" in claim.measured


def test_a_regret_that_is_nowhere_clearly_smaller_is_not_smaller():
    claims = stochastic_claims(noisy_study(lambda s: replace(s, regret_error=1e9)))
    assert verdict(claims, "The regret of XNAS is") == FAILS


@pytest.mark.parametrize(
    ("statement", "rate"), [("XNAS selects the best", "0.1"), ("... also at η*", "optimal")]
)
@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # Of gradient descent's handicap in two settings, in standard errors; it has none in the others.
        ((STANDARD_ERRORS + NEAR, 0), HOLDS),
        ((STANDARD_ERRORS + NEAR, -STANDARD_ERRORS + NEAR), HOLDS),  # a little less often is noise
        ((STANDARD_ERRORS + NEAR, -STANDARD_ERRORS - NEAR), IN_PART),
        ((STANDARD_ERRORS - NEAR, 0), FAILS),
        ((0, -STANDARD_ERRORS - NEAR), FAILS),
    ],
)
def test_selection_is_better_if_clearly_so_somewhere_and_clearly_worse_nowhere(
    statement, rate, scores, expected
):
    def change(s):
        if s.rate != rate:
            return s
        handicap = 0.0
        if s.method == "gd" and s.noise == 1:
            handicap = {10: scores[0], 100: scores[1]}.get(s.experts, 0.0)
        error = 0.03 if s.method == "xnas" else 0.04
        return replace(s, correct=0.5 - 0.05 * handicap, correct_error=error)

    claim = found(stochastic_claims(noisy_study(change)), statement)
    assert claim.verdict == expected
    assert "of 12 settings" in claim.measured


@pytest.mark.parametrize(
    ("rises", "expected"),
    [((STANDARD_ERRORS - NEAR,) * 3, HOLDS), ((STANDARD_ERRORS + NEAR,) * 3, IN_PART)],
)
def test_selection_may_rise_with_regret_only_within_noise(rises, expected):
    def change(s):
        # A common level but for one setting, whose regret stays in its place in the order.
        correct = 0.5 + (0.05 * rises[0] if at(s, "xnas", experts=50) else 0.0)
        return replace(s, correct=correct, correct_error=0.03 if s.experts == 50 else 0.04)

    claim = found(stochastic_claims(noisy_study(change)), "Correct selection falls")
    assert claim.verdict == expected
    assert "of 22 steps along 4 curves" in claim.measured


def test_selection_that_mostly_rises_with_regret_does_not_fall():
    claims = stochastic_claims(
        noisy_study(lambda s: replace(s, correct=s.regret / 1e5, correct_error=1e-9))
    )
    assert verdict(claims, "Correct selection falls") == FAILS


@pytest.mark.parametrize(("least", "expected"), [(1e-9, HOLDS), (0.0, FAILS)])
@pytest.mark.parametrize(("experts", "noise"), [(100, 1.0), (10, 20.0)])
def test_wipeout_has_to_help_in_every_setting(least, expected, experts, noise):
    claims = stochastic_claims(
        noisy_study(
            lambda s: replace(s, log_wipeout_factor=least) if at(s, "xnas", experts, noise) else s
        )
    )
    assert verdict(claims, "Wipeout reduces") == expected


@pytest.mark.parametrize(
    ("adam", "xnas", "expected"),
    [
        (1 + SLOPE_TOLERANCE - ROOM, 0.5 + SLOPE_TOLERANCE - ROOM, HOLDS),
        (1 - SLOPE_TOLERANCE + ROOM, 0.5 - SLOPE_TOLERANCE + ROOM, HOLDS),
        (1 - SLOPE_TOLERANCE - ROOM, 0.5, IN_PART),
        (1, 0.5 + SLOPE_TOLERANCE + ROOM, IN_PART),
        (1, 0.5 - SLOPE_TOLERANCE - ROOM, IN_PART),
        (1 + SLOPE_TOLERANCE + ROOM, 0.5 + SLOPE_TOLERANCE + ROOM, FAILS),
    ],
)
def test_adam_is_to_be_linear_and_xnas_a_root(adam, xnas, expected):
    rounds = (10, 100, 1000, 10_000)
    powers = {"xnas": xnas, "adam (0, 0.1)": adam, "adam (0.5, 0.999)": 0.1}
    curves = tuple(
        # The first point is off the law: only the last three are fitted.
        RegretCurve(method=m, rounds=rounds, regret=(1.0, *(5 * t**p for t in rounds[1:])))
        for m, p in powers.items()
    )
    (claim,) = adversary_claims(AdversaryStudy(loss="", curves=curves, bound=(1.0,) * 4))
    assert claim.verdict == expected
    assert f"(exponent {adam:.2f})" in claim.measured


@pytest.mark.parametrize(
    ("experts", "essential", "expected"),
    [
        (799, 798, HOLDS),
        (800, 798, IN_PART),  # the whole state is as large as Adam's
        (799, 800, IN_PART),  # one sum an expert is as large as SGD's momentum
        (800, 1600, FAILS),
    ],
)
def test_state_has_to_be_smaller_than_adam_s_and_than_momentum(experts, essential, expected):
    sizes = {"ExpertsOptimizer": experts, "Adam": 800, "SGD": 400}
    (claim,) = memory_claims(sizes, essential)
    assert claim.verdict == expected
    assert f"{essential // 2} in the single precision" in claim.measured


def test_one_sum_an_expert_has_to_be_smaller_than_adam_s_state():
    # Momentum larger than Adam's state, so that this condition alone decides.
    sizes = {"ExpertsOptimizer": 900, "Adam": 800, "SGD": 1000}
    assert memory_claims(sizes, 1598)[0].verdict == IN_PART
    sizes["SGD"] = 700
    assert memory_claims(sizes, 1598)[0].verdict == IN_PART
    assert memory_claims(sizes, 1600)[0].verdict == FAILS
