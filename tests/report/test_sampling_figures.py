"""The figure of a search by sampling shows what the records say."""

from xnas.records import Sampled
from xnas.report.figures import save_figure
from xnas.report.sampling_figures import draw_evaluations


def record(number, value, best, budget=None):
    costs = {"epochs": 1, "seconds": None, "parameters": 10**6 * (number + 1), "macs": 1}
    return Sampled(number=number, value=value, best=best, budget=budget, **costs)


def test_it_draws_the_best_so_far_and_the_front(tmp_path):
    records = [record(0, 0.5, 0.5), record(1, None, 0.5), record(2, 0.7, 0.7), record(3, 0.6, 0.7)]
    progress, sizes = draw_evaluations(records, "random").axes
    dots, best = progress.lines
    assert list(dots.get_ydata()) == [50, 70, 60]
    assert list(best.get_xdata()) == [1, 3, 4]
    assert list(best.get_ydata()) == [50, 70, 70]
    assert list(sizes.lines[1].get_xdata()) == [1, 3]
    svg, _ = save_figure(draw_evaluations(records, "random"), tmp_path, "evaluations")
    assert svg.read_bytes().startswith(b"<?xml")


def test_sizes_are_those_of_the_highest_rung():
    records = [record(0, 0.9, 0.9, 12), record(1, 0.8, 0.8, 200), record(2, 0.95, 0.8, 12)]
    _, sizes = draw_evaluations(records, "halving").axes
    dots, front = sizes.lines
    assert list(dots.get_xdata()) == list(front.get_xdata()) == [2]


def test_cells_at_chance_do_not_press_the_others_together():
    values = [0.1] + [0.9 + place / 1000 for place in range(20)]
    records = [record(number, value, max(values[: number + 1])) for number, value in enumerate(values)]
    for axes in draw_evaluations(records, "random").axes:
        assert 85 < axes.get_ylim()[0] < 90.1
