"""How a mixture learns: one file per method, found by name."""

from xnas.methods import (  # noqa: F401 - registers their methods
    asap,
    beta,
    darts2,
    darts_minus,
    darts_pt,
    drnas,
    drnas_stages,
    dso,
    enas,
    fair,
    gaea,
    gdas,
    lambda_darts,
    oles,
    pc_darts,
    pdarts,
    proxyless,
    proxyless_rl,
    random_search,
    sdarts,
    sharp,
    snas,
)
from xnas.methods.darts import Darts
from xnas.methods.game import Game
from xnas.methods.passes import Looks, Passes, Seen
from xnas.methods.protocol import (
    Charging,
    Correcting,
    EpochAware,
    EpochClosing,
    ExpertAdvice,
    Learning,
    LearnsLogits,
    Method,
    Pausing,
    Weighing,
)
from xnas.methods.recipe import Recipe, Stage
from xnas.methods.registered import METHODS, RegisteredMethod, ledgers
from xnas.methods.xnas import experts_learning_rates, learning_rate_of, xnas

__all__ = [
    "METHODS",
    "Charging",
    "Correcting",
    "Darts",
    "EpochAware",
    "EpochClosing",
    "ExpertAdvice",
    "Game",
    "Learning",
    "LearnsLogits",
    "Looks",
    "Method",
    "Passes",
    "Pausing",
    "Recipe",
    "RegisteredMethod",
    "Seen",
    "Stage",
    "Weighing",
    "experts_learning_rates",
    "learning_rate_of",
    "ledgers",
    "xnas",
]
