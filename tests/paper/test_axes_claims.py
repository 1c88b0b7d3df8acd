"""Verdicts follow the numbers: each claim on hand-made paths, on both sides of its criterion."""

import math

import pytest
from judged import FAILS, HOLDS, IN_PART, NEAR, found, verdict

from xnas.paper.axes_claims import attenuation_claims, toy_2d_claims, toy_3d_claims
from xnas.records import Attenuation, AxesStudy, Trajectory


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


def test_steps_are_reported_by_rate_or_once_for_all():
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
