"""Small games for tests of methods: two kinds of cell, four forecasters of five experts each."""

from contextlib import contextmanager

import pytest
import torch

from xnas import uniform_mixture
from xnas.methods import METHODS, Game, Pausing, Seen, Weighing
from xnas.methods.logits import Edges
from xnas.methods.protocol import Correcting, EpochAware, Learning

OPERATIONS = ("skip_connect", "sep_conv_3x3", "none", "avg_pool_3x3", "sep_conv_5x5")
EDGES = ((0, 2), (1, 2), (0, 3), (2, 3))
ROUNDS = 10
REPLICATIONS = {"normal": 6, "reduction": 2}


def game(**arguments):
    defaults = {
        "updates": 200,
        "examples": 100,
        "epochs": 20,
        "batch_size": 10,
        "replications": REPLICATIONS,
        "seed": 3,
    }
    return Game(**defaults | arguments)


SPACE = {"rounds_per_epoch": ROUNDS, "operations": OPERATIONS, "edges": EDGES, "kept_edges": 1}
"""What a game says of a search space."""


def build(name, **arguments):
    mixtures = {"normal": uniform_mixture(4, 5), "reduction": uniform_mixture(4, 5)}
    return mixtures, METHODS[name](mixtures, game(**SPACE | arguments))


class FakePasses:
    """Passes over a loss that is linear in what cells multiply by, or any function of it.

    `gradients` has ∂ℓ/∂w by kind, (forecasters, experts), summed over cells.
    """

    def __init__(self, gradients, seed=0):
        self.draw = torch.Generator().manual_seed(seed)
        self.rate = torch.tensor(0.025)
        self.gradients = gradients
        self.weights = [torch.nn.Parameter(torch.zeros(3))]
        self.places = [None]
        self.mixtures = {}

    def see(self, half, weights=None, *, by="mixtures"):  # noqa: ARG002
        weights = self.mixtures if weights is None else weights
        loss = sum((weights[kind].detach() * g).sum() for kind, g in self.gradients.items())
        by_cell = {
            kind: (g / REPLICATIONS[kind]).expand(REPLICATIONS[kind], -1, -1)
            for kind, g in self.gradients.items()
        }
        return Seen(
            loss=loss,
            accuracy=0.5 - loss / 100,
            mixtures=by_cell if by in ("mixtures", "both") else {},
            weights=[torch.ones(3)] if by in ("weights", "both") else (),
        )

    @contextmanager
    def at(self, direction, scale):  # noqa: ARG002
        yield

    @contextmanager
    def ahead(self, gradient):  # noqa: ARG002
        yield


class Player:
    """Plays rounds as a search does: hooks in their order, all draws from one generator."""

    def __init__(self, mixtures, method, *, seed=0, epoch=0):
        self.mixtures, self.method = mixtures, method
        self.passes = FakePasses({}, seed)
        self.passes.mixtures = mixtures
        self.round, self.seen = ROUNDS * epoch, []

    def begin(self):
        """The start of an epoch, or what follows a restore inside one."""
        if isinstance(self.method, EpochAware):
            self.method.begin_epoch(self.round // ROUNDS)

    def play(self, gradients):
        """One round with these gradients, by kind (forecasters, experts)."""
        epoch, place = divmod(self.round, ROUNDS)
        if place == 0:
            self.begin()
        self.passes.gradients = gradients
        for step in ("weights", "rewards"):
            if isinstance(self.method, Weighing):
                weights = self.method.weights(step, self.passes)
                self.seen.append(self.mixtures if weights is None else weights)
            if step == "weights" and isinstance(self.method, Correcting):
                self.method.correct(self.passes.see("train", by="mixtures"), self.passes)
        self.round += 1
        if isinstance(self.method, Pausing) and not self.method.learns(epoch, place):
            return
        for kind, mixture in self.mixtures.items():
            mixture.grad = gradients[kind].clone()
        if isinstance(self.method, Learning):
            self.method.learn(self.passes)
        else:
            self.method.step()


def noise(mixtures, generator):
    """Gradients of one round that mean nothing."""
    return {kind: 0.3 * torch.randn(m.shape, generator=generator).to(m) for kind, m in mixtures.items()}


def play(mixtures, method, rounds, seed=0, epoch=0):
    """Rounds with random gradients from the start of an epoch, hooks included."""
    player = Player(mixtures, method, seed=seed, epoch=epoch)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(rounds):
        player.play(noise(mixtures, generator))
    return player


COMMON = {"logits": [0.2, -0.1, 0.4], "gradient": [0.5, -0.3, 0.1]}
"""One edge with three experts: the logits and the gradient by weights of most worked examples."""


def one_edge(make, logits=COMMON["logits"], **arguments):
    """A method on one edge, in float64, with these logits; by its name or its factory."""
    mixtures = {"normal": torch.nn.Parameter(torch.full((1, len(logits)), 1 / len(logits)).double())}
    make = METHODS[make] if isinstance(make, str) else make
    method = make(mixtures, game(operations=("a", "skip_connect", "b"), **arguments))
    if hasattr(method, "logits"):
        set_logits(method, "normal", [logits])
    return mixtures["normal"], method


@torch.no_grad()
def set_logits(method, kind, logits):
    method.logits_of(kind).copy_(torch.tensor(logits, dtype=torch.float64))
    method.write_beliefs()


def edges_of(logits=COMMON["logits"], *, level=0.0, noise=None, alive=None):
    """The edges that a relaxation sees, in float64."""
    logits = torch.tensor(logits, dtype=torch.float64).reshape(-1, len(logits))
    noise = torch.zeros_like(logits) if noise is None else torch.tensor(noise).double()
    living = torch.ones_like(logits, dtype=torch.bool) if alive is None else torch.tensor([alive])
    return Edges(logits, living, torch.tensor(level).double(), noise)


def row(*numbers):
    """One row of numbers in float64."""
    return torch.tensor([numbers], dtype=torch.float64)


def near(found, *expected):
    """Whether numbers agree to the six digits that are printed."""
    return found.detach().flatten().tolist() == pytest.approx(expected, abs=6e-7)
