"""The method darts: Adam on logits behind a softmax."""

import copy

import pytest
import torch
from method_games import build, play

from xnas import ConfigError


def test_darts_descends_its_logits_as_autograd_and_adam_do():
    mixtures, method = build("darts")
    logits = [a.detach().clone().requires_grad_() for a in method.logits]
    adam = torch.optim.Adam(logits, lr=3e-4, betas=(0.5, 0.999), weight_decay=1e-3)
    for seed in range(5):
        target = torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(seed))
        for mixture, t in zip(mixtures.values(), target, strict=True):
            mixture.grad = t.clone()
        method.step()
        adam.zero_grad()
        sum((a.softmax(-1) * t).sum() for a, t in zip(logits, target, strict=True)).backward()
        adam.step()
    for mine, theirs in zip(method.logits, logits, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


def test_darts_starts_near_uniform_with_noise_from_its_seed():
    mixtures, _ = build("darts")
    assert 0 < (mixtures["normal"] - 0.2).abs().max() < 2e-3


def test_darts_takes_one_round_an_update():
    with pytest.raises(ConfigError, match="not accounting 'sample'"):
        build("darts", accounting="sample")


@pytest.mark.parametrize("rounds", [1, 2])
def test_darts_refuses_to_observe_one_mixture_and_leaves_all_as_they_are(rounds):
    mixtures, method = build("darts")
    play(mixtures, method, 3)
    before = copy.deepcopy(mixtures)
    with pytest.raises(
        ConfigError, match=f"cannot observe .* got {rounds} .*; set the gradient .* step"
    ):
        method.observe(mixtures["normal"], torch.ones(rounds, 4, 5))
    for kind, mixture in mixtures.items():
        assert torch.equal(mixture, before[kind])
