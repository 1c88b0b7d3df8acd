"""ASAP: cooling, grace and pruning."""

import pytest
import torch
from method_games import near, one_edge, row

from xnas.methods.asap import temperature


def test_the_temperature_falls_below_one_in_epoch_ten_of_fifty():
    found = [temperature(epoch) for epoch in (0, 9, 10, 30, 49)]
    assert found == pytest.approx([1.6, 1.008399, 0.957979, 0.343422, 0.129592], abs=6e-7)
    _, method = one_edge("asap", epochs=50)
    assert [method.learns(epoch, 0) for epoch in (0, 9, 10, 49)] == [False, False, True, True]
    _, shorter = one_edge("asap", epochs=5)
    assert [shorter.learns(epoch, 0) for epoch in range(5)] == [False, True, True, True, True]


def test_what_is_below_its_share_of_the_threshold_goes():
    mixture, method = one_edge("asap", logits=[0.2, -0.5, 0.4], epochs=50)
    method.begin_epoch(30)
    assert near(mixture, 0.342403, 0.044598, 0.612999)
    method.prune()
    method.write_beliefs()
    assert method.alive(mixture).tolist() == [[True, False, True]]
    assert near(mixture, 0.358387, 0, 0.641613)


def test_nothing_goes_in_the_grace_however_weak():
    mixture, method = one_edge("asap", logits=[5.0, -5.0, -5.0], epochs=50)
    method.begin_epoch(9)
    mixture.grad = row(0, 0, 0)
    method.step()
    assert method.alive(mixture).all()
    method.begin_epoch(10)
    method.step()
    assert method.alive(mixture).tolist() == [[True, False, False]]


def test_the_gradient_is_autograds_through_the_cooled_softmax():
    mixture, method = one_edge("asap", epochs=50)
    method.begin_epoch(30)
    logits = row(0.2, -0.1, 0.4).requires_grad_()
    gradient = row(0.5, -0.3, 0.1)
    u = (logits / temperature(30)).softmax(-1)
    (expected,) = torch.autograd.grad((u * gradient).sum(), logits)
    mixture.grad = gradient
    method.step()
    torch.testing.assert_close(method.logits[0].grad, expected)
