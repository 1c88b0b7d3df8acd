"""How many rounds a forecaster plays, and the learning rate that follows from it (Sec. 3.1, 3.2.2).

The regret bound ηTL²/2 + ln N / η is least at η* = sqrt(2 ln N / (T L²)), so the horizon T and the
number of experts N fix the rate; nothing is left to tune.
"""

from __future__ import annotations

import math

from xnas.errors import ConfigError


def effective_horizon(examples: int, epochs: int, replications: int) -> int:
    """Return T_c = d · E · r_c, the gradient feedbacks that a cell kind's experts receive (Sec. 3.1).

    `examples` is the size of the validation set, `replications` the number of cells of that kind.

    >>> effective_horizon(25_000, epochs=50, replications=6)
    7500000
    """
    for name, value in (("examples", examples), ("epochs", epochs), ("replications", replications)):
        if not value >= 1:
            raise ConfigError(f"{name} must be at least 1, got {value}")
    return examples * epochs * replications


def optimal_learning_rate(experts: int, horizon: int, reward_bound: float = 1.0) -> float:
    """Return η* = sqrt(2 ln N / (T L²)), which minimises the regret bound without wipeout (eq. 4).

    It is 0 for a single expert, which has nothing to learn.

    >>> round(optimal_learning_rate(8, horizon=7_500_000), 5)
    0.00074
    """
    if experts < 1:
        raise ConfigError(f"experts must be at least 1, got {experts}")
    if not 1 <= horizon < math.inf:
        raise ConfigError(f"horizon must be at least 1 round and finite, got {horizon}")
    if not (math.isfinite(reward_bound) and reward_bound > 0):
        raise ConfigError(f"reward_bound must be positive and finite, got {reward_bound}")
    return math.sqrt(2 * math.log(experts) / horizon) / reward_bound
