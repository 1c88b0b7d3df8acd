"""The strength of a regulariser follows the gap between two losses."""

import pytest
import torch
from searching import small_engine

from xnas.engine import end_epoch, play_round, restore_search, search_state
from xnas.engine.balance import Balance

pytestmark = pytest.mark.usefixtures("small_space")


def test_it_grows_while_the_training_loss_is_lower_and_falls_after():
    balance = Balance("cpu")
    assert float(balance.chance) == 0
    balance.follow(train_loss=0.6, valid_loss=0.8)
    assert float(balance.chance) == pytest.approx(0.25)
    balance.follow(train_loss=0.9, valid_loss=0.8)
    assert float(balance.chance) == pytest.approx(0.125)


def test_it_is_a_probability():
    balance = Balance("cpu")
    balance.follow(train_loss=2.0, valid_loss=1.0)
    assert float(balance.chance) == 0
    for _ in range(5):
        balance.follow(train_loss=0.1, valid_loss=1.0)
    assert float(balance.chance) == 1


def test_it_comes_to_rest_where_the_losses_are_equal():
    balance = Balance("cpu")
    for _ in range(60):  # a regulariser that adds up to 0.4 to a training loss of 0.5
        balance.follow(train_loss=0.5 + 0.4 * float(balance.chance), valid_loss=0.7)
    assert float(balance.chance) == pytest.approx(0.5, abs=1e-3)


def test_its_tensor_stays_where_it_is():
    balance = Balance("cpu")
    place = balance.chance.data_ptr()
    balance.follow(train_loss=0.5, valid_loss=1.0)
    saved = balance.state_dict()
    balance.follow(train_loss=0.5, valid_loss=1.0)
    balance.load_state_dict(saved)
    assert balance.chance.data_ptr() == place
    assert torch.equal(balance.chance, torch.tensor(0.5))


def test_a_search_moves_it_between_epochs_and_keeps_it_in_checkpoints():
    def balanced():
        search = small_engine()
        search.balance = Balance("cpu")
        return search

    search = balanced()
    assert "balance" not in search_state(small_engine())
    for _ in range(search.settings.rounds_per_epoch):
        play_round(search)
    record = end_epoch(search, seconds=1.0, memory_bytes=0, gap=None)
    gap = (record.valid_loss - record.train_loss) / record.valid_loss
    assert float(search.balance.chance) == pytest.approx(max(0.0, gap))
    search.balance.chance.fill_(0.75)
    resumed = balanced()
    restore_search(resumed, search_state(search))
    assert float(resumed.balance.chance) == 0.75
