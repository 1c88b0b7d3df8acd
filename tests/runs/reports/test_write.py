"""Reports are written whole, in every state of a run, and again while it runs."""

import threading
import time
from contextlib import nullcontext

import pages
import pytest

from xnas.errors import ConfigError
from xnas.runs.lock import locked
from xnas.runs.reports import write
from xnas.runs.reports.chart_script import chart_script
from xnas.runs.reports.write import watch_report, write_at_end, write_report, written_report


@pytest.fixture(autouse=True)
def _no_script(monkeypatch):
    """The script of charts is tested elsewhere."""
    monkeypatch.setattr(write, "chart_script", lambda: None)


class Heard:
    """A display that remembers."""

    def __init__(self):
        self.said, self.warned = [], []
        self.say, self.warn = self.said.append, self.warned.append


def test_a_finished_search_gets_a_page(tmp_path):
    page = write_report(str(pages.search_run(tmp_path / "run")))
    assert page == tmp_path / "run/report.html"
    html = page.read_text(encoding="utf8")
    assert "A cell for digits" in html
    assert "Regret ledger" in html


def test_a_page_of_fifty_epochs_is_far_below_three_megabytes(tmp_path):
    page = write_report(pages.search_run(tmp_path / "run", 50))
    assert page.stat().st_size < 1_000_000  # the script adds 0.9 MB


@pytest.mark.slow
def test_a_page_of_fifty_epochs_with_its_charts_takes_less_than_two_seconds(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "chart_script", chart_script)
    folder = pages.search_run(tmp_path / "run", 50)
    write_report(folder)  # the script is made on a machine's first report, and kept
    began = time.process_time()
    page = write_report(folder)
    assert time.process_time() - began < 2
    assert 1_000_000 < page.stat().st_size < 3_000_000


def test_a_killed_search_gets_a_page_of_what_there_is(tmp_path):
    html = write_report(pages.search_run(tmp_path / "run", finished=False)).read_text(encoding="utf8")
    assert "stopped before its end" in html
    assert "Accuracy" in html


def test_a_run_without_a_readable_config_still_has_its_epochs(tmp_path):
    folder = pages.search_run(tmp_path / "run")
    (folder / "config.json").write_text("{", encoding="utf8")
    html = write_report(folder).read_text(encoding="utf8")
    assert "config.json" in html
    assert "Accuracy" in html


def test_a_run_of_another_version_says_so(tmp_path):
    folder = pages.search_run(tmp_path / "run")
    text = (folder / "config.json").read_text(encoding="utf8")
    (folder / "config.json").write_text(text.replace('"version": 1', '"version": 9'), encoding="utf8")
    assert "has version 9, this xnas reads 1" in write_report(folder).read_text(encoding="utf8")


def test_a_run_in_which_nothing_can_be_read_is_refused_in_a_line(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.json").write_text("{", encoding="utf8")
    with pytest.raises(ConfigError, match=r"cannot read .*config\.json"):
        write_report(tmp_path / "run")


def test_a_run_whose_config_is_gone_is_known_by_its_other_files(tmp_path):
    made = {"search": pages.search_run, "train": pages.train_run, "sample": pages.sample_run}
    titles = {"search": "A cell for unknown images", "train": "A network for unknown images"}
    for name, make in made.items():
        folder = make(tmp_path / name)
        (folder / "config.json").unlink()
        written = written_report(folder)
        html = written.page.read_text(encoding="utf8")
        assert titles.get(name, "Cells for unknown images") in html
        (fault,) = written.faults
        assert "config.json is missing, so the settings of the run are unknown" in fault
        assert fault in html


def test_a_finished_search_without_epochs_shows_its_cell_and_says_so(tmp_path):
    folder = pages.search_run(tmp_path / "run")
    (folder / "metrics.jsonl").unlink()
    written = written_report(folder)
    assert "has 0 of 3 epochs, though the run is finished" in written.faults[0]
    html = written.page.read_text(encoding="utf8")
    assert "The cell that was found" in html
    assert html.count('class="edge kept"') == 16


def test_a_finished_training_that_lost_epochs_says_so(tmp_path):
    folder = pages.train_run(tmp_path / "run")
    (folder / "metrics.jsonl").write_text("", encoding="utf8")
    assert "has 0 of 3 epochs" in written_report(folder).faults[0]


def test_what_was_written_is_known_with_its_kind_and_state(tmp_path):
    folder = pages.search_run(tmp_path / "run")
    written = written_report(folder)
    assert (written.kind, written.state, written.faults) == ("search", "finished", ())
    assert written.page == folder / "report.html"


def test_an_evaluation_has_no_report(tmp_path):
    (tmp_path / "evaluation.json").write_text('{"top1": 0.5}', encoding="utf8")
    with pytest.raises(ConfigError, match="holds an evaluation, of which there is no report; give the"):
        write_report(tmp_path)


def test_a_fault_at_the_end_of_a_run_is_a_warning(tmp_path, monkeypatch):
    heard = Heard()
    folder = pages.search_run(tmp_path / "run")
    assert write_at_end(folder, heard) == folder / "report.html"
    assert "pip install" in heard.said.pop()
    monkeypatch.setattr(write, "page_of_run", lambda _: 1 / 0)
    assert write_at_end(folder, heard) is None
    (line,) = heard.warned
    assert "the report was not written: division by zero; xnas report" in line


def test_at_its_end_a_run_is_finished_though_its_process_holds_it(tmp_path):
    folder = pages.search_run(tmp_path / "run")
    with locked(folder, nullcontext):
        write_at_end(folder, Heard())
        html = (folder / "report.html").read_text(encoding="utf8")
        assert "under way" not in html
        words = ("xnas", "train", str(folder), "digits")
        assert " ".join(f"<span>{word}</span>" for word in words) in html
        write_report(folder)
        assert "under way" in (folder / "report.html").read_text(encoding="utf8")


def test_a_watched_run_is_written_again_until_it_ends(tmp_path):
    folder, held = pages.search_run(tmp_path / "run"), threading.Event()
    over = threading.Event()

    def hold():
        with locked(folder, nullcontext):
            held.set()
            over.wait(20)

    runner = threading.Thread(target=hold)
    runner.start()
    held.wait(20)
    counts = []
    watcher = threading.Thread(target=lambda: counts.append(watch_report(folder, seconds=0.01)))
    watcher.start()
    page = folder / "report.html"
    while not page.exists():
        assert watcher.is_alive()
        watcher.join(0.02)
    assert "http-equiv" in page.read_text(encoding="utf8")
    over.set()
    runner.join()
    watcher.join()
    assert counts == [(2, "finished")]
    assert "http-equiv" not in page.read_text(encoding="utf8")


@pytest.mark.parametrize("run", [None, "", 3])
def test_what_is_no_path_is_refused(run):
    with pytest.raises(ConfigError, match="a run is the path of its folder, got"):
        write_report(run)


def test_the_config_of_another_program_is_called_so(tmp_path):
    (tmp_path / "config.json").write_text('{"a": 1}', encoding="utf8")
    with pytest.raises(ConfigError, match=r"is no run folder: config.json is of another program; give"):
        write_report(tmp_path)
