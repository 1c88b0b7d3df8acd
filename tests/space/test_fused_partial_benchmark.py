"""NAS-Bench-201's fused cells with partial channels against the plain modules."""

import pytest
import torch
from fused_benchmark_cases import (
    EDGES,
    EXACT,
    NORMAL,
    SINGLE,
    SPACE,
    WITH_NONE,
    assert_as_close,
    assert_same,
    batch_of,
    differentiated,
    pair_of,
    relative_error,
    some_deaths,
    wipe,
)
from fused_cases import on_gpu

from xnas import split_parameters
from xnas.kernels import fan_out, fan_out_gradients, language, rewards, square_weights
from xnas.nn.partial import shuffled, with_bypass


@pytest.mark.parametrize(
    ("space", "channels", "parts"),
    [(WITH_NONE, 8, 4), (SPACE, 6, 3), (WITH_NONE, 2, 2)],
    ids=["a quarter", "a third", "one channel"],
)
@pytest.mark.parametrize("training", [True, False])
def test_it_computes_what_the_modules_do(space, channels, parts, training):
    plain, fused = pair_of(space, seed=0, channels=channels, partial_channels=parts)
    plain.train(training)
    fused.train(training)
    fused.fuse()
    assert fused.fused
    assert_same(plain, fused, batch_of(plain), EXACT)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(s, marks=pytest.mark.slow) for s in range(2, 6))])
def test_it_computes_what_the_modules_do_for_any_living_experts(seed):
    plain, fused = pair_of(WITH_NONE, seed=seed, channels=4, partial_channels=2, cells=2)
    deaths = some_deaths(WITH_NONE, seed)
    wipe(plain, deaths)
    wipe(fused, deaths)
    fused.fuse()
    assert_same(plain, fused, batch_of(plain), EXACT)


@pytest.mark.parametrize("name", ["none", "skip_connect", "nor_conv_1x1"])
def test_edges_may_have_one_expert_left(name):
    others = [i for i, other in enumerate(WITH_NONE.operations) if other != name]
    for edges in ([0], [1, 2], [5]):
        plain, fused = pair_of(WITH_NONE, seed=1, channels=4, partial_channels=2)
        deaths = [others if edge in edges else [] for edge in range(EDGES)]
        wipe(plain, deaths)
        wipe(fused, deaths)
        fused.fuse()
        assert_same(plain, fused, batch_of(plain), EXACT)


def test_what_goes_by_has_the_weight_of_its_edge():
    """Of PC-DARTS, whose edges have weights: these mixtures do not add up to 1."""
    plain, fused = pair_of(SPACE, seed=2, channels=4, partial_channels=2)
    fused.fuse()
    images, _ = batch_of(plain)
    mixtures = {NORMAL: plain.spread()[NORMAL] * torch.rand(EDGES, 1)}
    torch.testing.assert_close(fused(images, mixtures), plain(images, mixtures), **EXACT)
    whole = {NORMAL: plain.spread()[NORMAL]}
    assert not torch.allclose(fused(images, whole), fused(images, mixtures))


def test_one_more_column_weighs_the_bypass():
    plain, fused = pair_of(WITH_NONE, seed=2, channels=4, partial_channels=2)
    fused.fuse()
    images, labels = batch_of(plain)
    u = plain.spread()[NORMAL]
    wider = with_bypass(u * torch.rand_like(u), torch.rand_like(u))
    found = []
    for net in (plain, fused):
        weights = wider.clone().requires_grad_()
        logits = net(images, {NORMAL: weights})
        (gradient,) = torch.autograd.grad(torch.nn.functional.cross_entropy(logits, labels), [weights])
        found.append((logits, gradient))
    (expected, gradients), (logits, same) = found
    torch.testing.assert_close(logits, expected, **EXACT)
    torch.testing.assert_close(same, gradients, **EXACT)
    assert gradients[..., -1].abs().max() > 1e-3


def test_a_search_continues_after_a_wipe():
    plain, fused = pair_of(WITH_NONE, seed=3, channels=4, partial_channels=2)
    optimizers = [torch.optim.SGD(split_parameters(n)[0], lr=0.1, momentum=0.9) for n in (plain, fused)]
    batch = batch_of(plain)
    fused.fuse()
    for _ in range(2):
        assert_same(plain, fused, batch, EXACT)
        for optimizer in optimizers:
            optimizer.step()
    for net in (plain, fused):
        wipe(net, [[], [0], [2, 3], [], [1], []])
    assert not fused.fused
    fused.fuse()
    assert_same(plain, fused, batch, EXACT)


def test_rewards_are_the_same_while_the_weights_are_held():
    _, fused = pair_of(WITH_NONE, seed=2, channels=4, partial_channels=2)
    fused.fuse()
    images, labels = batch_of(fused)
    found = []
    for held in (False, True):
        for leaf in (*split_parameters(fused)[0], *fused.packed):
            leaf.requires_grad_(not held)
        loss = torch.nn.functional.cross_entropy(fused(images), labels)
        found += torch.autograd.grad(loss, [fused.normal_mixture])
    assert torch.equal(*found)


def test_channels_are_joined_as_the_modules_do():
    _, fused = pair_of(SPACE, seed=0, channels=6, partial_channels=3)
    fused.fuse()
    forward = fused.fused_cells.begin(fused.spread()[NORMAL], training=True, dtype=torch.float64)
    x = torch.randn(2, 5, 7, 6)
    expected = shuffled(x.permute(0, 3, 1, 2), 3).permute(0, 2, 3, 1)
    assert torch.equal(forward._joined(x[..., :2], x[..., 2:]), expected)


@pytest.mark.skipif(
    language.triton is None or torch.cuda.is_available(), reason="Triton's interpreter is for CPUs"
)
def test_its_kernels_compute_what_the_modules_do(monkeypatch):
    plain, fused = pair_of(WITH_NONE, seed=0, dtype=torch.float32, channels=4, partial_channels=2)
    deaths = [[0, 1, 4], [], [1, 2], [3], [], [0, 1, 2, 3]]
    wipe(plain, deaths)
    wipe(fused, deaths)
    fused.fuse()
    for module in (fan_out, fan_out_gradients, rewards, square_weights):
        monkeypatch.setattr(module, "compiles_for", lambda _: True)
    assert_same(plain, fused, batch_of(plain, size=(8, 8), batch=3), SINGLE)


def test_in_16_bits_it_is_as_close_as_the_modules_are():
    plain, fused = pair_of(SPACE, seed=0, dtype=torch.float32, channels=8, partial_channels=2)
    fused.fuse()
    batch = batch_of(plain, size=(16, 16), batch=16)
    exact = differentiated(plain, batch)
    assert_as_close(differentiated(fused, batch, True), differentiated(plain, batch, True), exact)


class TestOnGpu:
    pytestmark = on_gpu

    @pytest.fixture(autouse=True)
    def _exact_products(self, monkeypatch):
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)

    def networks(self, seed):
        sizes = {"channels": 16, "partial_channels": 4, "num_classes": 10, "cells": 2}
        return pair_of(SPACE, seed=seed, dtype=torch.float32, device="cuda", **sizes)

    @pytest.mark.parametrize("seed", [0, 1])
    def test_in_32_bits_it_computes_what_the_modules_do(self, seed):
        plain, fused = self.networks(seed)
        if seed:
            deaths = some_deaths(SPACE, seed)
            wipe(plain, deaths)
            wipe(fused, deaths)
        fused.fuse()
        batch = batch_of(plain, size=(32, 32), batch=32)
        ours, exact = differentiated(fused, batch), differentiated(plain, batch)
        assert relative_error(ours[0], exact[0]) < 1e-3
        assert relative_error(ours[2], exact[2]) < 5e-3
        for name, gradient in exact[1].items():
            assert relative_error(ours[1][name], gradient) < 1e-2, name

    def test_in_16_bits_it_is_as_close_as_the_modules_are(self):
        plain, fused = self.networks(0)
        fused.fuse()
        batch = batch_of(plain, size=(32, 32), batch=32)
        exact = differentiated(plain, batch)
        assert_as_close(differentiated(fused, batch, True), differentiated(plain, batch, True), exact)
