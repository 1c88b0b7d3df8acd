"""The stochastic study: known numbers, laws, and what must not matter."""

import math

import numpy as np
import pytest

from xnas.toys import stochastic_study
from xnas.toys.stochastic import Setting, play

NAMES = {("xnas", "optimal"): "xnas_eta*", ("gd", "optimal"): "gd_eta*"} | {
    (method, rate): f"{method}_{float(rate)}" for method in ("xnas", "gd") for rate in ("0.1", "1")
}


@pytest.mark.parametrize(
    ("experts", "noise", "group", "key"),
    [(2, 1.0, "vs_N(sigma=1)", "2"), (10, 5.0, "vs_sigma(N=10)", "5")],
)
def test_thousand_runs_give_the_known_means_and_errors(known, experts, noise, group, key):
    expected = known["stochastic"][group][key]
    for s in play(Setting(experts, noise, 1000, 1000, 0)):
        answer = expected[NAMES[s.method, s.rate]]
        assert s.learning_rate == pytest.approx(answer["eta"])
        assert s.reward_bound == pytest.approx(answer["L"])
        assert s.regret == pytest.approx(answer["regret"], rel=1e-9)
        assert s.regret_error == pytest.approx(answer["regret_se"], rel=1e-9)
        assert s.pseudo_regret == pytest.approx(answer["pseudo_regret"], rel=1e-9)
        assert s.correct == pytest.approx(answer["correct"])
        assert s.correct_error == pytest.approx(answer["correct_se"])
        assert s.wiped == pytest.approx(answer["wiped_before_T_per_run"])


@pytest.fixture(scope="module")
def small():
    return stochastic_study(runs=40, rounds=100)


def test_every_pair_of_experts_and_noise_is_played_once_by_each_method_at_each_rate(small):
    settings = [(s.method, s.rate, s.experts, s.noise) for s in small.selections]
    assert len(settings) == len(set(settings)) == 12 * 2 * 3


def test_selection_of_xnas_does_not_depend_on_the_rate(small):
    for experts in (2, 10, 100):
        fractions = {
            s.correct
            for s in small.selections
            if s.method == "xnas" and s.experts == experts and s.noise == 1
        }
        assert len(fractions) == 1


def test_series_are_filtered_and_sorted(small):
    series = small.series("gd", "0.1", noise=1.0)
    assert [s.experts for s in series] == [2, 5, 10, 20, 50, 100]
    assert [s.noise for s in small.series("gd", "1", experts=10)] == [0.1, 0.5, 1, 2, 5, 10, 20]


def test_another_seed_gives_other_numbers(small):
    other = stochastic_study(runs=40, rounds=100, seed=1)
    assert other.selections[0].regret != small.selections[0].regret


@pytest.mark.slow
def test_regret_of_xnas_grows_with_the_root_of_the_logarithm_of_experts():
    study = stochastic_study()
    xnas = study.series("xnas", "optimal", noise=1.0)
    x = [0.5 * math.log(math.log(s.experts)) for s in xnas]
    slope = np.polyfit(x, [math.log(s.regret) for s in xnas], 1)[0]
    assert slope == pytest.approx(1.0, abs=0.1)  # regret ~ sqrt(ln N) at the optimal rate
    gd = study.series("gd", "1", noise=1.0)
    power = np.polyfit([math.log(s.experts) for s in gd], [math.log(s.regret) for s in gd], 1)[0]
    assert 0.5 < power < 1.0  # steeper than sqrt(ln N) by far; the paper says sqrt(N)
