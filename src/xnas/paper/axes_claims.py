"""Claims on late bloomers, initialisation and dense solutions, judged by the axes problems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch

from xnas.paper.verdicts import judge
from xnas.records import Attenuation, AxesStudy, Claim, Trajectory
from xnas.theory import normalized_entropy

FIRST_PHASE = 30
"""Steps of the 3D problem before its loss switches (Sec. 8.1)."""
DECAYED = 0.5
"""A term that fell below this share of its first size has decayed."""
NO_PROGRESS = 0.01
"""A smaller gain in x is none."""
AT_MINIMUM = 0.99
"""From this x on the minimum, x = 1, counts as reached."""
ATTENUATED = 1e-4
"""A gradient scaled by less hardly moves anything."""


def toy_3d_claims(studies: Mapping[float, AxesStudy]) -> list[Claim]:
    """Late bloomers, from the 3D problem at several learning rates (Sec. 3.2.1, 8.1)."""
    xnas = {rate: _paths(study)["xnas"] for rate, study in sorted(studies.items())}
    gd = {rate: _paths(study)["gd"] for rate, study in sorted(studies.items())}
    overtakes = {rate: _overtaking(path) for rate, path in xnas.items()}
    recovers = {rate: _overtaking(path) for rate, path in gd.items()}
    leads = [path.points[-1][2] - max(path.points[-1][:2]) for path in xnas.values()]
    decays = {rate: _late_term(path, FIRST_PHASE) / _late_term(path, 1) for rate, path in gd.items()}
    kept = [_late_term(path, step) for path in xnas.values() for step in (1, FIRST_PHASE)]
    return [
        Claim(
            statement="XNAS lets a late bloomer recover: axis z leads at the end",
            where="Sec. 3.2.1, 8.1, Fig. 3",
            measured=f"first step at which z overtakes y: {_steps_by_rate(overtakes)}; z minus the next "
            f"axis at the end: {_span(leads)}",
            verdict=judge(*(lead > 0 for lead in leads)),
        ),
        Claim(
            statement="Gradient descent with softmax struggles to recover",
            where="Sec. 8.1, Fig. 3",
            measured=f"first step at which z overtakes y: {_steps_by_rate(recovers)}. The paper states "
            "no rate",
            verdict=judge(*(step is None for step in recovers.values())),
        ),
        Claim(
            statement="Its update term decays although the loss is linear",
            where="Sec. 8.1, Fig. 3 (right)",
            measured=f"term of z at step {FIRST_PHASE}, the last of the first loss, over the first one: "
            + ", ".join(f"{decay:.3f} at rate {rate:g}" for rate, decay in decays.items())
            + ("; XNAS's keeps its size, " if len(set(kept)) == 1 else "; XNAS's has sizes ")
            + _span(kept, "g"),
            verdict=judge(*(decay < DECAYED for decay in decays.values())),
        ),
    ]


def toy_2d_claims(studies: Sequence[AxesStudy]) -> list[Claim]:
    """Initialisation and curvature, from the 2D problems (Sec. 8.2)."""
    ends = {
        (study.problem, path.method): path.points[-1] for study in studies for path in study.trajectories
    }
    x = {key: end[0] for key, end in ends.items()}
    start = {study.problem: study.trajectories[0].points[0][0] for study in studies}
    text = {
        problem: "x at the end: "
        + ", ".join(f"{m} {x[problem, m]:.4f}" for m in ("xnas", "xnas simplex", "gd"))
        for problem in start
    }
    optimum = {study.problem: study.optimum for study in studies}
    far = {key: math.dist(end, optimum[key[0]]) for key, end in ends.items()}
    return [
        Claim(
            statement="XNAS reaches the minimum faster from a balanced start",
            where="Sec. 8.2.1, Fig. 4",
            measured=text["balanced"],
            verdict=judge(x["balanced", "xnas"] > x["balanced", "gd"]),
        ),
        Claim(
            statement="From an imbalanced start gradient descent with softmax makes no progress",
            where="Sec. 8.2.2, Fig. 5",
            measured=f"x goes from {start['imbalanced']:.4f} to {x['imbalanced', 'gd']:.4f}",
            verdict=judge(x["imbalanced", "gd"] - start["imbalanced"] < NO_PROGRESS),
        ),
        Claim(
            statement="... while XNAS reaches the minimum",
            where="Sec. 8.2.2, Fig. 5",
            measured=text["imbalanced"] + ". xnas is Algorithm 1 as printed; in xnas simplex the "
            "gradients are the negative of one another, as the section words it",
            verdict=judge(*(x["imbalanced", m] > AT_MINIMUM for m in ("xnas", "xnas simplex"))),
        ),
        _curvature_claim(far),
    ]


def _curvature_claim(far: Mapping[tuple[str, str], float]) -> Claim:
    """Judge by distances to the optimum at the end, by problem and method.

    Harder for gradient descent means that it ends further away, and that it suffers more than XNAS.
    """
    growth = {m: far["quadratic", m] / far["balanced", m] for m in ("xnas", "gd")}
    text = "; ".join(
        f"{m} {far['balanced', m]:.4f} with the linear loss, {far['quadratic', m]:.4f} with the "
        f"quadratic one ({growth[m]:.2f} times as far)"
        for m in growth
    )
    return Claim(
        statement="Curvature makes it even harder for gradient descent with softmax",
        where="Sec. 8.2.4, Fig. 7",
        measured=f"distance to the optimum at the end: {text}. In ratio "
        f"{max(growth, key=growth.__getitem__)} suffers more",
        verdict=judge(growth["gd"] > 1, growth["gd"] > growth["xnas"]),
    )


def attenuation_claims(record: Attenuation, studies: Sequence[AxesStudy]) -> list[Claim]:
    """The preference for dense solutions (Sec. 8.2.3)."""
    peak = record.x[max(range(len(record.x)), key=record.along_simplex.__getitem__)]
    far = record.against_logit[0]
    entropy = {
        (s.problem, p.method): normalized_entropy(torch.tensor(p.points[-1], dtype=torch.float64)).item()
        for s in studies
        for p in s.trajectories
    }
    balanced = [entropy["balanced", method] for method in ("xnas", "gd")]
    return [
        Claim(
            statement="Gradient descent with softmax is attenuated the more, the sparser the solution",
            where="Sec. 8.2.3, Fig. 6",
            measured=f"the factor x(1 - x) is largest at x = {peak:.2f}; it is {far:.1e} at "
            f"α = {record.logit[0]:g}",
            verdict=judge(peak == 0.5, far < ATTENUATED),
        ),
        Claim(
            statement="So it ends at denser solutions than XNAS",
            where="Sec. 8.2.3",
            measured="normalised entropy at the end from a balanced start, equal rates: "
            f"xnas {balanced[0]:.3f}, gd {balanced[1]:.3f}",
            verdict=judge(balanced[1] > balanced[0]),
        ),
    ]


def _paths(study: AxesStudy) -> dict[str, Trajectory]:
    return {path.method: path for path in study.trajectories}


def _overtaking(path: Trajectory) -> int | None:
    """First step of the second phase of the 3D problem at which z leads y."""
    return next((i for i, (_, y, z) in enumerate(path.points) if i > FIRST_PHASE and z > y), None)


def _late_term(path: Trajectory, step: int) -> float:
    """Size of the update term of z at a step, from 1."""
    return abs(path.update_terms[step - 1][2])


def _steps_by_rate(steps: Mapping[float, int | None]) -> str:
    """Steps by rate, or one step for all."""
    if len(set(steps.values())) == 1:
        rates = ", ".join(f"{rate:g}" for rate in steps)
        return f"{_step(next(iter(steps.values())))} at rates {rates}"
    return ", ".join(f"{_step(step)} at rate {rate:g}" for rate, step in steps.items())


def _step(step: int | None) -> str:
    return "never" if step is None else f"step {step}"


def _span(values: Sequence[float], style: str = ".4f") -> str:
    """The smallest and the largest, or the only one."""
    low, high = f"{min(values):{style}}", f"{max(values):{style}}"
    return low if low == high else f"{low} to {high}"
