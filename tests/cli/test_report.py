"""`xnas report` writes the page of a run, or says in a line why not."""

import json
import webbrowser

import pages
import pytest

from xnas.cli import main
from xnas.runs.reports import chart_script, write


@pytest.fixture(autouse=True)
def _no_script(monkeypatch):
    monkeypatch.setattr(write, "chart_script", lambda: None)
    monkeypatch.setattr(chart_script, "chart_script", lambda: None)


def test_the_page_is_written_and_named(tmp_path, capsys):
    main(["report", str(pages.search_run(tmp_path / "run"))])
    out = capsys.readouterr().out
    assert f"report: {tmp_path / 'run/report.html'}" in out
    assert "pip install 'xnas[report]'" in out


def test_every_fault_is_a_warning_of_one_line(tmp_path, capsys):
    folder = pages.search_run(tmp_path / "run")
    for name in ("genotype.json", "discretization.json", "ledger.json"):
        (folder / name).write_text('{"a": 1}', encoding="utf8")
    main(["report", str(folder)])
    captured = capsys.readouterr()
    warnings = captured.err.splitlines()
    assert [line.split(" is damaged")[0] for line in warnings] == [
        f"warning: {folder / name}" for name in ("genotype.json", "discretization.json", "ledger.json")
    ]
    assert captured.out.startswith(f"report: {folder / 'report.html'}")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("config.json", "{", "cannot read"),
        ("config.json", '{"format": "xnas-run", "version": 99}', "has version 99, this xnas reads 1"),
        ("metrics.jsonl", "", "metrics.jsonl has 0 of 3 epochs, though the run is finished"),
        ("genotype.json", "{}", "genotype.json is damaged: it holds no cell"),
    ],
)
def test_a_damaged_file_is_one_warning(tmp_path, capsys, name, text, words):
    folder = pages.search_run(tmp_path / "run")
    if name == "config.json":
        (folder / "genotype.json").unlink()
    (folder / name).write_text(text, encoding="utf8")
    main(["report", str(folder)])
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert line.startswith("warning: ")


def test_scripts_get_one_document_and_warnings_elsewhere(tmp_path, capsys):
    folder = pages.search_run(tmp_path / "run")
    (folder / "ledger.json").write_text("{}", encoding="utf8")
    main(["report", str(folder), "--json", "--figures", str(tmp_path / "figures")])
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert list(told) == ["format", "version", "run", "report", "kind", "state", "faults", "figures"]
    assert (told["format"], told["kind"], told["state"]) == ("xnas-report", "search", "finished")
    assert told["report"] == str(folder / "report.html")
    assert "ledger.json is damaged" in told["faults"][0]
    assert captured.err == f"warning: {told['faults'][0]}\n"
    assert str(tmp_path / "figures/cell.pdf") in told["figures"]


def test_watching_gives_no_document(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["report", str(pages.search_run(tmp_path / "run")), "--json", "--watch"])
    assert stop.value.code == 2
    assert "--json prints one document, got --watch with it" in capsys.readouterr().err


def test_open_shows_it_in_a_browser(tmp_path, monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(shown.append(address) or True))
    main(["report", str(pages.search_run(tmp_path / "run")), "--open"])
    assert shown == [(tmp_path / "run/report.html").as_uri()]
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    with pytest.raises(SystemExit):
        main(["report", str(tmp_path / "run"), "--open"])
    assert "no browser could be opened" in capsys.readouterr().err


def test_watching_a_finished_run_ends_at_once(tmp_path, capsys):
    main(["report", str(pages.search_run(tmp_path / "run")), "--watch"])
    assert "the run is finished; its page was written 1 time" in capsys.readouterr().out


def test_watching_a_run_that_was_stopped_says_so(tmp_path, capsys):
    main(["report", str(pages.search_run(tmp_path / "run", finished=False)), "--watch"])
    assert "the run is stopped; its page was written 1 time" in capsys.readouterr().out


def test_what_is_no_run_is_one_line(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["report", str(tmp_path)])
    assert stop.value.code == 2
    assert "is no run folder" in capsys.readouterr().err
