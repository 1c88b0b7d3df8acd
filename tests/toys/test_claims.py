"""Verdicts follow the numbers: each claim on hand-made records, on both sides of its criterion."""

import math
from dataclasses import replace

import pytest

from xnas.records import (
    AdversaryStudy,
    Attenuation,
    AxesStudy,
    RegretCurve,
    Selection,
    SelectionStudy,
    Trajectory,
)
from xnas.toys import (
    adversary_claims,
    attenuation_claims,
    memory_claims,
    stochastic_claims,
    toy_2d_claims,
    toy_3d_claims,
)
from xnas.toys.verdicts import (
    SLOPE_TOLERANCE,
    STANDARD_ERRORS,
    fitted_exponent,
    judge,
    standard_score,
)

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"
NEAR = 1e-6  # from a criterion: nearer than any rule below can tell apart by accident


def verdict(claims, start):
    """Verdict on the one claim whose statement begins so."""
    return found(claims, start).verdict


def found(claims, start):
    (claim,) = [claim for claim in claims if claim.statement.startswith(start)]
    return claim


# --- The rules ---


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ((True,), HOLDS),
        ((True, True), HOLDS),
        ((True, False), IN_PART),
        ((False, True, True), IN_PART),
        ((False,), FAILS),
        ((False, False), FAILS),
    ],
)
def test_all_conditions_some_or_none(conditions, expected):
    assert judge(*conditions) == expected


@pytest.mark.parametrize("power", [-1.0, 0.5, 2.0])
def test_the_exponent_of_a_power_law_is_found(power):
    x = [2, 5, 10, 100]
    assert fitted_exponent(x, [7 * n**power for n in x]) == pytest.approx(power)


def test_the_fitted_exponent_is_that_of_least_squares():
    # ln x = 0, 1, 3 and ln y = 0, 3, 0: Σ (ln x - 4/3) ln y = -1 and Σ (ln x - 4/3)² = 14/3. The end
    # points would give 0.
    assert fitted_exponent([1, math.e, math.e**3], [1, math.e**3, 1]) == pytest.approx(-3 / 14)


def test_a_difference_is_told_in_combined_standard_errors():
    assert standard_score(10, 3, 4) == 2
    assert standard_score(-10, 3, 4) == -2
    assert (standard_score(1, 0, 0), standard_score(-1, 0), standard_score(0, 0)) == (
        math.inf,
        -math.inf,
        0,
    )


# --- Late bloomers ---


def space_path(method, *, end=(0.1, 0.2, 0.7), overtaken_at=91, terms=(2.0, 2.0)):
    """A path in 3D on which z leads y from a step on, or never; `terms` are those of steps 1 and 30."""
    points = [(0.3, 0.4, 0.3)] * 120 + [end]
    if overtaken_at is not None:
        points[overtaken_at:120] = [(0.3, 0.3, 0.4)] * (120 - overtaken_at)
    sizes = [terms[0]] + [math.nan] * 28 + [terms[1]] + [math.nan] * 90
    return Trajectory(
        method=method,
        points=tuple(points),
        update_terms=tuple((0.0, 0.0, size) for size in sizes),
        logits=(0.0, 0.0, 0.0),
    )


def space_study(xnas=None, gd=None):
    return AxesStudy(
        problem="late bloomer",
        loss="",
        learning_rate=0.5,
        reward_bound=2,
        optimum=(0, 0, 1),
        trajectories=(xnas or space_path("xnas"), gd or space_path("gd")),
        wiped_at=(0, 0, 0),
    )


STUCK = {"overtaken_at": None, "end": (0.1, 0.8, 0.1)}


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([(0.1, 0.2, 0.7), (0, 0, 1)], HOLDS),
        ([(0.1, 0.2, 0.7), (0.3, 0.35, 0.35)], IN_PART),  # level is no lead
        ([(0.4, 0.2, 0.4), (0.2, 0.6, 0.2)], FAILS),
    ],
)
def test_the_late_bloomer_recovers_if_z_leads_at_the_end_at_every_rate(ends, expected):
    studies = {
        rate: space_study(xnas=space_path("xnas", end=end)) for rate, end in enumerate(ends, start=1)
    }
    assert verdict(toy_3d_claims(studies), "XNAS lets a late bloomer") == expected


@pytest.mark.parametrize(
    ("paths", "expected"),
    [([STUCK, STUCK], HOLDS), ([{}, STUCK], IN_PART), ([{}, {"overtaken_at": 119}], FAILS)],
)
def test_gradient_descent_struggles_where_z_never_overtakes(paths, expected):
    studies = {
        rate: space_study(gd=space_path("gd", **path)) for rate, path in enumerate(paths, start=1)
    }
    assert verdict(toy_3d_claims(studies), "Gradient descent with softmax struggles") == expected


def test_steps_are_told_by_rate_or_once_for_all():
    studies = {
        0.1: space_study(),
        0.5: space_study(gd=space_path("gd", **STUCK)),
    }
    claims = toy_3d_claims(studies)
    assert "overtakes y: step 91 at rates 0.1, 0.5;" in found(claims, "XNAS lets").measured
    assert "step 91 at rate 0.1, never at rate 0.5" in found(claims, "Gradient descent").measured


@pytest.mark.parametrize(
    ("decays", "expected"),
    [([0.499, 0.05], HOLDS), ([0.501, 0.05], IN_PART), ([0.501, 1.2], FAILS)],
)
def test_the_term_decays_if_it_falls_below_half_at_every_rate(decays, expected):
    studies = {
        rate: space_study(gd=space_path("gd", terms=(-0.4, 0.4 * decay)))
        for rate, decay in enumerate(decays, start=1)
    }
    claim = found(toy_3d_claims(studies), "Its update term")
    assert claim.verdict == expected
    assert ", ".join(f"{d:.3f} at rate {r}" for r, d in enumerate(decays, start=1)) in claim.measured
    assert claim.measured.endswith("XNAS's keeps its size, 2")


def test_a_term_of_xnas_that_changes_is_not_said_to_keep_its_size():
    studies = {1.0: space_study(xnas=space_path("xnas", terms=(2.0, 1.0)))}
    assert found(toy_3d_claims(studies), "Its update").measured.endswith("XNAS's has sizes 1 to 2")


# --- The plane ---


def plane_studies(**ends):
    """Studies of the 2D problems whose paths end at the given x, by problem and method."""
    usual = {
        "balanced": {"xnas": 0.9, "xnas simplex": 1.0, "gd": 0.8},
        "imbalanced": {"xnas": 0.995, "xnas simplex": 0.995, "gd": 0.01},
        "quadratic": {"xnas": 0.8, "xnas simplex": 0.9, "gd": 0.5},
    }
    start = {"balanced": 0.5, "imbalanced": 0.005, "quadratic": 0.5}
    studies = []
    for problem, by_method in usual.items():
        paths = tuple(
            Trajectory(
                method=method,
                points=((start[problem], 1 - start[problem]), (x, 1 - x)),
                update_terms=(),
                logits=(0.0, 0.0),
            )
            for method, x in (by_method | ends.get(problem, {})).items()
        )
        studies.append(
            AxesStudy(
                problem=problem,
                loss="",
                learning_rate=0.1,
                reward_bound=1,
                optimum=(1, 0),
                trajectories=paths,
                wiped_at=(0, 0),
            )
        )
    return studies


@pytest.mark.parametrize(("gd", "expected"), [(0.9 - NEAR, HOLDS), (0.9 + NEAR, FAILS)])
def test_faster_is_closer_to_the_minimum_at_the_end(gd, expected):
    claims = toy_2d_claims(plane_studies(balanced={"gd": gd}))
    assert verdict(claims, "XNAS reaches the minimum faster") == expected


@pytest.mark.parametrize(("gd", "expected"), [(0.015 - NEAR, HOLDS), (0.015 + NEAR, FAILS)])
def test_a_gain_of_a_hundredth_is_progress(gd, expected):
    claims = toy_2d_claims(plane_studies(imbalanced={"gd": gd}))
    assert verdict(claims, "From an imbalanced start") == expected


@pytest.mark.parametrize(
    ("literal", "simplex", "expected"),
    [
        (0.99 + NEAR, 0.99 + NEAR, HOLDS),
        (0.99 - NEAR, 0.99 + NEAR, IN_PART),
        (0.99 + NEAR, 0.99 - NEAR, IN_PART),
        (0.5, 0.99 - NEAR, FAILS),
    ],
)
def test_both_readings_have_to_reach_the_minimum(literal, simplex, expected):
    ends = {"xnas": literal, "xnas simplex": simplex}
    claims = toy_2d_claims(plane_studies(imbalanced=ends))
    assert verdict(claims, "... while XNAS") == expected


@pytest.mark.parametrize(
    ("xnas", "gd", "expected", "suffers"),
    [
        # On the linear loss XNAS ends at a distance of 0.1 √2, gradient descent of 0.2 √2.
        (0.8, 0.6 - NEAR, HOLDS, "gd"),  # both twice as far, and gradient descent a little more
        (0.8, 0.6 + NEAR, IN_PART, "xnas"),
        (0.8, 0.8 - NEAR, IN_PART, "xnas"),
        (0.8, 0.8 + NEAR, FAILS, "xnas"),  # closer than on the linear loss
    ],
)
def test_curvature_is_judged_by_distances_and_by_who_suffers_more(xnas, gd, expected, suffers):
    claims = toy_2d_claims(plane_studies(quadratic={"xnas": xnas, "gd": gd}))
    claim = found(claims, "Curvature")
    assert claim.verdict == expected
    assert claim.measured.endswith(f"In ratio {suffers} suffers more")
    for x in (0.9, 0.8, xnas, gd):
        assert f"{math.sqrt(2) * (1 - x):.4f} with" in claim.measured


# --- Density ---


@pytest.mark.parametrize(
    ("peak", "far", "expected"),
    [(0.5, 9e-5, HOLDS), (0.5, 2e-4, IN_PART), (0.25, 9e-5, IN_PART), (0.25, 2e-4, FAILS)],
)
def test_attenuation_is_least_in_the_middle_and_strong_far_out(peak, far, expected):
    x = (0.25, 0.5, 0.75)
    record = Attenuation(
        x=x,
        along_simplex=tuple(1.0 if place == peak else 0.1 for place in x),
        logit=(-10.0, 0.0),
        against_logit=(far, 0.25),
    )
    claims = attenuation_claims(record, plane_studies())
    assert verdict(claims, "Gradient descent with softmax is attenuated") == expected


@pytest.mark.parametrize(("gd", "expected"), [(0.9 - NEAR, HOLDS), (0.9 + NEAR, FAILS)])
def test_denser_means_of_higher_entropy(gd, expected):
    record = Attenuation(x=(0.5,), along_simplex=(0.25,), logit=(-10.0,), against_logit=(0.0,))
    claims = attenuation_claims(record, plane_studies(balanced={"gd": gd}))
    assert verdict(claims, "So it ends at denser") == expected


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


# --- Adam, memory ---


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
