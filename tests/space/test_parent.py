"""What all supernets share: spread mixtures, identities, and experts that are deleted."""

import copy

import torch

from xnas.space import SPACES, CellKind
from xnas.space.supernet import Supernet

DARTS = SPACES["darts"]


def small(**arguments):
    return Supernet(DARTS, **{"num_classes": 5, "in_chans": 1, "cells": 3, "channels": 4} | arguments)


def test_spread_mixtures_predict_what_shared_ones_do_and_their_gradients_add_up():
    model = small().eval()
    x = torch.randn(2, 1, 8, 8)
    leaves = {kind: u.clone().requires_grad_() for kind, u in model.spread().items()}
    shared, spread = model(x), model(x, leaves)
    torch.testing.assert_close(shared, spread)
    shared.square().sum().backward()
    gradients = torch.autograd.grad(spread.square().sum(), list(leaves.values()))
    for mixture, gradient in zip(model.mixtures.values(), gradients, strict=True):
        torch.testing.assert_close(mixture.grad, gradient.sum(0), rtol=1e-4, atol=1e-6)


def test_wiping_deletes_an_expert_from_every_cell_that_shares_the_forecaster():
    model = small()
    before = sum(p.numel() for p in model.parameters())
    model.wipe("reduction", 3, [3, 5])
    for cell in model.cells:
        names = list(cell.forecasters[3].experts)
        gone = {"sep_conv_3x3", "dil_conv_3x3"} & set(names)
        assert bool(gone) is (cell.kind is CellKind.NORMAL)
    assert sum(p.numel() for p in model.parameters()) < before
    assert model(torch.randn(2, 1, 8, 8)).shape == (2, 5)


def test_deleting_experts_of_weight_zero_changes_no_prediction():
    model = small().eval()
    mixtures = model.spread()
    one = torch.zeros(14, 7).index_fill_(1, torch.tensor([2, 3]), 0.5)
    mixtures = {kind: one.expand(len(u), -1, -1) for kind, u in mixtures.items()}
    x = torch.randn(2, 1, 8, 8)
    before = model(x, mixtures)
    smaller = copy.deepcopy(model)
    for kind in model.mixtures:
        for edge in range(14):
            smaller.wipe(kind, edge, [0, 1, 4, 5, 6])
    assert torch.equal(smaller(x, mixtures), before)


def test_identities_are_the_skip_connections_of_stride_one():
    model = small()
    normal, reduction = model.identities("normal"), model.identities("reduction")
    assert normal.sum() == 14
    assert normal[:, 2].all()
    from_nodes = [source >= 2 for source, _ in DARTS.edges]
    assert reduction[:, 2].tolist() == from_nodes
