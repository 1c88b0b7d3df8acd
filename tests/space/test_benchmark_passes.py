"""The autograd functions of NAS-Bench-201's fused cells, one at a time."""

import torch

from xnas.kernels.fan_out import Routes
from xnas.space.benchmark_passes import POINTWISE, SQUARE, CellPass, KernelPass, Setting


def test_pointwise_kernels_are_laid_into_the_middle_of_square_ones():
    square = torch.randn(1, 2, 3, 3, 2, dtype=torch.float64, requires_grad=True)
    pointwise = torch.randn(2, 2, 2, dtype=torch.float64, requires_grad=True)
    places = {POINTWISE: torch.tensor([0, 2]), SQUARE: torch.tensor([1])}
    together = KernelPass.apply(square, pointwise, places, 3, torch.float64)
    assert together.shape == (6, 2, 3, 3)
    slots = together.detach().permute(0, 2, 3, 1).reshape(3, 2, 3, 3, 2)
    assert torch.equal(slots[1], square[0])
    assert torch.equal(slots[[0, 2], :, 1, 1], pointwise)
    assert int((slots[[0, 2]] != 0).sum()) == pointwise.numel()
    upstream = torch.randn_like(together)
    together.backward(upstream)
    of_slots = upstream.permute(0, 2, 3, 1).reshape(3, 2, 3, 3, 2)
    assert torch.equal(square.grad[0], of_slots[1])
    assert torch.equal(pointwise.grad, of_slots[[0, 2], :, 1, 1])


def test_gradients_of_a_cell_are_right():
    """Two nodes; the input has a convolution to each and a pool to one, the first node a skip."""
    places = (torch.tensor([[0, -1], [-1, 1]]), torch.tensor([[-1, -1]]))
    routes = tuple(
        Routes(one.to(torch.int32), slots, pooled)
        for one, slots, pooled in zip(places, (2, 0), (True, False), strict=True)
    )
    running = [(torch.zeros(slots, 2).double(), torch.ones(slots, 2).double()) for slots in (2, 0)]
    x = torch.randn(2, 2, 3, 4, dtype=torch.float64).to(memory_format=torch.channels_last)
    weights = torch.rand(sum(one.width for one in routes), dtype=torch.float64)
    kernel = torch.randn(4, 2, 3, 3, dtype=torch.float64).to(memory_format=torch.channels_last)
    leaves = [one.requires_grad_() for one in (x, weights, kernel)]

    def cell(x, weights, kernel):
        setting = Setting(routes, running, training=True, rectify=False)
        return CellPass.apply(setting, x, None, weights, kernel, None)[0]

    assert torch.autograd.gradcheck(cell, leaves, eps=1e-6, atol=1e-5, check_undefined_grad=False)
