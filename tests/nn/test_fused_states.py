"""Pools, sums of gradients and concatenation of trained networks: what plain modules compute."""

import pytest
import torch
from torch.nn.functional import avg_pool2d, max_pool2d

from xnas.nn.fused_states import images_of, joined, pixels_of, pool, shared, slot_of


def drawn(*shape):
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("stride", [1, 2])
def test_pools_and_their_gradients_are_pytorchs(stride, layout):
    x = drawn(2, 3, 7, 6)
    plain = {
        True: max_pool2d(x, 3, stride, 1),
        False: avg_pool2d(x, 3, stride, 1, count_include_pad=False),
    }
    for largest, expected in plain.items():
        found = pool(x.to(memory_format=layout), stride, largest=largest)
        upstream = torch.randn_like(expected)
        assert torch.allclose(found, expected)
        gradients = [torch.autograd.grad(out, x, upstream)[0] for out in (found, expected)]
        assert torch.allclose(*gradients)


def test_gradients_of_all_users_are_added_up():
    x = drawn(2, 3, 4, 5)
    first, second, unused = shared(x, 3)
    assert all(torch.equal(one, x) for one in (first, second, unused))
    (2 * first.sin() + second**2).sum().backward()
    assert torch.allclose(x.grad, 2 * x.detach().cos() + 2 * x.detach())


def test_states_are_concatenated_and_gradients_split():
    states = [drawn(2, 3, 4, 5) for _ in range(3)]
    out = joined(states)
    assert torch.equal(out, torch.cat(states, 1))
    upstream = torch.randn_like(out)
    out.backward(upstream)
    for state, part in zip(states, upstream.chunk(3, 1), strict=True):
        assert torch.equal(state.grad, part)


def test_channels_last_images_are_not_copied():
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert slot_of(x).shape == (1, 2, 4, 5, 3)
    assert slot_of(x).data_ptr() == x.data_ptr() == pixels_of(x).data_ptr()
    assert torch.equal(images_of(slot_of(x)), x)
    part = x[:, 1:]  # some of the channels, whose rows lie apart
    assert pixels_of(part).data_ptr() == part.data_ptr()
    assert torch.equal(pixels_of(part)[0].view(2, 4, 5, 2), part.permute(0, 2, 3, 1))
