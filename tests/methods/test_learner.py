"""What methods share: a number per epoch, shares of the living."""

import torch
from method_games import game, one_edge, row

from xnas.methods.learner import every, living


def test_shares_of_the_living_are_uniform_where_nothing_is_left():
    alive = torch.tensor([[True, True, False]])
    assert torch.equal(living(row(1, 3, 5), alive), row(0.25, 0.75, 0))
    assert torch.equal(living(row(0, 0, 5), alive), row(0.5, 0.5, 0))


def test_the_number_of_an_epoch_depends_on_the_epoch_alone():
    _, straight = one_edge("beta")
    _, jumped = one_edge("beta")
    for epoch in range(8):
        straight.begin_epoch(epoch)
    jumped.begin_epoch(7)
    assert straight.level == jumped.level == 3.5


def test_every_tenth_round_comes_however_short_the_epochs_are():
    short = game(rounds_per_epoch=4)
    due = [(e, r) for e in range(6) for r in range(4) if every(10, short, e, r)]
    assert due == [(2, 1), (4, 3)]
