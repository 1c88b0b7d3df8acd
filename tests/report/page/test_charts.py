"""Charts give every series a colour of its own, the same wherever it appears."""

from xnas.report.colours import PALETTE
from xnas.report.page.charts import Chart, Panel, Series, line_chart, whole_ticks


def chart(*names, **colours):
    series = tuple(Series(name=n, values=(1.0,), colour=colours.get(n, "")) for n in names)
    panels = (Panel(title="a", series=series), Panel(title="b", series=series))
    return Chart(name="c", title="", caption="", x="", y="", places=(1,), panels=panels)


def test_a_series_in_two_panels_is_one_with_one_colour():
    drawn = chart("one", "two")
    assert drawn.names == ("one", "two")
    assert drawn.colours == {"one": PALETTE[0], "two": PALETTE[1]}


def test_colours_that_are_given_are_kept_and_not_used_twice():
    colours = chart("one", "two", two=PALETTE[0]).colours
    assert colours == {"one": PALETTE[1], "two": PALETTE[0]}


def test_lines_differ_by_dashes_too_where_there_are_enough():
    assert len(set(chart("a", "b", "c", "d").dashes.values())) == 4
    assert set(chart(*"abcde").dashes.values()) == {(1, 0)}


def test_a_line_chart_has_its_series_in_one_panel():
    drawn = line_chart("loss", "Loss", "", places=[1, 2], series={"train": [1.0, None]}, zero=True)
    assert drawn.panels[0].series[0].values == (1.0, None)
    assert (drawn.places, drawn.zero) == ((1, 2), True)


def test_whole_numbers_on_an_axis_are_a_round_step_apart():
    assert whole_ticks([1, 2], 8) == [1, 2]
    assert whole_ticks([1, 2, 3], 8) == [1, 2, 3]
    assert whole_ticks(range(1, 51), 8) == [10, 20, 30, 40, 50]
    assert whole_ticks(range(1, 51), 4) == [20, 40]
    assert whole_ticks([7], 8) == [7]
    assert whole_ticks([5, 10, 1500], 8) == [200, 400, 600, 800, 1000, 1200, 1400]
    assert all(len(whole_ticks(range(1, last), 4)) <= 4 for last in range(2, 300))


def test_places_are_those_of_all_series():
    own = Series(name="own", values=(1.0, 2.0), places=(3, 9))
    usual = Series(name="usual", values=(1.0,))
    drawn = Chart(
        name="c",
        title="",
        caption="",
        x="",
        y="",
        places=(1,),
        panels=(Panel(title="", series=(own, usual)),),
    )
    assert drawn.all_places == (3, 9, 1)
