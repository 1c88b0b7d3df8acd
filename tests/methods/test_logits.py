"""Logits that Adam learns: the pull-back, what is drawn, ties between the dead and the living."""

import pytest
import torch
from method_games import COMMON, ROUNDS, FakePasses, build, near, one_edge, play, row

from xnas.methods import METHODS, LearnsLogits
from xnas.methods.logits import gumbel, masked_softmax, one_hot_of, pull_back

G = torch.tensor([COMMON["gradient"]], dtype=torch.float64)


def test_two_steps_of_dartss_adam_by_the_same_gradient():
    mixture, method = one_edge("darts")
    assert near(mixture, 0.337585, 0.250089, 0.412327)
    for expected in ((0.199700, -0.099700, 0.400300), (0.199400, -0.099400, 0.400600)):
        mixture.grad = G.clone()
        method.step()
        # Adam's first steps are its rate times a sign, so its own eps shows in the seventh digit.
        assert near(method.logits[0], *expected)


def test_the_pull_back_is_autograds_through_a_softmax_with_temperature():
    logits = row(0.2, -0.1, 0.4).requires_grad_()
    for temperature in (1.0, 0.3, 5.0):
        relaxed = (logits / temperature).softmax(-1)
        (expected,) = torch.autograd.grad((relaxed * G).sum(), logits)
        torch.testing.assert_close(pull_back(relaxed.detach(), G, temperature), expected)
    assert near(pull_back(row(0.337585, 0.250089, 0.412327), G), 0.123219, -0.108788, -0.014431)


def test_gumbel_noise_is_finite_and_its_largest_sum_is_drawn_by_the_softmax():
    generator = torch.Generator().manual_seed(0)
    u = torch.tensor([0.5, 0.3, 0.15, 0.05])
    scores = u.log() + gumbel(torch.zeros(20_000, 4), generator)
    assert scores.isfinite().all()
    shares = one_hot_of(scores).mean(0)
    torch.testing.assert_close(shares, u, atol=0.011, rtol=0)  # 3 deviations of 20,000 draws


def test_the_dead_have_no_weight_and_come_last():
    mixture, method = one_edge("asap")
    method.masks["normal"][0, 2] = False
    method.write_beliefs()
    assert mixture[0, 2] == 0
    assert near(method.comparable_sums(mixture), 0.2, -0.1, -0.1)
    assert masked_softmax(row(0, 0, 9), torch.tensor([[True, True, False]])).tolist() == [[0.5, 0.5, 0]]


@pytest.mark.parametrize("decay", [0.0, 1000.0])
@pytest.mark.parametrize("name", [name for name in METHODS if isinstance(build(name)[1], LearnsLogits)])
def test_numbers_stay_finite_at_the_largest_rate_and_decay_that_a_search_takes(name, decay):
    mixtures, method = build(name, logits_lr=10.0, logits_weight_decay=decay)
    play(mixtures, method, 10 * ROUNDS, epoch=9)
    method.check()
    for mixture in mixtures.values():
        assert method.strengths(mixture).isfinite().all()
        torch.testing.assert_close(mixture.sum(-1), torch.ones(4))


@pytest.mark.parametrize(("name", "clip"), [("pdarts", 5.0), ("snas", 10.0), ("darts", None)])
def test_the_norm_of_all_gradients_of_logits_together_is_clipped(name, clip):
    mixtures, method = build(name)
    for mixture in mixtures.values():
        mixture.grad = 1e3 * torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    if hasattr(method, "weights"):
        method.weights("rewards", FakePasses({}))
    method.step()
    norm = torch.stack([logits.grad.norm() for logits in method.logits]).norm()
    assert norm > 100 if clip is None else float(norm) == pytest.approx(clip, rel=1e-5)
