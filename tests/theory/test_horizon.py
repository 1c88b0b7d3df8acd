import math

import pytest

from xnas import ConfigError, effective_horizon, optimal_learning_rate
from xnas.theory import optimal_regret_bound, regret_bound


def test_paper_s_example_gives_the_paper_s_rates():
    # Sec. 3.2.2: d = 25 000, 50 epochs, 6 and 2 replications, 8 experts; 7 experts would miss by 4 %.
    normal, reduction = (effective_horizon(25_000, 50, r) for r in (6, 2))
    assert (normal, reduction) == (7_500_000, 2_500_000)
    assert optimal_learning_rate(8, normal) == pytest.approx(7.5e-4, rel=0.01)
    assert optimal_learning_rate(8, reduction) == pytest.approx(1.3e-3, rel=0.01)
    assert optimal_learning_rate(7, normal) != pytest.approx(7.5e-4, rel=0.01)


def test_rates_are_those_of_an_independent_computation(known):
    for name, rate in known["eta_star"].items():
        experts = int(name[2])
        replications = 6 if "cell=N" in name else 2
        if "d=" in name:
            horizon = effective_horizon(24_960 if "24960" in name else 25_000, 50, replications)
        else:
            horizon = 261 * 50 * (replications if "replica" in name else 1)
        assert optimal_learning_rate(experts, horizon) == pytest.approx(rate, rel=1e-12), name


def test_the_rate_minimises_the_bound():
    best = optimal_learning_rate(7, 1000, 2.0)
    bound = regret_bound(7, 1000, learning_rate=best, reward_bound=2.0)
    for factor in (0.9, 0.99, 1.01, 1.1):
        assert regret_bound(7, 1000, learning_rate=factor * best, reward_bound=2.0) > bound


def test_a_single_expert_needs_no_rate():
    assert optimal_learning_rate(1, 10) == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: effective_horizon(0, 1, 1), "examples must be at least 1, got 0"),
        (lambda: effective_horizon(1, -2, 1), "epochs must be at least 1, got -2"),
        (lambda: effective_horizon(1, 1, 0), "replications must be at least 1, got 0"),
        (lambda: effective_horizon(math.nan, 1, 1), "examples must be at least 1, got nan"),
        (lambda: optimal_learning_rate(7, math.nan), "at least 1 round and finite, got nan"),
        (lambda: optimal_learning_rate(0, 10), "experts must be at least 1, got 0"),
        (lambda: optimal_learning_rate(3, 0), "horizon must be at least 1 round and finite, got 0"),
        (lambda: optimal_learning_rate(3, 10, 0.0), "reward_bound must be positive and finite, got 0"),
        (lambda: optimal_learning_rate(3, 10, math.nan), "reward_bound must be .* got nan"),
        (lambda: regret_bound(0, 10, learning_rate=0.1), "experts must be at least 1, got 0"),
        (lambda: optimal_regret_bound(1, 10), "needs 2 experts or more, got 1"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ConfigError, match=words):
        call()
