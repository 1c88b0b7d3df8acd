"""Small games for tests of methods: two kinds of cell, four forecasters of five experts each."""

import torch

from xnas import uniform_mixture
from xnas.methods import METHODS, Game


def game(**arguments):
    defaults = {
        "updates": 200,
        "examples": 100,
        "epochs": 20,
        "batch_size": 10,
        "replications": {"normal": 6, "reduction": 2},
        "seed": 3,
    }
    return Game(**defaults | arguments)


def build(name, **arguments):
    mixtures = {"normal": uniform_mixture(4, 5), "reduction": uniform_mixture(4, 5)}
    return mixtures, METHODS[name](mixtures, game(**arguments))


def play(mixtures, method, rounds, seed=0):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(rounds):
        for mixture in mixtures.values():
            mixture.grad = 0.3 * torch.randn(mixture.shape, generator=generator)
        method.step()
