"""Policies and their losses, by the known answers of PPO and REINFORCE."""

from itertools import product

import pytest
import torch

from xnas.samplers.policy import (
    CorrectedAverage,
    LogitsPolicy,
    MovingAverage,
    draw,
    judge,
    ppo_loss,
    recurrent_policy,
    reinforce_loss,
)

CARDINALITIES = (3, 2, 4)


def policies():
    generator = torch.Generator().manual_seed(0)
    recurrent = recurrent_policy(CARDINALITIES, generator, hidden=8)
    return [LogitsPolicy(CARDINALITIES, generator), recurrent]


def ppo(ratio, advantage):
    """Loss and its gradient by the log-probability, at one ratio and without entropy bonus."""
    log_ratio = torch.tensor([ratio], dtype=torch.float64).log().requires_grad_()
    nothing, entropy = torch.zeros(2, 1, dtype=torch.float64)
    given = torch.tensor([advantage], dtype=torch.float64)
    loss = ppo_loss(log_ratio, nothing, given, entropy, clip=0.2, entropy_weight=1e-5)
    loss.backward()
    return loss.item(), log_ratio.grad.item()


@pytest.mark.parametrize("policy", policies())
def test_probabilities_of_all_architectures_add_up_to_one(policy):
    everything = torch.tensor(list(product(*map(range, CARDINALITIES))))
    assert judge(policy, everything).log_probability.exp().sum().item() == pytest.approx(1, abs=1e-12)


def test_probabilities_of_the_benchmarks_cells_add_up_to_one():
    policy = LogitsPolicy((5,) * 6, torch.Generator().manual_seed(1))
    everything = torch.cartesian_prod(*[torch.arange(5)] * 6)
    assert len(everything) == 15_625
    assert judge(policy, everything).log_probability.exp().sum().item() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("policy", policies())
def test_what_is_drawn_is_judged_as_it_was_drawn(policy):
    drawn = draw(policy, torch.Generator().manual_seed(2), batch=50)
    judged = judge(policy, drawn.choices)
    torch.testing.assert_close(judged.log_probability, drawn.log_probability)
    torch.testing.assert_close(judged.entropy, drawn.entropy)
    assert judged.log_probability.requires_grad
    assert not drawn.log_probability.requires_grad
    assert (drawn.choices.amax(0) < torch.tensor(CARDINALITIES)).all()


def test_draws_follow_the_probabilities():
    policy = LogitsPolicy((2,), torch.Generator())
    with torch.no_grad():
        policy.rows[0].copy_(torch.tensor([0.0, 3.0]).double().log1p())  # one to four
    drawn = draw(policy, torch.Generator().manual_seed(0), batch=4000).choices.double().mean().item()
    assert drawn == pytest.approx(0.8, abs=5 * (0.16 / 4000) ** 0.5)  # five standard errors


def test_recurrent_weights_start_within_a_tenth_and_choices_depend_on_earlier_ones():
    policy = recurrent_policy(CARDINALITIES, torch.Generator().manual_seed(3))
    assert max(p.abs().max().item() for p in policy.parameters()) <= 0.1
    others = torch.tensor([[0, 0, 0], [1, 0, 0]])
    states = [policy.logits(0, others[:, 0], None)[1]]
    logits, _ = policy.logits(1, others[:, 0], states[0])
    assert not torch.equal(logits[0], logits[1])


def test_making_a_policy_leaves_the_shared_generator_alone():
    before = torch.get_rng_state()
    recurrent_policy(CARDINALITIES, torch.Generator().manual_seed(0))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("loss", ["ppo", "reinforce"])
def test_the_gradient_of_five_equal_logits_is_the_softmax_minus_the_choice(loss):
    # Advantage 1, action 0, ratio 1: p - onehot = (0.2 - 1, 0.2, ...).
    policy = LogitsPolicy((5,), torch.Generator())
    with torch.no_grad():
        policy.rows[0].zero_()
    judged = judge(policy, torch.tensor([[0]]))
    advantage = torch.ones(1, dtype=torch.float64)
    if loss == "ppo":
        asked = judged.log_probability.detach()
        value = ppo_loss(
            judged.log_probability, asked, advantage, judged.entropy, clip=0.2, entropy_weight=0
        )
    else:
        value = reinforce_loss(judged.log_probability, advantage)
    value.backward()
    torch.testing.assert_close(policy.rows[0].grad, torch.tensor([-0.8, 0.2, 0.2, 0.2, 0.2]).double())


def test_ppo_clips_a_gain_and_not_a_loss():
    assert ppo(1.3, 2.0) == (pytest.approx(-2.4), 0)  # clipped at 1.2, so there is no gradient
    assert ppo(1.3, -2.0) == (pytest.approx(2.6), pytest.approx(2.6))


def test_the_entropy_bonus_has_its_weight():
    one, entropy = torch.ones(2, dtype=torch.float64), torch.tensor([1.0, 3.0], dtype=torch.float64)
    assert ppo_loss(one, one, 0 * one, entropy, clip=0.2, entropy_weight=0.5).item() == -1


def test_baselines_by_hand():
    corrected = CorrectedAverage(0.9)
    assert corrected.advantage(80) == pytest.approx(0)
    assert corrected.advantage(90) == pytest.approx(90 - 16.2 / 0.19)
    moving = MovingAverage(0.95)
    assert [moving.advantage(r) for r in (80, 90, 90)] == pytest.approx([0, 10, 9.5])
