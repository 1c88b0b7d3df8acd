"""Packed parameters: modules and optimizers continue as if nothing had happened."""

import torch
from torch import nn

from xnas.space.packing import pack, pack_buffers


def layers(count=3):
    return [nn.Linear(2, 4, bias=False) for _ in range(count)]


def packed(modules):
    return pack([m.weight for m in modules], packed=lambda p: p.t(), unpacked=lambda slot: slot.t())


def test_the_leaf_shares_its_memory_with_the_parameters():
    modules = layers()
    before = [m.weight.detach().clone() for m in modules]
    parameters = [m.weight for m in modules]
    leaf = packed(modules)
    assert leaf.is_leaf
    assert leaf.requires_grad
    assert leaf.shape == (3, 2, 4)
    for module, parameter, value, slot in zip(modules, parameters, before, leaf, strict=True):
        assert module.weight is parameter
        assert torch.equal(parameter, value)
        assert torch.equal(slot.t(), value)
    with torch.no_grad():
        leaf.zero_()
    assert all((m.weight == 0).all() for m in modules)
    modules[1].load_state_dict({"weight": before[1]})
    assert torch.equal(leaf[1].t(), before[1])


def test_gradients_reach_the_parameters():
    modules = layers()
    x = torch.randn(5, 2)
    sum((m(x) ** 2).sum() for m in modules).backward()
    expected = [m.weight.grad.clone() for m in modules]
    leaf = packed(modules)
    for _ in range(2):  # not added to those of the step before
        ((x @ leaf) ** 2).sum().backward(inputs=[leaf, *(m.weight for m in modules)])
        assert leaf.grad is None
        for module, gradient in zip(modules, expected, strict=True):
            torch.testing.assert_close(module.weight.grad, gradient)


def test_an_optimizer_moves_the_leaf():
    modules = layers()
    optimizer = torch.optim.SGD([m.weight for m in modules], lr=0.1, momentum=0.9)
    leaf = packed(modules)
    before = leaf.detach().clone()
    leaf.sum().backward()
    optimizer.step()
    torch.testing.assert_close(leaf.detach(), before - 0.1)


def test_what_is_left_can_be_packed_anew():
    modules = layers()
    packed(modules)
    left = [modules[0], modules[2]]
    values = [m.weight.detach().clone() for m in left]
    leaf = packed(left)
    assert len(leaf) == 2
    leaf.sum().backward()
    for module, value in zip(left, values, strict=True):
        assert torch.equal(module.weight, value)
        assert (module.weight.grad == 1).all()
    assert modules[1].weight.grad is None


def test_buffers_are_shared_and_stay_in_the_state():
    norms = [nn.BatchNorm1d(2) for _ in range(3)]
    keys = list(norms[0].state_dict())
    means, counts = pack_buffers(norms, "running_mean"), pack_buffers(norms, "num_batches_tracked")
    assert means.shape == (3, 2)
    assert counts.shape == (3,)
    means[1] = 7
    counts.add_(1)
    assert norms[1].running_mean.tolist() == [7, 7]
    assert [int(n.num_batches_tracked) for n in norms] == [1, 1, 1]
    norms[0](torch.randn(4, 2))
    assert counts.tolist() == [2, 1, 1]
    assert torch.equal(means[0], norms[0].running_mean)
    assert list(norms[0].state_dict()) == keys
