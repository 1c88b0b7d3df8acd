"""Samplers: searches that draw a whole cell, learn what it is worth and draw the next; one file each."""

from xnas.samplers.book import Book
from xnas.samplers.controller import Controller, ControllerSettings
from xnas.samplers.evolution import Evolution, EvolutionSettings
from xnas.samplers.latent import Latent, LatentSettings
from xnas.samplers.local_search import LocalSearch, LocalSettings
from xnas.samplers.optuna_study import BohbSettings, HalvingSettings, OptunaSampler, OptunaSettings
from xnas.samplers.progressive import Progressive, ProgressiveSettings
from xnas.samplers.protocol import (
    SAMPLERS,
    Accepts,
    BeginsWith,
    Remarks,
    Result,
    Sampler,
    SamplerKind,
    TakesImages,
    Trial,
)
from xnas.samplers.proxy_search import ProxySearch, ProxySettings, proxy_score
from xnas.samplers.random_search import RandomSearch, RandomSettings
from xnas.samplers.surrogate_rounds import BananasSettings, NpenasSettings, SurrogateRounds
from xnas.samplers.zero_cost import PROXIES

__all__ = [
    "PROXIES",
    "SAMPLERS",
    "Accepts",
    "BananasSettings",
    "BeginsWith",
    "BohbSettings",
    "Book",
    "Controller",
    "ControllerSettings",
    "Evolution",
    "EvolutionSettings",
    "HalvingSettings",
    "Latent",
    "LatentSettings",
    "LocalSearch",
    "LocalSettings",
    "NpenasSettings",
    "OptunaSampler",
    "OptunaSettings",
    "Progressive",
    "ProgressiveSettings",
    "ProxySearch",
    "ProxySettings",
    "RandomSearch",
    "RandomSettings",
    "Remarks",
    "Result",
    "Sampler",
    "SamplerKind",
    "SurrogateRounds",
    "TakesImages",
    "Trial",
    "proxy_score",
]
