"""The deterministic toys against numbers that were computed independently."""

import math

import pytest
import torch

from xnas.theory import linearized_regret, regret, regret_bound
from xnas.toys import attenuation, toy_2d, toy_3d
from xnas.toys.axes import LATE_BLOOMER, QUADRATIC, follow

PRINTED = 1e-9  # the independent numbers are printed to ten digits


def by_method(study):
    return {path.method: path for path in study.trajectories}


def test_3d_paths_and_update_terms_are_the_known_ones(known):
    expected = known["toy3d"]["by_eta"]["0.5"]
    for method, path in by_method(toy_3d()).items():
        answers = expected[method]
        for step, point in answers["p_at"].items():
            assert path.points[int(step)] == pytest.approx(point, abs=PRINTED), (method, step)
        for step, term in answers["z_update_at"].items():
            assert path.update_terms[int(step) - 1][2] == pytest.approx(term, abs=PRINTED)
        assert path.logits == pytest.approx(answers["alpha_final"], abs=PRINTED)


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5, 1.0, 3.7])
def test_axes_are_wiped_out_in_the_same_rounds_at_every_rate(rate, known):
    expected = known["toy3d"]["wipeout_exact"]
    assert toy_3d(rate).wiped_at == (expected["x_wiped_at"], expected["y_wiped_at"], 0)


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5, 1.0])
def test_the_late_bloomer_ties_at_step_90_and_leads_after_at_every_rate(rate):
    points = follow(LATE_BLOOMER, "xnas", rate).points
    assert points[90][1] == points[90][2]
    assert all(p[2] > p[1] for p in points[91:])
    assert all(p[1] > p[2] for p in points[31:90])


def test_gradient_descent_recovers_below_the_critical_rate_only(known):
    critical = known["toy3d"]["critical_eta_for_GD (z>y at step 120 iff eta below)"]
    for rate, recovers in ((0.999 * critical, True), (1.001 * critical, False)):
        _, y, z = follow(LATE_BLOOMER, "gd", rate).points[-1]
        assert (z > y) is recovers


def test_2d_paths_distances_and_gradients_are_the_known_ones(known):
    names = {
        "balanced": "balanced_linear",
        "imbalanced": "imbalanced_linear",
        "quadratic": "quadratic_balanced",
    }
    keys = {"xnas": "xnas_literal", "xnas simplex": "xnas_simplex", "gd": "gd"}
    for study in toy_2d():
        for method, path in by_method(study).items():
            expected = known["toy2d"][names[study.problem]][keys[method]]
            for step in (0, 10, 25, 50):
                assert path.points[step][0] == pytest.approx(expected[f"x{step}"], abs=1e-12)
                assert math.dist(path.points[step], (1, 0)) == pytest.approx(
                    expected[f"dist{step}"], abs=1e-12
                )
            norms = [math.hypot(*term) for term in path.update_terms]
            assert norms[0] == pytest.approx(expected["grad_norm_first"], abs=1e-12)
            assert norms[-1] == pytest.approx(expected["grad_norm_last"], abs=1e-12)


def test_the_imbalanced_start_ends_exactly_halfway_as_printed():
    # The paper says that XNAS reaches the minimum; Algorithm 1 moves α_x from 0 to 5 and stops.
    study = next(s for s in toy_2d() if s.problem == "imbalanced")
    assert by_method(study)["xnas"].points[-1] == (0.5, 0.5)
    assert by_method(study)["xnas simplex"].points[-1][0] > 0.99


def test_regret_of_the_quadratic_problem_is_the_known_one(known):
    expected = known["regret_2d_quadratic"]
    path = follow(QUADRATIC, "xnas", 0.1)
    points = torch.tensor(path.points[:-1], dtype=torch.float64)
    own = 0.5 * (points - torch.tensor([1.0, 0.0])).square().sum(-1)
    theirs = torch.tensor([0.0, 1.0], dtype=torch.float64).expand(50, 2)
    rewards = -torch.tensor(path.update_terms, dtype=torch.float64)
    linear = linearized_regret(points, rewards).item()
    assert regret(own, theirs).item() == pytest.approx(expected["regret(best expert x has zero loss)"])
    assert linear == pytest.approx(expected["linearised_regret"])
    bound = regret_bound(2, 50, learning_rate=0.1).item()
    assert bound == pytest.approx(expected["bound_without_wipeout"])
    assert regret(own, theirs).item() <= linear <= bound


def test_attenuation_is_the_known_factor(known):
    record, expected = attenuation(), known["toy2d"]["attenuation_factor"]
    for grid, factors, answers in (
        (record.x, record.along_simplex, expected["x(1-x) at x"]),
        (record.logit, record.against_logit, expected["vs alpha_x (alpha_y=0)"]),
    ):
        for place, factor in answers.items():
            nearest = min(range(len(grid)), key=lambda i: abs(grid[i] - float(place)))
            assert grid[nearest] == pytest.approx(float(place), abs=1e-12)
            assert factors[nearest] == pytest.approx(factor, abs=1e-12)
