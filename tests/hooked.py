"""Methods with hooks, for tests of the engine: logits that descend by plain gradient steps."""

import torch
from searching import stripes, tiny

from xnas.runs.prepare import prepare

RATE = 0.5
SPACES = [{"space": "darts", "cells": 3}, {"space": "nasbench201", "cells": 1, "channels": 4}]
SMALL = {"space": "nasbench201", "cells": 1, "method": "darts", "include_none": False}


class Plain:
    """Mixtures as the softmax of logits; a mixture's gradient reaches them through it."""

    def __init__(self, mixtures, game):
        self.mixtures, self.game = dict(mixtures), game
        self.logits = {kind: torch.zeros_like(m) for kind, m in mixtures.items()}
        self.dead = {kind: torch.zeros_like(m, dtype=torch.bool) for kind, m in mixtures.items()}

    @torch.no_grad()
    def step(self):
        self.descend({kind: m.grad for kind, m in self.mixtures.items()})

    @torch.no_grad()
    def descend(self, gradients):
        for kind, mixture in self.mixtures.items():
            inner = (mixture * gradients[kind]).sum(-1, keepdim=True)
            self.logits[kind] -= RATE * mixture * (gradients[kind] - inner)
        self.write()

    @torch.no_grad()
    def write(self):
        for kind, mixture in self.mixtures.items():
            mixture.copy_(self.logits[kind].masked_fill(self.dead[kind], -torch.inf).softmax(-1))

    def kind_of(self, mixture):
        return next(kind for kind, m in self.mixtures.items() if m is mixture)

    def observe(self, mixture, rewards):
        raise NotImplementedError

    def alive(self, mixture):
        return ~self.dead[self.kind_of(mixture)]

    def strengths(self, mixture):
        return mixture.detach().double()

    def comparable_sums(self, mixture):
        return self.logits[self.kind_of(mixture)].double()

    def check(self):
        pass

    def state_dict(self):
        return {"logits": dict(self.logits), "dead": dict(self.dead)}

    def load_state_dict(self, state):
        for name, own in (("logits", self.logits), ("dead", self.dead)):
            for kind, tensor in own.items():
                tensor.copy_(state[name][kind])
        self.write()


class Sampled(Plain):
    """One path, drawn anew for every step; sharper from epoch to epoch; rests where it is told to."""

    def __init__(self, mixtures, game):
        super().__init__(mixtures, game)
        self.temperature = torch.ones((), device=next(iter(mixtures.values()), torch.ones(())).device)
        self.begun = []
        self.resting = set()

    def begin_epoch(self, epoch):
        self.begun.append(epoch)
        self.temperature.fill_(0.5**epoch)

    def learns(self, epoch, round_in_epoch):
        return (epoch, round_in_epoch) not in self.resting

    def weights(self, _, passes):
        found = {}
        for kind, logits in self.logits.items():
            tiny = torch.finfo(logits.dtype).tiny
            drawn = torch.rand(logits.shape, device=logits.device, generator=passes.draw)
            uniform = drawn.clamp(tiny, 1 - 1e-7)
            noisy = logits / self.temperature - (-uniform.log()).log()
            best = noisy.argmax(-1, keepdim=True)
            found[kind] = torch.zeros_like(logits).scatter_(-1, best, 1.0)
        return found


def hooked(method, *, double=False, fused=False, images=80, settings=None, **arguments):
    """A search that a method with hooks learns, in its first epoch."""
    arguments = SMALL | {"backend": "reference"} | arguments
    prepared = prepare(tiny(**arguments), stripes(images))
    search = prepared.search
    if settings:
        search.settings = settings(search.settings)
    if double:
        search.supernet.double()
        for batch in ("train_batch", "valid_batch"):
            values, labels = getattr(search, batch)
            setattr(search, batch, (values.double(), labels))
    if fused:
        search.supernet.fuse()
    search.method = method(search.mixtures, prepared.game)
    search.begin_epoch()
    return search


def odd_weights(search, seed=0):
    """For every cell rows that do not sum to 1, one-hot ones, zeros, and one with a -1e-3."""
    generator = torch.Generator().manual_seed(seed)
    found = {}
    for kind, u in search.supernet.spread().items():
        w = torch.rand(u.shape, generator=generator, dtype=torch.float64).to(u)
        w[:, 0], w[:, 1] = 0, 0
        w[:, 1, 1], w[:, 2, 0] = 1, -1e-3
        found[kind] = w
    return found


class SecondOrder(Plain):
    """The architecture gradient of DARTS with its second-order term, by differences."""

    STEP = 0.01

    def learn(self, passes):
        gradient = passes.see("train", by="weights").weights
        with passes.ahead(gradient):
            ahead = passes.see("valid", by="both")
        norm = torch.stack([g.norm() for g in ahead.weights]).norm()
        shifted = []
        for sign in (1, -1):
            with passes.at(ahead.weights, sign * self.STEP / norm):
                shifted.append(passes.see("train").mixtures)
        up, down = shifted
        found = {
            kind: (g - passes.rate * (up[kind] - down[kind]) * norm / (2 * self.STEP)).sum(0)
            for kind, g in ahead.mixtures.items()
        }
        self.descend(found)


class Corrected(Plain):
    """Adds a part of the mixtures' gradient norm to the weights' gradients."""

    def correct(self, seen, passes):
        scale = 1 + sum(g.square().sum() for g in seen.mixtures.values())
        for p in passes.weights:
            if p.grad is not None:
                p.grad.mul_(scale)
