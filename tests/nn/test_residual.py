"""The residual reduction."""

import pytest
import torch

from xnas.nn.operations import FINAL
from xnas.nn.residual import ResidualReduction


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize("size", [(8, 8), (7, 9)])
def test_a_residual_reduction_adds_its_two_ways(size):
    block = ResidualReduction(4, 6, FINAL).eval()
    x = torch.randn(2, 4, *size)
    out = block(x)
    assert out.shape == (2, 6, *(-(-side // 2) for side in size))
    assert torch.equal(out, block.shortcut(x) + block.convolutions(x))
    assert count(block) == 9 * 4 * 6 + 9 * 6 * 6 + 4 * 6 + 2 * 2 * 6
