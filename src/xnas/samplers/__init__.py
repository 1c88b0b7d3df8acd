"""Samplers: searches that draw a whole cell, learn what it is worth and draw the next; one file each."""

from xnas.samplers.book import Book
from xnas.samplers.evolution import Evolution, EvolutionSettings
from xnas.samplers.local_search import LocalSearch, LocalSettings
from xnas.samplers.protocol import SAMPLERS, Accepts, Result, Sampler, SamplerKind, Trial
from xnas.samplers.random_search import RandomSearch, RandomSettings

__all__ = [
    "SAMPLERS",
    "Accepts",
    "Book",
    "Evolution",
    "EvolutionSettings",
    "LocalSearch",
    "LocalSettings",
    "RandomSearch",
    "RandomSettings",
    "Result",
    "Sampler",
    "SamplerKind",
    "Trial",
]
