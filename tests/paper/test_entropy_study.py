"""Searches behind Figure 2, tiny."""

import pytest

from xnas.paper.entropy_study import StudySize, entropy_study

SIZE = StudySize(epochs=1, batch_size=128, channels=2, decays=(0.0, 1.0), seeds=1)


@pytest.fixture(scope="module")
def made():
    told = []
    return entropy_study(3, SIZE, told.append), told


def test_every_decay_and_xnas_are_played(made):
    study, told = made
    assert [(p.method, p.weight_decay, p.seed) for p in study.points] == [
        ("darts", 0.0, 3),
        ("darts", 1.0, 3),
        ("xnas", None, 3),
    ]
    assert study.decays == (0.0, 1.0)
    assert all(0 <= p.cell_accuracy <= 1 and 0 <= p.mixture_accuracy <= 1 for p in study.points)
    assert [line.split(":")[0] for line in told] == [
        "DARTS, weight decay 0, seed 3",
        "DARTS, weight decay 1, seed 3",
        "XNAS, seed 3",
    ]


def test_a_large_decay_holds_mixtures_at_the_uniform_one(made):
    free, held, _ = made[0].points
    assert free.entropy < held.entropy <= 1
