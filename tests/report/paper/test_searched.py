"""Figures of the game of coins and of entropy: what is drawn are the records' numbers."""

import pytest

from xnas.records import EntropyPoint, EntropyStudy
from xnas.report.paper.searched import draw_coins, draw_entropy
from xnas.toys import lower_bound

DECAYS = (0.0, 1e-3, 1e-1)


@pytest.fixture(scope="module")
def coins():
    games = [lower_bound.play(n, t, runs=3, seed=0) for n, t in ((2, 10), (4, 10), (4, 20), (4, 40))]
    return lower_bound.CoinStudy(runs=3, seed=0, games=tuple(g for pair in games for g in pair))


def line_of(axes, label):
    (line,) = [line for line in axes.lines if line.get_label() == label]
    return line.get_xdata().tolist(), line.get_ydata().tolist()


def test_the_bound_and_the_limit_are_drawn(coins):
    against_rounds, against_experts = draw_coins(coins).axes
    ours = coins.series("xnas", experts=4)
    assert line_of(against_rounds, "Theorem 1") == ([10, 20, 40], [g.bound for g in ours])
    few = coins.series("xnas", rounds=10)
    expected = [g.expected / g.bound for g in few]
    assert line_of(against_experts, "limit for many rounds") == ([2, 4], expected)
    assert against_rounds.get_title(loc="left") == "4 experts"


def test_every_search_is_a_point_and_no_decay_has_a_place_on_the_axis():
    points = [
        EntropyPoint(
            method="darts",
            weight_decay=decay,
            seed=seed,
            entropy=0.8 + decay + seed / 100,
            mixture_accuracy=0.9,
            cell_accuracy=0.5,
        )
        for decay in DECAYS
        for seed in (0, 1)
    ]
    entropy, lost = draw_entropy(EntropyStudy(epochs=1, learning_rate=0.1, points=tuple(points))).axes
    places, means = line_of(entropy, "DARTS, mean")
    assert places == pytest.approx([1e-4, 1e-3, 1e-1])
    assert means == pytest.approx([0.805, 0.806, 0.905])
    assert line_of(lost, "DARTS, mean")[1] == pytest.approx([40, 40, 40])
    assert [text.get_text() for text in entropy.get_xticklabels()] == ["0", "0.001", "0.1"]
    colours = {line.get_color() for line in entropy.lines if len(line.get_xdata()) == 2}
    assert len(colours) == 2  # DARTS's own decay stands out
