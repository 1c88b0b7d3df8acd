"""Fused cells with partial channels against the plain modules: the same function of the same weights."""

import pytest
import torch
from fused_cases import (
    FEW,
    NORMAL,
    REDUCTION,
    SPACE,
    WITH_NONE,
    assert_as_close_in_16_bits,
    assert_close_in_32_bits,
    assert_same,
    batch_of,
    differentiated,
    leaving,
    on_gpu,
    pair_of,
    some_deaths,
    uneven,
    wipe,
)

from xnas import split_parameters
from xnas.nn.partial import with_bypass
from xnas.space.fused_cell import FusedCell
from xnas.space.fused_partial_cell import FusedPartialCell, fused_cell
from xnas.space.supernet import Supernet


@pytest.mark.parametrize(
    ("space", "sizes", "size"),
    [
        (WITH_NONE, {"channels": 8, "partial_channels": 4}, (9, 7)),
        (FEW, {"channels": 6, "partial_channels": 3, "cells": 4}, (8, 11)),
        (FEW, {"channels": 2, "partial_channels": 2}, (8, 8)),
    ],
    ids=["a quarter", "a third", "one channel"],
)
def test_it_computes_what_the_modules_do(space, sizes, size):
    plain, fused = pair_of(space, **sizes)
    fused.fuse()
    assert fused.fused
    assert_same(plain, fused, batch_of(plain, size=size))


def test_one_more_column_weighs_the_bypass():
    plain, fused = pair_of(WITH_NONE, channels=4, partial_channels=2)
    fused.fuse()
    wider = {kind: with_bypass(u, torch.rand_like(u)) for kind, u in uneven(plain).items()}
    _, _, rewards = assert_same(plain, fused, batch_of(plain), wider)
    assert all(r[..., -1].abs().max() > 1e-3 for r in rewards.values())
    narrow = {kind: with_bypass(u, u) for kind, u in uneven(plain).items()}
    images, _ = batch_of(plain)
    summed = {kind: u[..., :-1] for kind, u in narrow.items()}
    torch.testing.assert_close(fused(images, narrow), fused(images, summed))


@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_it_computes_what_the_modules_do_for_any_living_experts(seed):
    deaths = some_deaths(WITH_NONE, seed)
    plain, fused = pair_of(WITH_NONE, seed=seed, deaths=deaths, channels=4, partial_channels=2)
    fused.fuse()
    assert_same(plain, fused, batch_of(plain))


@pytest.mark.parametrize(
    "keep",
    [
        lambda *_: ["skip_connect"],
        lambda *_: ["max_pool_3x3"],
        lambda source, _: ["none"] if source == 2 else FEW.operations,
        lambda source, _: ["none"] if source < 2 else ["sep_conv_3x3"],
        lambda *_: ["none"],
    ],
    ids=["skips", "pools", "none from a node", "none from the inputs", "none"],
)
def test_edges_may_have_few_experts_left(keep):
    deaths = leaving(FEW, keep)
    plain, fused = pair_of(FEW, deaths=deaths, channels=4, partial_channels=2)
    fused.fuse()
    assert_same(plain, fused, batch_of(plain))


def test_a_search_continues_after_a_wipe():
    plain, fused = pair_of(FEW, channels=4, partial_channels=2)
    batch, mixtures = batch_of(plain), uneven(plain)
    optimizers = [torch.optim.SGD(split_parameters(n)[0], lr=0.1, momentum=0.9) for n in (plain, fused)]
    fused.fuse()
    deaths = [[], [0], [1, 2, 3], [7], []]
    for _ in range(2):
        assert_same(plain, fused, batch, mixtures)
        for optimizer in optimizers:
            optimizer.step()
    for net in (plain, fused):
        wipe(net, {NORMAL: deaths, REDUCTION: deaths[::-1]})
    fused.fuse()
    assert_same(plain, fused, batch, mixtures)


def test_cells_with_all_channels_are_fused_whole():
    whole, part = (
        Supernet(FEW, num_classes=2, cells=3, channels=4, partial_channels=parts) for parts in (1, 2)
    )
    assert isinstance(fused_cell(whole.cells[0]), FusedCell)
    assert isinstance(fused_cell(part.cells[0]), FusedPartialCell)


class TestOnGpu:
    pytestmark = on_gpu

    @pytest.fixture(autouse=True)
    def _exact_products(self, monkeypatch):
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)

    def networks(self, deaths=None):
        sizes = {"num_classes": 10, "dtype": torch.float32, "device": "cuda", "channels": 16, "cells": 4}
        return pair_of(SPACE, deaths=deaths, partial_channels=4, **sizes)

    @pytest.mark.parametrize("seed", [None, 1])
    def test_in_32_bits_it_computes_what_the_modules_do(self, seed):
        plain, fused = self.networks(None if seed is None else some_deaths(SPACE, seed))
        fused.fuse()
        batch, mixtures = batch_of(plain, size=(16, 16), batch=32), uneven(plain)
        found, exact = (differentiated(net, batch, mixtures) for net in (fused, plain))
        assert_close_in_32_bits(found, exact, 1e-4)

    def test_in_16_bits_it_is_as_close_as_the_modules_are(self):
        plain, fused = self.networks()
        fused.fuse()
        batch, mixtures = batch_of(plain, size=(16, 16), batch=32), uneven(plain)
        exact = differentiated(plain, batch, mixtures)
        found, other = (differentiated(n, batch, mixtures, autocast=True) for n in (fused, plain))
        assert_as_close_in_16_bits(found, other, exact)
