"""Without Triton plain versions compute everything; with it, kernels compute what is on a GPU."""

import os
import subprocess
import sys
from contextlib import nullcontext

import pytest
import torch

from xnas.kernels import language
from xnas.kernels.language import compiles_for, triton

WITHOUT_TRITON = """
import sys
sys.modules["triton"] = None  # what `import triton` finds where it is not installed
import torch
from xnas.kernels import (
    depthwise, depthwise_plan, depthwise_weights, language, mixing, mixing_gradients, moments,
    normalization, normalization_gradients, pointwise, pointwise_weights, pool_gradients, pools,
    square_weights, states, sums,
)
assert language.triton is None
assert not language.compiles_for(torch.zeros(1))
x, zero, both = torch.randn(1, 2, 4, 4, 3), torch.tensor([0]), torch.tensor([0, 1])
plan, weights = depthwise_plan.plan_of([(0, 3, 1)], inputs=1, device=x.device), [torch.randn(1, 9, 3)]
y = depthwise.depthwise(x, weights, plan, stride=1, relu=True)
into = torch.zeros_like(x)
depthwise.depthwise_input_gradient(y, weights, plan, x, stride=1, into=into)
depthwise_weights.depthwise_weight_gradient(x, y, plan, like=weights, stride=1, relu=True)
taken = pools.max_pool(x, stride=1, out=y)
pool_gradients.max_pool_gradient(y, taken, stride=1, into=into)
pools.average_pool(x, stride=1, out=y)
pool_gradients.average_pool_gradient(y, stride=1, into=into)
flat, out, products = x.reshape(1, -1, 3), torch.empty(1, 32, 3), torch.empty(1, 2, 3)
found = moments.Moments(torch.empty(1, 3), torch.empty(1, 3))
pointwise.pointwise(flat, torch.randn(1, 3, 3))
pointwise.pointwise_with_moments(flat, torch.randn(1, 3, 3), out=out, into=found)
pointwise_weights.pointwise_weight_gradient(flat, out)
square_weights.square_weight_gradient(x[0], y[0])
sums.add_up(torch.randn(4, 6), products)
moments.gather_moments(flat, found)
mixing.mix(flat, found, zero, torch.ones(1), out=out[0])
mixing_gradients.term_products(out[0], flat, found, slots=zero, out=products)
mixing_gradients.advice_gradient(
    out, flat, found, mixing_gradients.Readers(zero, both, zero), targets=zero,
    weights=torch.ones(1), products=products, held=True, out=torch.empty_like(flat),
)
normalization.normalize(flat, found, relu=True)
normalization_gradients.normalization_gradient(out, flat, found, products)
normalization_gradients.normalization_sums(out, flat, found)
states.total([states.join([flat[0], flat[0]])] * 2)
print("computed", bool(torch.isfinite(into).all()))
"""


def test_plain_versions_compute_everything_where_triton_is_not_installed():
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_TRITON],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["computed", "True"]


def test_plain_versions_compute_what_is_on_the_cpu():
    assert not compiles_for(torch.zeros(1))


@pytest.mark.gpu
def test_kernels_compute_what_is_on_a_gpu():
    assert compiles_for(torch.zeros(1, device="cuda")) == (triton is not None)


class Recorded:
    """Stands in for a function of Triton's."""

    def __init__(self):
        self.launched, self.compiled = [], []

    def __getitem__(self, grid):
        return lambda *arguments, **_: self.launched.append((grid, *arguments))

    def warmup(self, *arguments, grid, **constants):  # noqa: ARG002
        self.compiled.append(constants)


def test_a_rehearsal_launches_nothing_and_compiles_every_variant_once(monkeypatch):
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    function = Recorded()
    known = language.Kernel(function)
    numbers = torch.zeros(64)
    with language.rehearsal():
        for length in (1, 16, 7):  # numbers and places make no variant, types and constants do
            known[(length,)](numbers, length, side=3)
        known[(1,)](numbers.double(), 1, side=3)
        known[(1,)](numbers[1:], 1, side=3)  # not aligned
        known[(1,)](numbers, 1, side=5)
    assert function.launched == []
    assert sorted(c["side"] for c in function.compiled) == [3, 3, 3, 5]
    known[(2,)](numbers, 5)
    assert len(function.launched) == 1


def test_a_rehearsal_that_fails_is_over(monkeypatch):
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    with pytest.raises(ValueError, match="no"), language.rehearsal():
        raise ValueError("no")
    assert language.Kernel.noted is None
