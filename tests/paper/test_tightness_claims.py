"""Verdicts on the lower bound and on the time of a step, on both sides of their criteria."""

import math

import pytest
from judged import FAILS, HOLDS, IN_PART, NEAR, found, verdict

from xnas.paper.tightness_claims import LARGE_SHARE, LEAST_CONSTANT, coin_claims, speed_claims
from xnas.records import CoinGame, CoinStudy

PAIRS = [(n, 1000) for n in (2, 8, 256)] + [(8, t) for t in (100, 10_000)]


def game(experts, rounds, share, method="xnas", error=0.0):
    bound = math.sqrt(2 * rounds * math.log(experts))
    return CoinGame(
        method=method,
        experts=experts,
        rounds=rounds,
        reward_bound=1.0,
        regret=share * bound,
        regret_error=error,
        expected=share * bound,
        bound=bound,
    )


def study(share=lambda n, _: 0.5 + n / 1000, **others):
    games = [game(n, t, share(n, t), m, **others) for n, t in PAIRS for m in ("xnas", "gd")]
    return CoinStudy(runs=10, seed=0, games=tuple(games))


def test_the_bound_is_tight_if_regret_is_of_its_order_in_every_game():
    least = LEAST_CONSTANT / math.sqrt(2)  # the bound is sqrt(2) times the order
    assert verdict(coin_claims(study(lambda *_: least + NEAR)), "The regret bound") == HOLDS
    assert verdict(coin_claims(study(lambda *_: least - NEAR)), "The regret bound") == IN_PART
    # 0.2 of the bound, and growing like the logarithm of T.
    slow = study(lambda _, t: 0.2 * math.log(t) / math.sqrt(t))
    assert verdict(coin_claims(slow), "The regret bound") == FAILS
    assert "of 2 to 256 experts; it grows as T^0.50" in found(coin_claims(study()), "The").measured


def test_errors_are_taken_off():
    assert verdict(coin_claims(study(error=10.0)), "The regret bound") == IN_PART


def test_the_constant_is_reached_if_the_share_is_large_and_grows():
    def many(share):
        return study(lambda n, _: share if n == 256 else 0.5)

    assert verdict(coin_claims(many(LARGE_SHARE)), "... even") == HOLDS
    assert verdict(coin_claims(many(LARGE_SHARE - NEAR)), "... even") == IN_PART
    assert verdict(coin_claims(study(lambda n, _: 1.2 - n / 1000)), "... even") == IN_PART


@pytest.mark.parametrize(
    ("experts", "expected"), [(50, HOLDS), (80, IN_PART), (200, FAILS)], ids=["less", "between", "more"]
)
def test_speed_is_judged_against_both_rivals(experts, expected):
    times = {"ExpertsOptimizer": experts, "Adam": 100, "SGD, momentum": 60, "plain Python loop": 9e9}
    times["Algorithm 1 alone"] = 30
    claim, alone = speed_claims(times, 2)
    assert claim.verdict == expected
    assert f"2 mixtures of 14 x 7: ours {experts}, Adam 100, SGD, momentum 60." in claim.measured
    assert alone.verdict == HOLDS
    assert speed_claims(times | {"Algorithm 1 alone": 70}, 2)[1].verdict == IN_PART
