"""Figures of a run as files."""

import pages
import pytest

from xnas.errors import ConfigError
from xnas.runs.reports import figures
from xnas.runs.reports.figures import charts_of, write_figures
from xnas.runs.reports.run_files import ReadRun
from xnas.runs.reports.write import page_of_run


def test_the_charts_of_a_page_are_found_in_their_order(tmp_path):
    page = page_of_run(ReadRun.open(pages.train_run(tmp_path / "run")))
    names = [chart.name for chart in charts_of(page)]
    assert names == ["accuracy", "loss", "rate", "seconds", "calibration"]


def test_every_chart_and_the_cell_are_written_in_three_formats(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "charts_of", lambda page: charts_of(page)[-1:])  # each takes a second
    written = write_figures(pages.train_run(tmp_path / "run"), str(tmp_path / "figures"))
    expected = {f"{name}.{kind}" for name in ("calibration", "cell") for kind in ("svg", "png", "pdf")}
    assert {path.name for path in written} == expected
    assert {path.name for path in (tmp_path / "figures").iterdir()} == expected


def test_a_run_without_a_cell_has_charts_alone(tmp_path):
    folder = pages.sample_run(tmp_path / "run", finished=False)
    assert {path.stem for path in write_figures(folder, tmp_path / "f")} == {"progress", "pareto"}


def test_a_folder_that_cannot_be_is_refused_in_words_that_help(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = pages.sample_run(tmp_path / "run", finished=False)
    for out in (run / "config.json", run / "config.json" / "figures"):
        with pytest.raises(ConfigError, match=r"config.json is a file; choose another folder$"):
            write_figures(run, out)
    for nothing in ("", None):
        with pytest.raises(ConfigError, match="figures go into a folder, got"):
            write_figures(run, nothing)
        with pytest.raises(ConfigError, match="a run is the path of its folder"):
            write_figures(nothing, "figures")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
