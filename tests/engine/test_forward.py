"""How a search computes its supernet."""

import pytest
import torch
from searching import engine
from torch import nn
from torch.nn.functional import cross_entropy

from xnas.engine.forward import accuracy, architecture_losses, held_fixed, untouched_buffers


def test_leaves_are_held_fixed_and_let_go_even_after_an_error():
    learned, frozen = torch.ones(1, requires_grad=True), torch.ones(1)

    def fail():
        with held_fixed([learned, frozen]):
            return 1 / float(learned.requires_grad)  # 1 / 0 while it is held

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (learned.requires_grad, frozen.requires_grad) == (True, False)


def test_buffers_of_every_kind_are_put_back():
    norm = nn.BatchNorm2d(2)
    norm(torch.randn(4, 2, 3, 3))
    before = {name: b.clone() for name, b in norm.named_buffers()}
    places = {name: b.data_ptr() for name, b in norm.named_buffers()}
    with untouched_buffers(norm):
        norm(torch.randn(4, 2, 3, 3))
        assert norm.num_batches_tracked == 2
    for name, buffer in norm.named_buffers():
        assert torch.equal(buffer, before[name])
        assert buffer.data_ptr() == places[name]


def test_accuracy_is_the_share_of_right_answers():
    assert accuracy(torch.eye(4), torch.tensor([0, 1, 2, 0])) == 0.75


def test_rewards_are_paid_for_the_loss_itself_by_default():
    logits, labels = torch.randn(5, 3), torch.tensor([0, 1, 2, 0, 1])
    loss, paid = architecture_losses(engine(), logits, labels)
    assert loss is paid
    assert torch.equal(loss, cross_entropy(logits, labels))
