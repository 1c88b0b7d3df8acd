"""Mean normalised entropy: how undecided the forecasters of a cell are (Sec. 8.5, eqs. 54-55).

1 is a uniform mixture, 0 one expert alone. The paper's printed mean divides by |I|·|J|, which is not
the number of edges of a cell; the mean here is over forecasters.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from xnas.theory.mixture import require_simplex


def normalized_entropy(mixture: Tensor) -> Tensor:
    """Return the mean over forecasters of -Σ u ln u / ln N, in [0, 1].

    Shapes: `mixture` is (..., forecasters, experts), or (experts,) for one forecaster; the result is
    (...), in float64. N counts every column, wiped experts (weight 0) included. One expert gives 0.

    >>> normalized_entropy(torch.tensor([[0.5, 0.5], [1.0, 0.0]]))
    tensor(0.5000, dtype=torch.float64)
    """
    require_simplex(mixture)
    u = mixture.detach().double()
    experts = u.shape[-1]
    if experts == 1:
        entropy = torch.zeros_like(u[..., 0])
    else:
        entropy = -torch.special.xlogy(u, u).sum(-1) / math.log(experts)
    return (entropy.mean(-1) if entropy.dim() else entropy).clamp(0.0, 1.0)
