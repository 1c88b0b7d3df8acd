"""Whatever a run folder holds, what can be read of it is read."""

import json

import pages
import pytest

from xnas import SearchConfig
from xnas.errors import ConfigError
from xnas.records import SearchEpoch
from xnas.runs.reports.run_files import ReadRun


def test_the_head_says_how_to_make_the_run_again(tmp_path):
    run = ReadRun.open(pages.search_run(tmp_path / "run", relaxation=0.02, wipeout=True))
    head = run.head(SearchConfig)
    assert head.command == "xnas search digits --seed 3 --epochs 3 --relaxation 0.02 --no-include-none"
    assert (head.state, head.seed, head.data) == ("finished", 3, "digits")
    assert ("xnas", "0.1.0") in head.versions
    assert dict(head.settings)["wipeout"] == "yes"
    assert head.next_command.startswith("xnas train ")
    assert "wipeout" not in head.changed


def test_all_epochs_are_read(tmp_path):
    run = ReadRun.open(pages.search_run(tmp_path / "run"))
    assert run.records(SearchEpoch.from_json) == tuple(pages.epochs())


@pytest.mark.parametrize("line", ["{", "[]", '{"epoch": 2}', "null", '{"epoch": ' * 2000])
def test_epochs_before_a_damaged_one_are_read_and_the_fault_is_noted(tmp_path, line):
    first = json.dumps(pages.asdict(pages.epochs()[0]))
    run = ReadRun.open(pages.search_run(tmp_path / "run", lines=[first, line]))
    assert len(run.records(SearchEpoch.from_json)) == 1
    assert any("damaged in line 2" in fault for fault in run.faults)


def test_a_damaged_config_leaves_the_rest(tmp_path):
    folder = pages.search_run(tmp_path / "run")
    (folder / "config.json").write_text("{", encoding="utf8")
    run = ReadRun.open(folder)
    head = run.head(None)
    assert (head.state, head.command, head.settings) == ("damaged", "", ())
    assert "config.json" in head.faults[0]


def test_what_cannot_be_read_is_noted_once(tmp_path):
    run = ReadRun.open(pages.search_run(tmp_path / "run"))
    for _ in range(2):
        assert run.attempt("a.json", lambda: {}["key"], "nothing") == "nothing"
    (fault,) = run.faults
    assert "a.json is damaged: 'key'" in fault


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda _: None, "is not there; give the folder of a run"),
        (lambda path: path.write_text("x"), "is a file; give the folder of a run"),
        (
            lambda path: path.mkdir(),
            r"is no run folder: config\.json is not there; give the folder of a search,.* a comparison",
        ),
    ],
)
def test_what_is_no_run_is_refused_in_a_line(tmp_path, make, words):
    make(tmp_path / "given")
    with pytest.raises(ConfigError, match=words):
        ReadRun.open(tmp_path / "given")
