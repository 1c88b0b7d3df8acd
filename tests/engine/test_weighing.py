"""What cells multiply by: the mixtures, or what a method puts in their place."""

import copy

import pytest
import torch
from hooked import SPACES, Plain, Sampled, hooked, odd_weights
from torch.nn.functional import cross_entropy

from xnas.engine import play_round
from xnas.engine.search import descend_train_loss, draw_batches, reveal_rewards
from xnas.engine.weighing import cell_weights, spread_weights


class Odd(Plain):
    """Weights of every kind that a method may give, alike in both steps."""

    def weights(self, _, passes):
        return odd_weights(passes.search)


class Fixed(Plain):
    """The weights that it is given, by step."""

    given = None

    def weights(self, step, _):
        return None if self.given is None else self.given[step]


def test_weights_of_a_kind_reach_all_of_its_cells_and_none_stands_for_the_mixtures():
    search = hooked(Fixed)
    one = {kind: torch.rand_like(m) for kind, m in search.mixtures.items()}
    search.method.given = {"weights": one, "rewards": None}
    for kind, spread in search.supernet.spread().items():
        expected = one[kind].detach().expand(spread.shape)
        assert torch.equal(cell_weights(search, "weights")[kind], expected)
        assert torch.equal(cell_weights(search, "rewards")[kind], spread)
    by_cell = odd_weights(search)
    for kind, w in spread_weights(search.replicated, by_cell).items():
        assert torch.equal(w, by_cell[kind])


def test_each_step_asks_for_weights_of_its_own():
    search = hooked(Sampled)
    asked = []
    drawn = search.method.weights

    def weights(step, passes):
        asked.append((step, drawn(step, passes)))
        return asked[-1][1]

    search.method.weights = weights
    for _ in range(3):
        play_round(search)
    assert [step for step, _ in asked] == ["weights", "rewards"] * 3
    first, second = (torch.cat(list(found.values())) for _, found in asked[:2])
    assert not torch.equal(first, second)


def test_the_gradient_at_weight_0_is_autograd_s():
    search = hooked(Odd, double=True)
    draw_batches(search)
    images, labels = search.valid_batch
    twin = copy.deepcopy(search.supernet)
    weights = {k: w.requires_grad_() for k, w in odd_weights(search).items()}
    cross_entropy(twin(images, weights), labels).backward()
    reveal_rewards(search)
    for kind, mixture in search.mixtures.items():
        expected = weights[kind].grad.sum(0)
        assert expected[0].abs().max() > 1e-3  # of the row in which all weights are 0
        torch.testing.assert_close(mixture.grad, expected, rtol=1e-4, atol=1e-7)  # logits in float32


@pytest.mark.parametrize("space", SPACES)
def test_both_backends_agree_on_weights_that_are_no_mixtures(space):
    plain, fused = (hooked(Odd, double=True, fused=on, **space) for on in (False, True))
    assert fused.supernet.fused
    for search in (plain, fused):
        draw_batches(search)
        descend_train_loss(search)
        reveal_rewards(search)
    for kind, mixture in plain.mixtures.items():
        torch.testing.assert_close(fused.mixtures[kind].grad, mixture.grad, rtol=1e-7, atol=1e-10)
    state = fused.supernet.state_dict()
    for name, tensor in plain.supernet.state_dict().items():
        torch.testing.assert_close(state[name], tensor, rtol=1e-6, atol=1e-9)


def test_dropout_acts_on_what_the_method_weighs_by():
    search = hooked(Fixed, skip_dropout="0.5")
    ones = {kind: torch.ones_like(m) for kind, m in search.mixtures.items()}
    search.method.given = {"weights": ones, "rewards": ones}
    seen = []
    forward = search.supernet.forward
    search.supernet.forward = lambda x, weights: (seen.append(weights), forward(x, weights))[1]
    play_round(search)
    (dropped, whole), mask = seen, search.supernet.identities("normal")
    assert set(dropped["normal"][:, mask].unique().tolist()) == {0.0, 2.0}
    assert set(whole["normal"].unique().tolist()) == {1.0}


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("chances", [{"skip_dropout": "0.5"}, {"expert_dropout": 0.5}])
@pytest.mark.parametrize("space", SPACES)
def test_channels_that_bypass_the_experts_are_not_dropped_with_them(space, chances, fused):
    search = hooked(Fixed, **{**space, "channels": 4}, **chances, partial_channels=2, fused=fused)
    search.method.given = {"weights": None, "rewards": None}
    seen = []
    forward = search.supernet.forward
    search.supernet.forward = lambda x, weights: (seen.append(weights), forward(x, weights))[1]
    play_round(search)
    step, rewards = seen
    for kind, mixture in search.mixtures.items():
        experts = mixture.shape[1]
        assert rewards[kind].shape[-1] == experts
        assert (step[kind][..., :experts] == 0).any()
        ones = torch.ones_like(step[kind][..., 0])
        torch.testing.assert_close(step[kind][..., experts], ones)  # beta of an edge without weights
