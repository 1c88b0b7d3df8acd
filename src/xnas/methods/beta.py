r"""β-DARTS: first-order DARTS with a growing penalty on the logits (Ye, Li, Li, Chen and Ouyang, 2022).

The loss of the architecture step gets λ · mean over edges of logsumexp(α_e), so that ∂α_e gets
(λ/E) softmax(α_e), with λ = epoch/2. Adam's decay of 1e-3 stays on, as in the authors' code.

Also as there, λ does not scale with the number of epochs: a search of 20 ends at λ = 9.5, one of 100 at
49.5. Change `--epochs` and the penalty at the end changes with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from xnas.methods.game import Game
from xnas.methods.logits import Edges, Logits, masked_softmax
from xnas.methods.recipes import BENCHMARK, DARTS, by_space
from xnas.methods.registered import METHODS

SLOPE = 0.5
"""Of λ, per epoch."""


def logsumexp_gradient(edges: Edges) -> Tensor:
    """The gradient of λ · mean over edges of logsumexp(α), (forecasters, experts)."""
    return edges.level / len(edges.logits) * masked_softmax(edges.logits, edges.alive)


def beta(mixtures: Mapping[str, nn.Parameter], game: Game) -> Logits:
    """DARTS with the penalty on logits."""
    return Logits(
        "beta",
        mixtures,
        game,
        logit_terms=[logsumexp_gradient],
        schedule=lambda epoch: SLOPE * epoch,
    )


METHODS.add(
    "beta",
    beta,
    recipe=by_space(DARTS, nasbench201=BENCHMARK),
    summary="DARTS with a growing penalty on the logits",
    paper="Ye et al., 2022, arXiv:2203.01665",
    costs="W + M",
)
