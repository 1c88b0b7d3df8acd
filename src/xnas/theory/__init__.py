"""The paper's mathematics as plain functions: tensors in, tensors out.

Read in this order, next to the paper: `mixture` (eq. 1), `updates` (Algorithm 1, lines 7-9), `wipeout`
(lines 11-12), `horizon` (learning rates), `regret` (Theorem 1), `replay` (the whole loop), `entropy`.
"""

from xnas.theory.entropy import normalized_entropy
from xnas.theory.horizon import effective_horizon, optimal_learning_rate
from xnas.theory.mixture import (
    comparable_sums,
    mixture_of,
    predict,
    require_simplex,
    strengths_of,
)
from xnas.theory.regret import (
    linearized_regret,
    log_wipeout_factor,
    optimal_regret_bound,
    regret,
    regret_bound,
)
from xnas.theory.replay import Replay, replay
from xnas.theory.updates import clip_rewards, eg_update, softmax_gd_rewards, softmax_gd_update
from xnas.theory.wipeout import expected_wipeout, surviving_experts

__all__ = [
    "Replay",
    "clip_rewards",
    "comparable_sums",
    "effective_horizon",
    "eg_update",
    "expected_wipeout",
    "linearized_regret",
    "log_wipeout_factor",
    "mixture_of",
    "normalized_entropy",
    "optimal_learning_rate",
    "optimal_regret_bound",
    "predict",
    "regret",
    "regret_bound",
    "replay",
    "require_simplex",
    "softmax_gd_rewards",
    "softmax_gd_update",
    "strengths_of",
    "surviving_experts",
]
