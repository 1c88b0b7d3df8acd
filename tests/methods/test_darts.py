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


def test_rate_and_decay_of_the_game_come_before_the_methods_own():
    _, method = build("darts", logits_lr=0.01, logits_weight_decay=0.0)
    (group,) = method.adam.param_groups
    assert (group["lr"], group["weight_decay"], group["betas"]) == (0.01, 0.0, (0.5, 0.999))
    _, method = build("darts")
    (group,) = method.adam.param_groups
    assert (group["lr"], group["weight_decay"]) == (3e-4, 1e-3)


def test_a_larger_decay_keeps_mixtures_denser():
    shares = []
    for decay in (0.0, 1.0):
        mixtures, method = build("darts", logits_weight_decay=decay, logits_lr=0.05)
        play(mixtures, method, 200)
        shares.append(mixtures["normal"].max().item())
    assert shares[0] > shares[1] > 0.2


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
