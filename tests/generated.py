"""Generated games for the property tests."""

from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

GRID = 64  # rewards are multiples of 1/64: their sums are exact, so ties are real ties


@dataclass(frozen=True)
class Settings:
    rewards: torch.Tensor
    reward_bound: float
    learning_rate: float


@st.composite
def games(draw, *, max_experts=6, max_rounds=24, exact=True):
    """Rewards (rounds, experts) within the bound, on a dyadic grid or any floats."""
    experts = draw(st.integers(2, max_experts))
    rounds = draw(st.integers(1, max_rounds))
    bound = draw(st.sampled_from([0.5, 1.0, 2.0]))
    if exact:
        top = int(bound * GRID)
        # Mostly extreme and repeated rewards: that is where wipeouts and ties happen.
        level = st.one_of(st.sampled_from([-top, 0, top]), st.integers(-top, top))
        cells = hnp.arrays(np.int64, (rounds, experts), elements=level)
        rewards = torch.from_numpy(draw(cells)).double() / GRID
    else:
        level = st.floats(-bound, bound, allow_subnormal=False)
        rewards = torch.from_numpy(draw(hnp.arrays(np.float64, (rounds, experts), elements=level)))
    learning_rate = draw(st.sampled_from([0.01, 0.1, 0.5, 1.0, 3.0]))
    return Settings(rewards, bound, learning_rate)
