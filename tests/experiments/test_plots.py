"""Plots of results: drawn from lines alone, the same bytes each time, and not at all without data."""

from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest
from result_lines import limited_search, search, training, write

import limited_searches
import plots
import searches
import write_results
from compare_cells import FOUND, JOBS, found_genotypes
from result_tables import Results

pytestmark = pytest.mark.evidence

SEARCHES = {job.name: job for jobs in searches.SETS.values() for job in jobs}.values()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Results of everything, made up."""
    path = tmp_path_factory.mktemp("results")
    lines = [search(job) for job in SEARCHES]
    found = found_genotypes(lines)
    trained = [training(j, 0.93 + len(j.name) % 7 / 1000, found.get(j.of.name)) for j in JOBS]
    limited = [limited_search(job, 10**5 + 1000 * len(job.name), 90.0) for job in limited_searches.JOBS]
    write(path, searches=lines, cells=trained, limited_searches=limited)
    return path


@pytest.fixture(scope="module")
def made(folder):
    return plots.pictures(Results(folder))


def test_every_plot_is_drawn_from_its_results(made):
    assert list(made) == [f"results-{name}.svg" for name in plots.PLOTS]
    for content in made.values():
        root = ET.fromstring(content)  # noqa: S314 - we wrote it
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert b"fill: #ffffff" in content  # a page may be dark: the picture brings its own ground


def test_two_draws_give_the_same_bytes_whatever_the_readers_settings(folder, made):
    with mpl.rc_context({"font.size": 17, "lines.linewidth": 9, "svg.hashsalt": None}):
        assert plots.pictures(Results(folder)) == made


def test_without_data_nothing_is_drawn_and_the_page_says_so(tmp_path):
    results = Results(tmp_path)
    assert plots.pictures(results) == {}
    for name in ("full", "wipeout", "darts", "cells", "accuracy-by-size"):
        assert plots.picture(name)(results) == "No plot: not measured yet."
    assert plots.drawn_cells(results).count("Not measured yet.") == len(FOUND)


def test_one_search_is_enough_for_a_plot(tmp_path):
    write(tmp_path, searches=[search(searches.SETS["full"][5])])
    results = Results(tmp_path)
    assert list(plots.pictures(results)) == ["results-full.svg"]
    assert plots.picture("full")(results).endswith("](images/results-full.svg)")


@pytest.mark.parametrize(("name", "panels"), [("full", 3), ("wipeout", 2), ("darts", 4)])
def test_there_is_a_line_a_seed(folder, name, panels):
    figure = plots.PLOTS[name].draw(Results(folder))
    jobs = searches.SETS[name]
    assert len(figure.axes) == panels
    drawn = [line.get_label() for axes in figure.axes for line in axes.lines]
    shown = [label for label in drawn if ", seed " in label]
    each = 1 if name == "full" else panels
    assert sorted(shown) == sorted([f"{j.variant}, seed {j.options['seed']}" for j in jobs] * each)


def test_the_numbers_are_those_of_the_lines(folder):
    results = Results(folder)
    default = plots.PLOTS["full"].draw(results).axes[0]
    (line,) = [item for item in default.lines if item.get_label() == "default, seed 3"]
    wanted = [e["truth"]["test_200"] for e in results.of(searches.SETS["full"][3])["epochs"]]
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([*range(1, 51)], wanted)
    gap = plots.PLOTS["darts"].draw(results).axes[0]
    (line,) = [item for item in gap.lines if item.get_label() == "faithful, seed 0"]
    assert line.get_xdata().tolist() == [10, 20, 30, 40, 50]
    assert line.get_ydata() == pytest.approx([30] * 5)  # 80 % of the mixture less 50 % of the cell


def test_a_picture_of_another_release_is_fresh_while_its_data_is_the_same(made):
    content = made["results-full.svg"]
    release = mpl.__version__.encode()
    other = content.replace(b"matplotlib " + release, b"matplotlib 0.1").replace(b"<path", b"<path ", 1)
    assert plots.fresh(content, content)
    assert plots.fresh(other, content)
    assert not plots.fresh(content.replace(b"<path", b"<path ", 1), content)
    assert not plots.fresh(other.replace(b"drawn from ", b"drawn from 0")[:-1], content)
    assert not plots.fresh(b"", content)


def test_the_script_writes_pictures_and_cells_and_removes_what_has_no_data(
    folder, tmp_path, monkeypatch
):
    for name in [name for name in plots.PLOTS if name not in ("full", "cell-darts-default-0")]:
        monkeypatch.delitem(plots.PLOTS, name)
    page = tmp_path / "docs" / "page.md"
    (page.parent / "images").mkdir(parents=True)
    (page.parent / "images" / "results-old.svg").write_text("old", encoding="utf8")
    (page.parent / "images" / "forecaster.svg").write_text("of the README", encoding="utf8")
    page.write_text("<!-- table: full-plot -->\n<!-- end of table -->\n", encoding="utf8")
    words = ["--results", str(folder), "--document", str(page), "--cells", str(tmp_path / "cells")]
    assert write_results.main([*words, "--check"]) == 1
    assert write_results.main(words) == 0
    assert write_results.main([*words, "--check"]) == 0
    images = {path.name for path in (page.parent / "images").iterdir()}
    assert images == {"forecaster.svg", *(f"results-{name}.svg" for name in plots.PLOTS)}
    assert {path.stem for path in (tmp_path / "cells").iterdir()} == {cell.name for cell in FOUND}
    Path(tmp_path / "cells" / "darts-default-0.json").write_text("{}", encoding="utf8")
    assert write_results.main([*words, "--check"]) == 1
