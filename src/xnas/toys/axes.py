"""Experts that are the axes of a simplex: the supplement's deterministic problems (Sec. 8.1-8.2).

Each axis is an expert with constant advice, so the prediction is the mixture itself and the gradient
with respect to an axis is the negative of that expert's reward. XNAS adds up rewards; gradient descent
with softmax adds up rewards scaled by u_i, and is slow wherever u_i is small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from xnas.records import Attenuation, AxesStudy, Point, Trajectory
from xnas.theory import mixture_of, replay, softmax_gd_rewards

LATE_BLOOMER_RATE = 0.5
"""The paper states no rate for 3D. Below 0.2458 gradient descent also recovers; 0.5 shows the effect."""
PLANE_RATE = 0.1
PLANE_STEPS = 50


@dataclass(frozen=True, slots=True)
class AxesProblem:
    """A loss on the simplex, given by its gradient at step t (from 0) and point p."""

    name: str
    loss: str
    gradient: Callable[[int, Tensor], Tensor]
    start_logits: Point
    steps: int
    optimum: Point
    reward_bound: float


def _late_bloomer_gradient(step: int, point: Tensor) -> Tensor:
    return point.new_tensor([0, 0, 2] if step < 30 else [0, -1, -2])


def _linear_gradient(step: int, point: Tensor) -> Tensor:  # noqa: ARG001 - a gradient's signature
    return point.new_tensor([-1, 0])


def _quadratic_gradient(step: int, point: Tensor) -> Tensor:  # noqa: ARG001 - a gradient's signature
    return point - point.new_tensor([1, 0])


LATE_BLOOMER = AxesProblem(
    "late bloomer",
    "2z for 30 steps, then -y - 2z",
    _late_bloomer_gradient,
    (0, 0, 0),
    120,
    (0, 0, 1),
    2,
)
BALANCED = AxesProblem("balanced", "-x", _linear_gradient, (0, 0), PLANE_STEPS, (1, 0), 1)
IMBALANCED = AxesProblem("imbalanced", "-x", _linear_gradient, (0, 5), PLANE_STEPS, (1, 0), 1)
QUADRATIC = AxesProblem(
    "quadratic", "(x - 1)²/2 + y²/2", _quadratic_gradient, (0, 0), PLANE_STEPS, (1, 0), 1
)


def _literal_rewards(mixture: Tensor, gradient: Tensor) -> Tensor:  # noqa: ARG001 - a rule's signature
    """Algorithm 1, line 8, with advice e_i: R_i = -∂_i ℓ."""
    return -gradient


def _simplex_rewards(mixture: Tensor, gradient: Tensor) -> Tensor:  # noqa: ARG001 - a rule's signature
    """The 2D section's reading: the gradients of the two axes are the negative of one another.

    That is true of ∂_x - ∂_y, and not of the partial derivatives themselves.
    """
    difference = gradient[0] - gradient[1]
    return torch.stack([-difference, difference])


def _gd_rewards(mixture: Tensor, gradient: Tensor) -> Tensor:
    """Gradient descent with softmax (eq. 6)."""
    return softmax_gd_rewards(mixture, -gradient)


RULES = {"xnas": _literal_rewards, "xnas simplex": _simplex_rewards, "gd": _gd_rewards}


def follow(problem: AxesProblem, method: str, learning_rate: float) -> Trajectory:
    """Run one method from the problem's start, without wipeout.

    Sums of rewards are kept rather than sums of η R, so that ties are exact.
    """
    rule = RULES[method]
    start = torch.tensor(problem.start_logits, dtype=torch.float64)
    alive = torch.ones_like(start, dtype=torch.bool)
    sums = torch.zeros_like(start)
    points = [mixture_of(start / learning_rate, alive, learning_rate=learning_rate)]
    terms = []
    for step in range(problem.steps):
        rewards = rule(points[-1], problem.gradient(step, points[-1]))
        sums = sums + rewards
        terms.append(-rewards)
        logits = start / learning_rate + sums
        points.append(mixture_of(logits, alive, learning_rate=learning_rate))
    return Trajectory(
        method=method,
        points=tuple(tuple(p.tolist()) for p in points),
        update_terms=tuple(tuple(r.tolist()) for r in terms),
        logits=tuple((start + learning_rate * sums).tolist()),
    )


def study(problem: AxesProblem, methods: tuple[str, ...], learning_rate: float) -> AxesStudy:
    """Run several methods on one problem; add when Algorithm 1 wipes out which axis.

    The wipeouts follow from the rewards of the literal reading, and from no learning rate. They are
    given where a mixture starts uniform, as Algorithm 1 does.
    """
    paths = tuple(follow(problem, method, learning_rate) for method in methods)
    wiped_at = (0,) * len(problem.optimum)
    if len(set(problem.start_logits)) == 1:
        rewards = -torch.tensor(paths[0].update_terms, dtype=torch.float64)
        game = replay(rewards, learning_rate=learning_rate, reward_bound=problem.reward_bound)
        wiped_at = tuple(game.wiped_at.tolist())
    return AxesStudy(
        problem=problem.name,
        loss=problem.loss,
        learning_rate=learning_rate,
        reward_bound=problem.reward_bound,
        optimum=problem.optimum,
        trajectories=paths,
        wiped_at=wiped_at,
    )


def toy_3d(learning_rate: float = LATE_BLOOMER_RATE) -> AxesStudy:
    """The late bloomer: axis z is penalised for 30 steps and rewarded for 90 (Sec. 8.1)."""
    return study(LATE_BLOOMER, ("xnas", "gd"), learning_rate)


def toy_2d() -> tuple[AxesStudy, ...]:
    """Balanced, imbalanced and quadratic problems, with both readings of XNAS (Sec. 8.2)."""
    methods = ("xnas", "xnas simplex", "gd")
    return tuple(study(p, methods, PLANE_RATE) for p in (BALANCED, IMBALANCED, QUADRATIC))


def attenuation() -> Attenuation:
    """The factor x(1 - x) along the simplex and against α_x (Sec. 8.2.3)."""
    x = torch.linspace(0, 1, 101, dtype=torch.float64)
    logit = torch.linspace(-10, 10, 201, dtype=torch.float64)
    sigma = logit.sigmoid()
    return Attenuation(
        x=tuple(x.tolist()),
        along_simplex=tuple((x * (1 - x)).tolist()),
        logit=tuple(logit.tolist()),
        against_logit=tuple((sigma * (1 - sigma)).tolist()),
    )
