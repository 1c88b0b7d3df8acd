"""Random search with weight sharing."""

import math

import torch
from method_games import SPACE, FakePasses, build
from methods.test_chosen_paths import Looks

from xnas.methods.random_search import cells_measured, trials


def test_the_published_counts():
    batches = 100 * (25_000 // 64 * 64 / 64 + 0.625)  # 25,000 images in batches of 64, 100 epochs
    assert trials(int(batches)) == 3
    assert trials(5) == 1
    assert cells_measured(39_062) == 1000
    assert cells_measured(500) == 50
    assert cells_measured(5) == 10
    edges_of_two = math.prod(math.comb(n, 2) for n in range(2, 6))
    assert edges_of_two * 7**8 == 1_037_664_180
    assert edges_of_two * 8**8 == 3_019_898_880


def test_each_step_draws_a_cell_and_nothing_is_learned():
    mixtures, method = build("random")
    passes = FakePasses({})
    one, other = (method.weights("weights", passes)["normal"] for _ in range(2))
    assert one.sum() == other.sum() == 2
    assert not torch.equal(one, other)
    assert not method.learns(5, 5)
    assert (mixtures["normal"] == 0.2).all()


def test_only_after_the_last_epoch_the_best_cell_is_chosen():
    mixtures, method = build("random")
    looks = Looks()
    method.begin_epoch(18)
    method.close_epoch(looks)
    assert looks.seen == []
    method.begin_epoch(19)
    method.close_epoch(looks)
    assert looks.seen == [10] * 20 + [None] * 10  # 200 updates: 20 cells, and 10 finalists
    chosen = method.strengths(mixtures["normal"])
    assert set(chosen.flatten().tolist()) == {0, 1}
    assert chosen.sum() == 2
    assert chosen[:, SPACE["operations"].index("none")].sum() == 0
    assert chosen[:, 0].sum() >= 1
