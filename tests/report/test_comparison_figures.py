"""Accuracy against epochs, as a figure."""

from comparing import failed, found, run

from xnas.report.comparison_figures import draw_comparison


def test_every_entry_has_a_panel_and_every_seed_a_line():
    runs = [run("xnas", seed, 90.0 + seed) for seed in range(3)] + [run("darts"), failed("darts", 1)]
    figure = draw_comparison(found(*runs, random_means={("digits", "darts"): 70.0}))
    xnas, darts = figure.axes
    assert (xnas.get_title(loc="left"), darts.get_title(loc="left")) == ("xnas", "darts")
    assert len(xnas.lines) == 3 + 3 + 1  # lines, results, random cells
    assert len(darts.lines) == 1 + 1 + 1
    assert xnas.get_ylim() == darts.get_ylim()
    assert xnas.get_ylim()[0] < 70
    assert xnas.get_xlabel() == "epoch"
    assert [text.get_text() for text in xnas.get_legend().texts] == [
        *("a seed", "its result", "random cells")
    ]


def test_samplings_and_cells_without_a_search_are_drawn():
    sampled = run("sample-random", curve=((1, 80.0), (7, 90.0), (20, 90.0)))
    figure = draw_comparison(found(sampled, run("xnas"), run("random cells", curve=()), run("a")))
    assert len(figure.axes) == 4
    assert figure.axes[0].get_xlabel() == "evaluations"
    assert figure.axes[2].get_xlabel() == ""
