"""Claims on what no forecaster can undercut, and on the time of a step, judged from measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping

from xnas.paper.verdicts import SLOPE_TOLERANCE, STANDARD_ERRORS, fitted_exponent, judge
from xnas.records import Claim, CoinGame, CoinStudy
from xnas.toys.lower_bound import EXPERTS_WHILE_ROUNDS_VARY, ROUNDS_WHILE_EXPERTS_VARY

LEAST_CONSTANT = 0.5
"""A regret of at least this many times L sqrt(T ln N) in every game counts as of that order."""
LARGE_SHARE = 0.75
"""A share of the upper bound that leaves little room for a better one."""


def coin_claims(study: CoinStudy) -> list[Claim]:
    """The regret bound is tight (Sec. 3.1)."""
    by_experts = study.series("xnas", rounds=ROUNDS_WHILE_EXPERTS_VARY)
    by_rounds = study.series("xnas", experts=EXPERTS_WHILE_ROUNDS_VARY)
    games = study.series("xnas")
    power = fitted_exponent([g.rounds for g in by_rounds], [g.regret for g in by_rounds])
    constants = [_least(game) / _order(game) for game in games]
    ratios = [game.regret / game.expected for game in study.games]
    few, many = by_experts[0], by_experts[-1]
    return [
        Claim(
            statement="The regret bound is tight: the lower bound is of Ω(L sqrt(T ln N))",
            where="Sec. 3.1",
            measured=f"rewards are fair coins, {study.runs} runs: the regret of XNAS at η* is at "
            f"least {min(constants):.2f} times L sqrt(T ln N), {STANDARD_ERRORS:g} standard errors "
            f"taken off, in {len(games)} games of 2 to {many.experts} experts; it grows as "
            f"T^{power:.2f}. Every forecaster's expected regret is that of the best of N random "
            f"walks; XNAS and gradient descent have {min(ratios):.2f} to {max(ratios):.2f} times that "
            "of its limit for many rounds",
            verdict=judge(min(constants) >= LEAST_CONSTANT, abs(power - 0.5) < SLOPE_TOLERANCE),
        ),
        Claim(
            statement="... even in its constant: the regret nears L sqrt(2 T ln N) as N grows",
            where="Sec. 3.1, eq. 4",
            measured=f"share of the bound: {few.regret / few.bound:.2f} with {few.experts} experts, "
            f"{many.regret / many.bound:.2f} with {many.experts}",
            verdict=judge(
                many.regret / many.bound >= LARGE_SHARE,
                _least(many) / many.bound
                > (few.regret + STANDARD_ERRORS * few.regret_error) / few.bound,
                all(_least(game) <= game.bound for game in games),
            ),
        ),
    ]


def _least(game: CoinGame) -> float:
    """What the regret is at least, but for clear luck."""
    return game.regret - STANDARD_ERRORS * game.regret_error


def _order(game: CoinGame) -> float:
    return game.reward_bound * math.sqrt(game.rounds * math.log(game.experts))


def speed_claims(microseconds: Mapping[str, float], mixtures: int) -> list[Claim]:
    """Without momentum a step takes less time (Sec. 3.2.2); `microseconds` are medians by optimizer."""
    rivals = {name: microseconds[name] for name in ("Adam", "SGD, momentum")}
    others = ", ".join(f"{name} {time:.0f}" for name, time in rivals.items())
    ours, alone = microseconds["ExpertsOptimizer"], microseconds["Algorithm 1 alone"]
    how = f"median microseconds of a step on the CPU, {mixtures} mixtures of 14 x 7"
    return [
        Claim(
            statement="Without momentum the optimizer of XNAS is faster than Adam and SGD with momentum",
            where="Sec. 3.2.2",
            measured=f"{how}: ours {ours:.0f}, {others}. Adam's and SGD's are the batched steps of "
            "torch; ours also keeps the ledger and checks every round",
            verdict=judge(*(ours < time for time in rivals.values())),
        ),
        Claim(
            statement="... Algorithm 1 alone, with neither ledger nor checks",
            where="Sec. 3.2.2",
            measured=f"{how}: {alone:.0f}, {others}",
            verdict=judge(*(alone < time for time in rivals.values())),
        ),
    ]
