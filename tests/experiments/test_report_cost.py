"""What a report costs: the script that measures it, and what it has measured."""

import json
import shlex

import pytest

import report_cost
from jobs import ROOT, ResultsFile
from xnas import SearchConfig
from xnas.cli import app


def test_the_command_of_the_search_gives_its_settings(tmp_path):
    for job in (report_cost.JOB, report_cost.TINY):
        words = [*shlex.split(job.command)[1:], "--device", "cpu", "--quiet", "--out", str(tmp_path)]
        _, bound, *_ = app.parse_args(words, exit_on_error=False, print_error=False)
        assert bound.args == (job.data,)
        assert SearchConfig(**bound.kwargs) == job.config(tmp_path)


def test_a_stopwatch_counts_what_it_is_around():
    watch = report_cost.Stopwatch()
    assert watch.around(lambda n: sum(range(n)))(300_000) == 300_000 * 299_999 // 2
    assert watch.seconds > 0


@pytest.mark.slow
def test_a_rehearsal_writes_a_whole_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(report_cost, "TIMES", 1)
    assert report_cost.main(["--tiny", "--out", str(tmp_path / "cost.jsonl")]) == 0
    (line,) = ResultsFile(tmp_path / "cost.jsonl").lines()
    assert (line["job"], line["epochs"], line["rounds"]) == ("tiny", 2, 4)
    assert line["bytes"]["page"] > line["bytes"]["without_script"] > 10_000
    assert 0 < line["recording_seconds"] < line["search_seconds"]
    assert 0 < line["in_process"]["seconds"] < line["command_line"]["again"]["seconds"]
    assert line["command_line"]["first"]["seconds"] > line["command_line"]["again"]["seconds"]
    assert json.loads(capsys.readouterr().out)["job"] == "tiny"


@pytest.mark.evidence
def test_what_was_measured_keeps_its_promises():
    lines = ResultsFile(ROOT / "results" / report_cost.RESULTS).lines()
    line = next(one for one in lines if one["command"] == report_cost.JOB.command)
    assert line["epochs"] == 50
    assert line["bytes"]["page"] < 3_000_000
    assert line["in_process"]["seconds"] < 2
    assert line["recording_percent"] < 1
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf8")
    for number in (
        f"{line['bytes']['page'] / 1e6:.1f} MB",
        f"{line['in_process']['seconds']:.1f} s",
        f"{line['command_line']['again']['seconds']:.1f} s",
        f"{line['command_line']['first']['seconds']:.1f} s",
        f"{line['recording_percent']:.1g} %",
    ):
        assert number in text, number
