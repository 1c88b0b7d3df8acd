"""`xnas runs`: a table for people, JSON for scripts."""

import json
import subprocess
import sys

from commands import call
from runs_written import search, training


def test_the_runs_of_a_folder_are_a_table_with_next_commands(capsys, tmp_path):
    search(tmp_path / "one")
    training(tmp_path / "two")
    status, out, err = call(capsys, "runs", tmp_path)
    assert (status, err) == (0, "")
    table, below = out.split("\n\n")
    assert len(table.splitlines()) == 3
    assert f"  xnas train {tmp_path / 'one'} digits" in below.splitlines()


def test_scripts_get_stable_keys(capsys, tmp_path):
    search(tmp_path / "one")
    status, out, _ = call(capsys, "runs", tmp_path, "--json")
    saved = json.loads(out)
    assert (status, saved["format"], saved["version"], saved["folder"]) == (
        *(0, "xnas-runs", 1),
        str(tmp_path),
    )
    assert list(saved["runs"][0]) == [
        *("path", "kind", "state", "fault", "data", "method", "seed", "cell", "done", "planned"),
        *("validation", "test", "truth", "changed", "next_command"),
    ]


def test_an_empty_folder_is_a_line_and_a_missing_one_is_refused(capsys, tmp_path):
    assert call(capsys, "runs", tmp_path)[:2] == (
        0,
        f"there are no runs in {tmp_path}; xnas search begins one in runs\n",
    )
    status, _, err = call(capsys, "runs", tmp_path / "x")
    assert status == 2
    assert "x is not there; give a folder of runs, such as runs" in err


def test_the_usual_folder_may_be_missing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, _ = call(capsys, "runs")
    assert (status, out) == (0, "there are no runs in runs; xnas search begins one in runs\n")
    assert json.loads(call(capsys, "runs", "--json")[1])["runs"] == []


def test_it_does_without_torch(tmp_path):
    search(tmp_path / "one")
    code = (
        "import sys; from xnas.cli import main; main(['runs', sys.argv[1]]); "
        "assert 'torch' not in sys.modules"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
