"""The sequence of losses that Adam fails on."""

import math

import pytest

from xnas.toys import adversary_study
from xnas.toys.adversary import SLOPE, gradients


def test_adam_s_regret_is_linear_on_the_bad_sequence_and_the_forecaster_s_is_not():
    study = adversary_study((300, 3000))
    curves = {c.method: c.regret for c in study.curves}
    assert curves["adam (0, 0.1)"][1] / curves["adam (0, 0.1)"][0] == pytest.approx(10, rel=0.1)
    assert curves["adam (0, 0.1)"][1] / 3000 == pytest.approx(2 * (SLOPE - 2) / 3, rel=0.05)
    assert curves["xnas"][1] / curves["xnas"][0] < 4
    assert all(r <= b for r, b in zip(curves["xnas"], study.bound, strict=True))


@pytest.mark.parametrize("rounds", [30, 300])
def test_the_forecaster_plays_the_bad_sequence_at_the_rate_of_remark_1(rounds):
    # η* = √(2 ln N / (T L²)) with two experts and the steepest slope as the bound.
    rate = math.sqrt(2 * math.log(2) / (rounds * SLOPE**2))
    sums, alive, lost = [0.0, 0.0], [0, 1], 0.0
    for t in range(1, rounds + 1):
        slope = SLOPE if t % 3 == 1 else -1.0
        weights = [math.exp(rate * sums[i]) for i in alive]
        x = sum(w * (-1, 1)[i] for w, i in zip(weights, alive, strict=True)) / sum(weights)
        lost += slope * x
        sums = [sums[0] + slope, sums[1] - slope]  # a reward is -slope · advice
        lead = max(sums[i] for i in alive)
        alive = [i for i in alive if sums[i] >= lead - 2 * SLOPE * (rounds - t)]
    regret = lost + sum(gradients(rounds).tolist())  # against -1, which loses minus the sum
    (xnas,) = [c for c in adversary_study((rounds,)).curves if c.method == "xnas"]
    assert xnas.regret[0] == pytest.approx(regret, abs=1e-9)


def test_the_best_fixed_point_of_the_bad_sequence_is_minus_one():
    assert gradients(999).sum() > 0
