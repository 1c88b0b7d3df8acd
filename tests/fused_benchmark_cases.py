"""What tests of NAS-Bench-201's fused cells share: pairs of supernets, and comparisons."""

import copy
import random

import torch
from torch.nn.functional import cross_entropy

from xnas import split_parameters
from xnas.space import SPACES, CellKind
from xnas.space.benchmark_supernet import BenchmarkSupernet

SPACE = SPACES["nasbench201"]
WITH_NONE = SPACE.with_none()
EDGES = len(SPACE.edges)
NORMAL = CellKind.NORMAL.value
EXACT = {"rtol": 1e-9, "atol": 1e-11}  # float64; sums in another order
SINGLE = {"rtol": 1e-3, "atol": 2e-5}  # float32; batch norms of few pixels magnify rounding


def pair_of(space, *, seed, dtype=torch.float64, device="cpu", **sizes):
    """A supernet and its plain version, with weights and mixture of their own kind."""
    torch.manual_seed(seed)
    plain = BenchmarkSupernet(space, **({"num_classes": 4, "cells": 1, "channels": 3} | sizes))
    with torch.no_grad():
        plain.normal_mixture.copy_(torch.rand_like(plain.normal_mixture))
        for name, buffer in plain.named_buffers():
            if "running" in name:
                buffer.uniform_(0.5, 1.5)
    plain = plain.to(device, dtype)
    return plain, copy.deepcopy(plain)


def some_deaths(space, seed):
    """For each edge the columns of experts to delete; at least one stays."""
    draw = random.Random(seed)
    experts = range(len(space.operations))
    return [draw.sample(experts, draw.randrange(len(experts))) for _ in space.edges]


def wipe(net, deaths):
    for edge, experts in enumerate(deaths):
        if experts:
            net.wipe(NORMAL, edge, experts)


def batch_of(net, *, size=(7, 9), batch=5):
    weight = net.classifier.weight
    images = torch.randn(batch, 3, *size, dtype=weight.dtype, device=weight.device)
    return images, torch.arange(batch, device=weight.device) % len(weight)


def differentiated(net, batch, autocast=False):
    """Logits, weight gradients and the rewards of every cell, in two passes as a search makes them."""
    images, labels = batch
    weights, _ = split_parameters(net)
    for weight in weights:
        weight.grad = None
    with torch.autocast(images.device.type, torch.bfloat16, enabled=autocast):
        loss = cross_entropy(net(images, net.spread()), labels)
    loss.backward(inputs=[*weights, *net.packed])
    mixtures = {kind: u.clone().requires_grad_() for kind, u in net.spread().items()}
    with torch.autocast(images.device.type, torch.bfloat16, enabled=autocast):
        logits = net(images, mixtures)
        loss = cross_entropy(logits, labels)
    (gradient,) = torch.autograd.grad(loss, list(mixtures.values()))
    names = {id(p): name for name, p in net.named_parameters()}
    gradients = {names[id(w)]: w.grad for w in weights if w.grad is not None}
    return logits.detach(), gradients, -gradient


def assert_same(plain, fused, batch, tolerance):
    ours, theirs = differentiated(fused, batch), differentiated(plain, batch)
    torch.testing.assert_close(ours[0], theirs[0], **tolerance)
    torch.testing.assert_close(ours[2], theirs[2], **tolerance)
    nothing = [name for name, gradient in theirs[1].items() if name not in ours[1]]
    for name in nothing:  # autograd does not visit what cannot matter
        torch.testing.assert_close(theirs[1][name], torch.zeros_like(theirs[1][name]))
    for name, gradient in ours[1].items():
        expected = theirs[1].get(name, torch.zeros_like(gradient))
        torch.testing.assert_close(gradient, expected, **tolerance, msg=lambda m, n=name: f"{n}: {m}")
    state = plain.state_dict()
    assert list(fused.state_dict()) == list(state)
    for name, value in fused.state_dict().items():
        torch.testing.assert_close(value, state[name], **tolerance)


def assert_as_close(ours, theirs, exact):
    """In 16 bits both stray from 32 bits, and neither much further than the other."""
    assert all(g.dtype == torch.float32 for g in ours[1].values())
    for found, other, right in zip(ours, theirs, exact, strict=True):
        if isinstance(right, dict):
            strays = [[relative_error(g[n], right[n]) for n in right] for g in (found, other)]
            mean, others = (sum(stray) / len(stray) for stray in strays)
        else:
            mean, others = relative_error(found, right), relative_error(other, right)
        assert mean < 2 * others  # 12 seeds on a CPU gave 0.8 to 1.8, 1.0 on average


def relative_error(found, expected):
    return float((found.float() - expected.float()).norm() / expected.float().norm())
