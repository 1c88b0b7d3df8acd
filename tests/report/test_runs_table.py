"""The table of a list of runs."""

import pytest

from xnas.records import ListedRun
from xnas.report.runs_table import age_text, faults_and_commands, result_text, runs_table


def listed(**more):
    usual = {"path": "runs/a", "kind": "search", "state": "finished", "changed": 0.0}
    return ListedRun(**usual | more)


RUNS = [
    listed(data="digits", cell="4 sep_conv_3x3, 3 skip_connect, 1 dil_conv_5x5", validation=0.5),
    listed(path="runs/b c", kind="training", state="stopped", done=3, planned=8, cell="darts_v2"),
]


def test_columns_without_content_are_left_out():
    lines = runs_table(RUNS, "runs", now=7200).splitlines()
    assert lines[0].split() == ["run", "kind", "state", "data", "cell", "result", "age"]
    assert lines[1].endswith("validation 50.00 %  2 h")
    assert lines[2].startswith("b c  training  stopped 3/8")


@pytest.mark.parametrize("width", [60, 80, 100])
def test_lines_fit_the_terminal(width):
    lines = runs_table(RUNS, "runs", now=0, width=width).splitlines()
    assert max(map(len, lines)) <= width or width == 60  # where only the names can be cut
    assert "…" in lines[1]
    assert "validation 50.00 %" in lines[1]


def test_the_name_of_a_run_is_cut_last():
    name = "resnet-20-of-monday"
    run = listed(path=f"runs/{name}", data="photographs", method="darts-pt-blank", cell="x" * 60)
    for width in (80, 74):
        assert name in runs_table([run], "runs", now=0, width=width)
    lines = runs_table([run], "runs", now=0, width=70).splitlines()
    assert max(map(len, lines)) == 70
    assert "resnet-20-of-mon… " in lines[1]


def test_folders_of_data_are_named_without_what_they_lie_in():
    runs = [listed(data=data) for data in ("/home/w/photos", "photos", "/home/w/photos/", "/")]
    lines = runs_table(runs, "runs", now=0).splitlines()[1:]
    assert [line.split()[3] for line in lines] == ["photos", "photos", "photos", "/"]


def test_a_name_cannot_add_a_line():
    table = runs_table([listed(path="runs/a\nb", data="x\x1b[31m")], "runs", now=0)
    assert len(table.splitlines()) == 2
    assert r"a\nb" in table
    assert "\x1b" not in table


def test_the_result_is_what_says_most():
    known = {"validation": 0.1, "test": 0.2, "truth": 93.5}
    assert result_text(listed(**known)) == "true 93.50 %"
    assert result_text(listed(**known | {"truth": None})) == "test 20.00 %"
    assert result_text(listed()) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "0 s"), (59, "59 s"), (60, "1 min"), (7199, "120 min"), (7200, "2 h"), (200_000, "2 d")],
)
def test_ages_have_one_unit(seconds, words):
    assert age_text(seconds) == words


def test_faults_come_before_commands():
    broken = listed(state="damaged", fault="config.json is damaged")
    lines = faults_and_commands([listed(next_command="xnas train runs/a digits"), broken])
    assert lines == ["damaged: config.json is damaged", "next:", "  xnas train runs/a digits"]
    assert faults_and_commands([listed()]) == []
