"""DARTS-PT: a search whose cell is decided by measurements (Wang, Cheng, Chen, Tang and Hsieh, 2021).

After any search an undecided edge is taken at random. For each of its operations the validation
accuracy is measured with the weight of that operation set to 0 and the others as they are, and the one
whose absence hurts most is kept, alone. When all edges are decided, nodes in random order drop the edges
whose absence hurts least until two are left. Kinds of cells take turns.

*darts-pt* trains weights and logits for 5 epochs between decisions, at a tenth of the rate and with
fresh momenta, and measures on the whole validation half. *darts-pt-quick* decides after the last epoch,
with 20 batches for each measurement. *darts-pt-blank* is its control, in which the logits never learn,
and *xnas-pt* decides on top of XNAS: the search is that of *xnas* with the guards of its space, but for
the one that chooses edges. Limits on the model charge its operations no prices; they only narrow the
choice of the cell.

Departure: `none` is never kept, as in all cells here.

Departure: the quick forms are ours. On the DARTS space the published one takes 244 measurements of the
whole half, and more epochs than the search itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import nn

from xnas.methods.game import Game
from xnas.methods.logits import PrunedLogits
from xnas.methods.projection import Projected, ProjectedExperts, ProjectedLogits
from xnas.methods.recipe import Stage
from xnas.methods.recipes import BENCHMARK, DARTS, by_space
from xnas.methods.registered import METHODS
from xnas.methods.xnas import xnas

SEARCH = {"nasbench201": 100}
TUNING = {"nasbench201": 25}
TUNING_RATE = 0.0025


def darts_pt(mixtures: Mapping[str, nn.Parameter], game: Game) -> ProjectedLogits:
    """DARTS, projected with training between the decisions."""
    return ProjectedLogits(PrunedLogits("darts-pt", mixtures, game), mixtures, game, batches=None)


def darts_pt_quick(mixtures: Mapping[str, nn.Parameter], game: Game) -> ProjectedLogits:
    """DARTS, projected after its last epoch."""
    return ProjectedLogits(PrunedLogits("darts-pt-quick", mixtures, game), mixtures, game)


def darts_pt_blank(mixtures: Mapping[str, nn.Parameter], game: Game) -> Projected:
    """A supernet whose mixtures never learn, projected after the last epoch."""
    inner = PrunedLogits("darts-pt-blank", mixtures, game)
    return Projected(inner, mixtures, game, blank=True)


def xnas_pt(mixtures: Mapping[str, nn.Parameter], game: Game) -> ProjectedExperts:
    """XNAS, projected after its last epoch."""
    return ProjectedExperts(xnas(mixtures, game), mixtures, game)


def stages(space: str) -> Sequence[Stage]:
    """The search, and the epochs of decisions and training after it."""
    return (
        Stage(epochs=SEARCH.get(space, 50)),
        Stage(
            epochs=TUNING.get(space, 81),
            weights_lr=TUNING_RATE,
            final_weights_lr=TUNING_RATE,
            fresh_weights=False,
            fresh_method=False,
        ),
    )


PAPER = "Wang et al., 2021, arXiv:2108.04392"
RECIPE = by_space(DARTS, nasbench201=BENCHMARK)

METHODS.add(
    "darts-pt",
    darts_pt,
    recipe=by_space(replace(DARTS, epochs=131), nasbench201=replace(BENCHMARK, epochs=125)),
    stages=stages,
    summary="DARTS whose operations are those that accuracy misses most, trained between decisions",
    paper=PAPER,
    costs="W + M, then F",
    measures=True,
)
METHODS.add(
    "darts-pt-quick",
    darts_pt_quick,
    recipe=RECIPE,
    summary="darts-pt that decides everything after the last epoch",
    paper=PAPER,
    costs="W + M, then F",
    measures=True,
)
METHODS.add(
    "darts-pt-blank",
    darts_pt_blank,
    recipe=RECIPE,
    summary="the same from mixtures that never learn: a control",
    paper=PAPER,
    costs="W, then F",
    measures=True,
)
METHODS.add(
    "xnas-pt",
    xnas_pt,
    summary="XNAS whose operations are those that accuracy misses most",
    paper=PAPER,
    costs="W + M, then F",
    measures=True,
    guarded=True,
)
