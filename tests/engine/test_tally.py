"""Sums of an epoch, by hand."""

import pytest
import torch

from xnas.engine.tally import Tally

CPU = torch.device("cpu")
LOGITS = torch.tensor([[2.0, 1.0], [0.0, 3.0], [5.0, 4.0]])
LABELS = torch.tensor([0, 1, 1])  # the third is answered wrongly


def tally():
    mixtures = {"normal": torch.zeros(2, 3), "reduction": torch.zeros(2, 3)}
    return Tally(mixtures, {"normal": 4, "reduction": 1}, CPU)


def test_a_batch_adds_its_loss_times_images_its_right_answers_and_its_images():
    sums = tally()
    sums.add_train(torch.tensor(0.5), LOGITS, LABELS)
    sums.add_train(torch.tensor(2.0), LOGITS[:1], LABELS[:1])
    sums.add_valid(torch.tensor(1.0), LOGITS[2:], LABELS[2:])
    assert sums.train.tolist() == [0.5 * 3 + 2.0, 3, 4]
    assert sums.valid.tolist() == [1.0, 0, 1]


def test_rewards_are_summed_by_kind_and_a_round_counts_once():
    sums = tally()
    for _ in range(2):
        sums.add_rewards("normal", torch.full((4, 2, 3), 0.25))
        sums.add_rewards("reduction", torch.ones(1, 2, 3))
    assert int(sums.rounds) == 2
    assert torch.equal(sums.rewards["normal"], torch.full((4, 2, 3), 0.5, dtype=torch.float64))
    assert torch.equal(sums.rewards["reduction"], torch.full((1, 2, 3), 2.0, dtype=torch.float64))


def test_sums_are_cleared_in_place_and_continue_from_a_saved_state():
    first, second = tally(), tally()
    first.add_train(torch.tensor(1.0), LOGITS, LABELS)
    first.add_rewards("normal", torch.ones(4, 2, 3))
    places = [value.data_ptr() for value in second.state_dict().values()]
    second.load_state_dict(first.state_dict())
    for name, value in first.state_dict().items():
        assert torch.equal(second.state_dict()[name], value), name
    second.clear()
    assert all(not value.any() for value in second.state_dict().values())
    assert [value.data_ptr() for value in second.state_dict().values()] == places


def test_gradients_do_not_flow_into_the_sums():
    sums, loss = tally(), torch.tensor(1.0, requires_grad=True)
    sums.add_train(loss, LOGITS.clone().requires_grad_(), LABELS)
    assert not sums.train.requires_grad
    assert sums.train[0].item() == pytest.approx(3.0)
