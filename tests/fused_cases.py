"""Supernets of DARTS's space, fused and plain, and what both compute."""

import copy
import random

import pytest
import torch
from torch.nn.functional import cross_entropy

from xnas import split_parameters
from xnas.space import SPACES, CellKind, SearchSpace
from xnas.space.supernet import Supernet

SPACE = SPACES["darts"]
WITH_NONE = SPACE.with_none()
FEW = SearchSpace("few", WITH_NONE.operations, nodes=2)
NORMAL, REDUCTION = (kind.value for kind in CellKind)
CONVOLUTIONS = tuple(name for name in SPACE.operations if "conv" in name)
POOLS = ("max_pool_3x3", "avg_pool_3x3")
EXACT = 1e-9  # float64; sums in another order


def pair_of(space, *, seed=0, dtype=torch.float64, device="cpu", deaths=None, **sizes):
    """A supernet that saw a batch, so that its running statistics are its own, and its plain version."""
    torch.manual_seed(seed)
    plain = Supernet(space, **({"num_classes": 4, "cells": 3, "channels": 3} | sizes))
    wipe(plain, deaths or {})
    plain = plain.to(device, dtype)
    with torch.no_grad():
        plain(batch_of(plain)[0])
    return plain, copy.deepcopy(plain)


def wipe(net, deaths):
    for kind, edges in deaths.items():
        for edge, experts in enumerate(edges):
            if experts:
                net.wipe(kind, edge, experts)


def some_deaths(space, seed):
    """For each kind and edge the columns of experts to delete; at least one stays."""
    draw = random.Random(seed)
    experts = range(len(space.operations))
    return {
        kind: [draw.sample(experts, draw.randrange(len(experts))) for _ in space.edges]
        for kind in (NORMAL, REDUCTION)
    }


def leaving(space, keep):
    """Delete all but what `keep`, a function of source and node, names for an edge."""
    edges = [
        [column for column, name in enumerate(space.operations) if name not in keep(*edge)]
        for edge in space.edges
    ]
    return {NORMAL: edges, REDUCTION: edges}


def batch_of(net, *, size=(9, 7), batch=3):
    weight = net.classifier.weight
    images = torch.randn(batch, 3, *size, dtype=weight.dtype, device=weight.device)
    return images, torch.arange(batch, device=weight.device) % len(weight)


def uneven(net):
    """A mixture of its own for every cell."""
    return {kind: torch.rand_like(u) + 0.1 for kind, u in net.spread().items()}


def differentiated(net, batch, mixtures, *, autocast=False):
    """Logits, weight gradients by name and rewards by kind."""
    images, labels = batch
    weights, _ = split_parameters(net)
    for weight in weights:
        weight.grad = None
    given = {kind: u.clone().requires_grad_() for kind, u in mixtures.items()}
    with torch.autocast(images.device.type, torch.bfloat16, enabled=autocast):
        logits = net(images, given)
        loss = cross_entropy(logits, labels)
    loss.backward(inputs=[*weights, *net.packed, *given.values()])
    names = {id(p): name for name, p in net.named_parameters()}
    gradients = {names[id(w)]: w.grad.clone() for w in weights if w.grad is not None}
    return logits.detach(), gradients, {kind: -u.grad for kind, u in given.items()}


def near(found, expected, what):
    found, expected = found.detach(), expected.detach()
    scale = max(1e-3, float(expected.abs().max()))
    apart = float((found - expected).abs().max()) / scale
    assert apart <= EXACT, f"{what} differs by {apart}"  # not a number is no better


def assert_same_results(ours, theirs):
    near(ours[0], theirs[0], "logits")
    assert ours[2].keys() == theirs[2].keys()
    for kind, rewards in theirs[2].items():
        near(ours[2][kind], rewards, f"rewards of {kind} cells")
    # A gradient that cannot matter is 0, or none at all.
    for name in {**ours[1], **theirs[1]}:
        one = ours[1].get(name, theirs[1].get(name) * 0 if name in theirs[1] else None)
        near(one, theirs[1].get(name, torch.zeros_like(one)), name)


def assert_same_state(one, other):
    ours, theirs = one.state_dict(), other.state_dict()
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        assert ours[name].dtype == value.dtype
        near(ours[name].double(), value.double(), name)


def assert_same(plain, fused, batch, mixtures=None):
    mixtures = mixtures or uneven(plain)
    ours, theirs = (differentiated(net, batch, mixtures) for net in (fused, plain))
    assert_same_results(ours, theirs)
    assert_same_state(fused, plain)
    return ours


def relative_error(found, expected):
    return float((found.double() - expected.double()).norm() / expected.double().norm())


def apart(found, exact):
    """Relative errors of logits, of all weight gradients together, and of the rewards of each kind."""
    names = list(exact[1])
    together = [torch.cat([one[1][name].flatten() for name in names]) for one in (found, exact)]
    errors = {"logits": relative_error(found[0], exact[0]), "weights": relative_error(*together)}
    return errors | {kind: relative_error(found[2][kind], u) for kind, u in exact[2].items()}


def assert_close_in_32_bits(found, exact, outputs):
    """ReLU and max pool switch where numbers differ in their last bit: 1e-3 of a gradient."""
    errors = apart(found, exact)
    assert errors["logits"] < outputs, errors
    assert max(errors.values()) < 1e-2, errors
    largest = max(float(gradient.norm()) for gradient in exact[1].values())
    for name, gradient in exact[1].items():
        error = float((found[1][name] - gradient).norm())
        bound = 2e-2 * float(gradient.norm()) + 1e-3 * largest
        assert error <= bound, (name, error, bound)


def assert_as_close_in_16_bits(found, other, exact):
    """No further from 32 bits than the modules are, and rewards in the same order."""
    ours, theirs = apart(found, exact), apart(other, exact)
    assert all(ours[name] <= 1.25 * error + 0.02 for name, error in theirs.items()), (ours, theirs)
    agree = []
    for kind, rewards in exact[2].items():
        for mine, yours, right in zip(found[2][kind], other[2][kind], rewards, strict=True):
            noise = (yours - right).square().mean().sqrt() * 2**0.5  # of a difference
            apart_by = right[:, :, None] - right[:, None, :]
            clear = apart_by.abs() > 6 * noise
            agree.append(((mine[:, :, None] - mine[:, None, :]).sign() == apart_by.sign())[clear])
    together = torch.cat(agree)
    assert len(together) > 0
    assert together.double().mean() >= 0.99  # noise has long tails: few experts bear most of it


on_gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
