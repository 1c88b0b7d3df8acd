"""Operations on kernels equal the plain modules: outputs, gradients, statistics. CPU: plain versions."""

import copy
from itertools import product

import pytest
import torch
from kernel_cases import covering
from torch import nn
from torch.nn.functional import cross_entropy

from xnas import create_model
from xnas.nn.operations import FINAL, SEARCH, build_operation, fuse

REDUCTION = "skip_connect"  # at stride 2
CONVOLUTIONS = ["sep_conv_3x3", "sep_conv_5x5", "sep_conv_7x7", "dil_conv_3x3", "dil_conv_5x5"]
POOLS = ["avg_pool_3x3", "max_pool_3x3"]
# Sums of a few thousand terms in another order.
TOLERANCE = {torch.float64: 1e-10, torch.float32: 2e-4}
# bfloat16 has 8 bits; both ways round it at a dozen places, not the same ones. Of the largest number.
BF16_TOLERANCE = 0.04


def spread(operation):
    """Batch norms whose scale and shift are not those of the beginning; half of the ReLUs shut."""
    for module in operation.modules():
        if isinstance(module, nn.BatchNorm2d) and module.affine:
            nn.init.normal_(module.weight, 1, 0.3)
            nn.init.normal_(module.bias, 0, 0.3)
    return operation


def learned(operation, x, autocast=False, of=None):
    """Output, all gradients and all buffers (of a module) after a step forward and back, by name."""
    x = x.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        out = operation(x)
    upstream = torch.linspace(-1, 1, out.numel()).to(out).view(out.shape).sin()
    out.backward(upstream)
    found = {"out": out.detach(), "x": x.grad}
    module = operation if of is None else of
    found |= {name: p.grad for name, p in module.named_parameters()}
    return found | {name: b.clone() for name, b in module.named_buffers()}


def agree(one, other, tolerance):
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].dtype == other[name].dtype, name
        assert one[name].shape == other[name].shape, name
        scale = one[name].abs().max().clamp_min(1)
        apart = (one[name].double() - other[name].double()).abs().max() / scale
        assert float(apart) < tolerance, (name, float(apart))


def pair(name, channels, stride, dtype):
    torch.manual_seed(0)
    plain = spread(build_operation(name, channels, stride, FINAL)).to(dtype)
    fused = copy.deepcopy(plain)
    fuse(fused)
    return plain, fused


def never(*_arguments, **_options):
    raise AssertionError("computed on kernels")


EVERY_PAIR = covering(
    list(
        product(
            CONVOLUTIONS + POOLS,
            [1, 2],
            [(3, 5, 7, 9), (3, 8, 8, 6)],
            list(TOLERANCE),
            [torch.contiguous_format, torch.channels_last],
        )
    )
)


@pytest.mark.parametrize(("name", "stride", "shape", "dtype", "layout"), EVERY_PAIR)
def test_a_step_is_that_of_plain_modules(name, stride, shape, dtype, layout):
    plain, fused = pair(name, shape[1], stride, dtype)
    fused = fused.to(memory_format=layout)
    x = torch.randn(shape, dtype=dtype)
    found = learned(fused, x.to(memory_format=layout))
    agree(learned(plain, x), found, TOLERANCE[dtype])
    assert found["out"].is_contiguous(memory_format=torch.channels_last)
    assert found["x"].is_contiguous(memory_format=layout)


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("stride", [1, 2])
def test_under_autocast_it_computes_in_bf16_as_plain_modules_do(name, stride):
    plain, fused = pair(name, 6, stride, torch.float32)
    x = torch.randn(4, 6, 9, 8)
    expected, found = learned(plain, x, autocast=True), learned(fused, x, autocast=True)
    assert found["out"].dtype == torch.bfloat16
    assert found["1.weight"].dtype == torch.float32
    agree(expected, found, BF16_TOLERANCE)


@pytest.mark.parametrize("name", ["sep_conv_3x3", "dil_conv_5x5"])
@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_drop_path_and_the_sum_at_a_node_are_part_of_it(name, dtype):
    factors, there = torch.tensor([1.25, 0, 1.25]), torch.randn(3, 6, 5, 4, dtype=dtype)
    x, found = torch.randn(3, 6, 5, 4, dtype=dtype), []
    for operation in pair(name, 6, 1, dtype):
        plus = there.clone().requires_grad_()
        end = {"factors": factors.to(dtype), "plus": plus.sin()}
        results = learned(lambda x, own=operation, end=end: own(x, **end), x, of=operation)
        found.append(results | {"plus": plus.grad})
    agree(*found, TOLERANCE[dtype])


@pytest.mark.parametrize("shape", [(3, 6, 8, 6), (2, 4, 7, 9), (2, 4, 8, 5)])
@pytest.mark.parametrize("affinity", [FINAL, SEARCH])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_a_factorised_reduction_is_that_of_plain_modules(shape, affinity, layout):
    torch.manual_seed(0)
    plain = spread(build_operation(REDUCTION, shape[1], 2, affinity)).double()
    fused = copy.deepcopy(plain).to(memory_format=layout)
    fuse(fused)
    x = torch.randn(shape, dtype=torch.float64).to(memory_format=layout)
    found = learned(fused, x)
    agree(learned(plain, x), found, TOLERANCE[torch.float64])
    assert found["out"].is_contiguous(memory_format=torch.channels_last)
    assert torch.allclose(plain.eval()(x), fused.eval()(x))


def test_the_taps_of_a_channel_lie_apart_on_kernels_and_everything_follows():
    plain, fused = pair("sep_conv_3x3", 4, 1, torch.float32)
    weights = [p for p in fused.parameters() if p.dim() == 4 and p.shape[2] == 3]
    assert all(p.flatten(1).t().is_contiguous() for p in weights)
    copied = copy.deepcopy(fused).parameters()
    assert all(p.stride() == q.stride() for p, q in zip(fused.parameters(), copied, strict=True))
    descents = [torch.optim.SGD(own.parameters(), 0.1, 0.9, fused=True) for own in (plain, fused)]
    for _ in range(3):
        x = torch.randn(2, 4, 6, 6)
        for own, descent in zip((plain, fused), descents, strict=True):
            descent.zero_grad()
            own(x).sin().sum().backward()
            nn.utils.clip_grad_norm_(own.parameters(), 1.0)
            descent.step()
        assert all(p.grad.stride() == p.stride() for p in weights)
    agree(plain.state_dict(), fused.state_dict(), TOLERANCE[torch.float32])
    plain.load_state_dict(fused.state_dict())
    fused.load_state_dict(plain.state_dict())
    assert all(p.flatten(1).t().is_contiguous() for p in weights)
    fuse(fused, on=False)
    assert all(p.is_contiguous() for p in weights)
    assert torch.equal(plain.eval()(x), fused.eval()(x))


def test_gradients_are_right():
    for name, stride in (("sep_conv_3x3", 2), ("dil_conv_3x3", 1), ("max_pool_3x3", 1)):
        _, fused = pair(name, 2, stride, torch.float64)
        x = torch.randn(2, 2, 5, 5, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(fused, (x,), eps=1e-6, atol=1e-4)


@pytest.mark.parametrize("frozen", [("x",), ("x", "0", "1", "2", "3"), ("5", "6"), ("2", "7")])
def test_what_needs_no_gradient_gets_none_and_the_rest_is_right(frozen):
    plain, fused = pair("sep_conv_3x3", 4, 1, torch.float64)
    x = torch.randn(2, 4, 6, 6, dtype=torch.float64)
    results = []
    for operation in (plain, fused):
        for name, p in operation.named_parameters():
            p.requires_grad_(name.split(".")[0] not in frozen)
        mine = x.clone().requires_grad_("x" not in frozen)
        operation(mine).sin().sum().backward()
        gradients = {"x": mine.grad} | {name: p.grad for name, p in operation.named_parameters()}
        results.append({name: g for name, g in gradients.items() if g is not None})
    agree(*results, TOLERANCE[torch.float64])


def test_two_steps_in_a_row_move_statistics_and_the_count():
    plain, fused = pair("sep_conv_5x5", 4, 1, torch.float64)
    for _ in range(2):
        x = torch.randn(2, 4, 6, 6, dtype=torch.float64)
        plain(x)
        fused(x)
    agree(plain.state_dict(), fused.state_dict(), TOLERANCE[torch.float64])
    assert int(fused[7].num_batches_tracked) == 2


def test_weights_have_the_names_they_had():
    # Published and trained weights name the layers of a separable convolution by their place.
    names = list(build_operation("sep_conv_3x3", 2, 1, FINAL).state_dict())
    norm = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    first = ["1.weight", "2.weight", *(f"3.{part}" for part in norm)]
    assert names == [*first, "5.weight", "6.weight", *(f"7.{part}" for part in norm)]


@pytest.mark.parametrize("name", CONVOLUTIONS + POOLS)
def test_plain_modules_evaluate_and_search(name, monkeypatch):
    monkeypatch.setattr("xnas.nn.fused.separable", never)
    monkeypatch.setattr("xnas.nn.fused_states.pool", never)
    plain, fused = pair(name, 4, 1, torch.float32)
    x = torch.randn(2, 4, 6, 6)
    assert torch.equal(fused.eval()(x), plain.eval()(x))
    if name in CONVOLUTIONS:  # a search has no scales
        searching = build_operation(name, 4, 1, SEARCH)
        fuse(searching)
        searching(x)
    fuse(fused, on=False)
    fused.train()(x)


def test_a_batch_norm_that_the_kernels_do_not_know_stays_plain(monkeypatch):
    monkeypatch.setattr("xnas.nn.fused.separable", never)
    _, fused = pair("dil_conv_3x3", 4, 1, torch.float32)
    fused[3].eps = 1e-3
    fused(torch.randn(2, 4, 6, 6))


@pytest.mark.parametrize("cell", ["xnas", "nasnet_a", "pc_darts_cifar"])
def test_a_network_with_tower_and_drop_path_learns_as_the_plain_one(cell):
    torch.manual_seed(0)
    options = {"channels": 4, "cells": 3, "num_classes": 3, "auxiliary": True, "drop_path_rate": 0.3}
    plain = spread(create_model(cell, **options)).double()
    fused = copy.deepcopy(plain).to(memory_format=torch.channels_last)
    fuse(fused)
    x, labels = torch.randn(6, 3, 16, 16, dtype=torch.float64), torch.arange(6) % 3
    for network in (plain, fused):
        torch.manual_seed(1)  # drop path draws the same
        descend = torch.optim.SGD(network.parameters(), lr=0.1)
        logits, beside = network.forward_with_auxiliary(x)
        (cross_entropy(logits, labels) + 0.4 * cross_entropy(beside, labels)).backward()
        descend.step()
    agree(plain.state_dict(), fused.state_dict(), 1e-9)
    assert torch.allclose(plain.eval()(x), fused.eval()(x), atol=1e-8)
