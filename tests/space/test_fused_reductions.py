"""Skip connections that halve the image, computed together: the same as one module after another."""

import copy

import pytest
import torch

from xnas.kernels.moments import Moments
from xnas.kernels.normalization import normalize
from xnas.kernels.normalization_gradients import normalization_gradient, normalization_sums
from xnas.nn.operations import SEARCH, FactorizedReduction
from xnas.space.fused_reductions import Reductions


@pytest.mark.parametrize("sources", [[0, 0, 1], [1, 1], [0]])
def test_reductions_together_are_the_modules_alone(sources):
    modules = [FactorizedReduction(3, 4, SEARCH).double() for _ in sources]
    alone = copy.deepcopy(modules)
    inputs = torch.randn(2, 2, 5, 7, 3, dtype=torch.float64, requires_grad=True)
    together = Reductions(modules, sources)
    active, weight = inputs.detach().relu(), together.packed.detach()
    products = active.new_empty(len(modules), 2 * 3 * 4, 4)
    moments = Moments(*active.new_empty(2, len(modules), 4))
    halves = together.forward(active, weight, out=products, into=moments)
    normalized = normalize(products, moments, relu=False)
    upstream = torch.randn_like(products)
    flow = normalization_gradient(
        upstream, products, moments, normalization_sums(upstream, products, moments)
    )
    into = torch.ones_like(inputs)
    together.add_gradient(together.halves_gradient(flow, weight), gate=active, into=into)
    together.packed.backward(together.weight_gradient(halves, flow))
    for index, (module, one, source) in enumerate(zip(modules, alone, sources, strict=True)):
        expected = one(inputs[source].permute(0, 3, 1, 2)).permute(0, 2, 3, 1).flatten(0, 2)
        expected.backward(upstream[index])
        torch.testing.assert_close(normalized[index], expected)
        torch.testing.assert_close(module.norm.running_mean, one.norm.running_mean)
        torch.testing.assert_close(module.norm.running_var, one.norm.running_var)
        torch.testing.assert_close(module.even.weight.grad, one.even.weight.grad)
        torch.testing.assert_close(module.odd.weight.grad, one.odd.weight.grad)
    torch.testing.assert_close(into - 1, inputs.grad)
