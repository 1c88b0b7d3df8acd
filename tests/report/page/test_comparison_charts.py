"""Charts of a comparison."""

from comparing import failed, found, run

from xnas.report.colours import PALETTE
from xnas.report.page.comparison_charts import MOST_NAMED, comparison_charts

MEANS = {("digits", "darts"): 70.0}


def by_name(*runs, **more):
    return {chart.name: chart for chart in comparison_charts(found(*runs, **more))}


def names(panel):
    return [one.name for one in panel.series]


def test_every_run_is_a_dot_beside_the_mean_of_its_entry():
    runs = [run("xnas", seed, 90.0 + seed) for seed in range(3)] + [
        run("darts", 0, 80.0),
        failed("darts", 1),
    ]
    (panel,) = by_name(*runs, random_means=MEANS)["results"].panels
    random, mean, seeds = panel.series
    assert random.values == (70.0, 70.0)
    assert (mean.places, mean.values, mean.shape) == (("xnas", "darts"), (91.0, 80.0), "ticks")
    assert (seeds.places, seeds.values) == (("xnas",) * 3 + ("darts",), (90.0, 91.0, 92.0, 80.0))
    assert seeds.labels[1] == "seed 1"


def test_every_entry_has_a_panel_and_every_seed_a_line():
    runs = [run("xnas", seed) for seed in range(3)] + [run("darts"), failed("darts", 1)]
    chart = by_name(*runs, random_means=MEANS)["accuracy"]
    assert (chart.x, chart.title) == ("epoch", "True accuracy of the cell, by epoch")
    xnas, darts = chart.panels
    assert names(xnas) == ["seed 0", "seed 1", "seed 2", "random cells"]
    assert names(darts) == ["seed 0", "random cells"]
    assert xnas.series[-1].values == (70.0, 70.0)
    assert xnas.series[-1].places == (1, 2)
    assert xnas.series[0].colour == darts.series[0].colour == PALETTE[0]


def test_samplings_have_a_chart_of_their_own():
    sampled = run("sample-random", curve=((1, 80.0), (7, 90.0), (20, 90.0)))
    charts = by_name(sampled, run("xnas"), run("random cells", curve=()))
    assert [panel.title for panel in charts["evaluations"].panels] == ["sample-random"]
    assert charts["evaluations"].panels[0].series[0].shape == "steps"
    assert [panel.title for panel in charts["accuracy"].panels] == ["xnas"]


def test_curves_of_supernets_are_called_so_and_have_no_random_cells():
    for measure in ("trained", "supernet"):
        chart = by_name(run("xnas"), run("darts"), measure=measure, random_means=MEANS)["accuracy"]
        assert chart.title.startswith("Validation accuracy of the search")
        assert names(chart.panels[0]) == ["seed 0"]


def test_many_seeds_have_one_colour_and_no_legend():
    chart = by_name(*[run("xnas", seed) for seed in range(MOST_NAMED + 1)])["accuracy"]
    assert not chart.legend
    assert {one.colour for one in chart.panels[0].series} == {PALETTE[0]}


def test_several_data_sets_are_apart():
    charts = by_name(run("xnas"), run("darts"), run("xnas", data="pets"), run("darts", data="pets"))
    assert [panel.title for panel in charts["results"].panels] == ["digits, darts", "pets, darts"]
    assert charts["accuracy"].panels[2].title == "xnas, pets, darts"


def test_without_a_result_nothing_is_drawn():
    assert by_name(failed("xnas"), failed("darts")) == {}
