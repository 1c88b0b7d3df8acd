"""Lists of runs: their states, and folders that hold anything."""

import json
import os
import re
from contextlib import nullcontext

import pytest
from runs_written import WHOLE, search, training, written

from xnas.errors import ConfigError
from xnas.runs.listing import runs_in as listing
from xnas.runs.listing.kinds import RUN_KINDS, Description, RunKind
from xnas.runs.listing.runs_in import runs_in
from xnas.runs.lock import locked


def states(folder):
    return {os.path.relpath(run.path, folder): run.state for run in runs_in(folder)}


def test_states_are_told_from_the_lock_and_from_the_last_file(tmp_path):
    search(tmp_path / "done")
    search(tmp_path / "stopped", finished=False)
    held = search(tmp_path / "held", finished=False)
    with locked(held, nullcontext):
        assert states(tmp_path) == {"done": "finished", "stopped": "stopped", "held": "running"}
    assert states(tmp_path)["held"] == "stopped"


def test_the_run_that_changed_last_comes_first_and_commands_fit_states(tmp_path):
    search(tmp_path / "old run", age=100)
    search(tmp_path / "new", finished=False, age=1)
    training(tmp_path / "deep" / "er" / "trained", age=10)
    found = runs_in(tmp_path)
    assert [run.kind for run in found] == ["search", "training", "search"]
    assert [run.next_command for run in found] == [
        f"xnas search --resume {tmp_path / 'new'}",
        f"xnas export {tmp_path / 'deep/er/trained'}",
        f"xnas train '{tmp_path / 'old run'}' digits",
    ]


def test_a_report_and_figures_that_are_drawn_later_leave_a_run_its_age(tmp_path):
    search(tmp_path / "older", age=100)
    search(tmp_path / "newer", age=1)
    before = runs_in(tmp_path)
    (tmp_path / "older/report.html").touch()
    (tmp_path / "older/figures").mkdir()
    assert runs_in(tmp_path) == before
    assert [run.changed for run in before] == [1e9 - 1, 1e9 - 100]


def test_images_in_memory_are_resumed_by_a_call(tmp_path):
    config = WHOLE | {"kind": "search", "data": None, "config": {}}
    written(tmp_path / "run", "search", {"config.json": config})
    assert runs_in(tmp_path)[0].next_command.startswith("xnas.resume_search('")


def test_runs_inside_runs_are_listed_with_the_run_that_holds_them(tmp_path):
    outer = search(tmp_path / "outer")
    training(outer / "trials" / "00000")
    training(outer / "best")
    (tmp_path / "link").symlink_to(outer)
    training(tmp_path / ".hidden")
    assert states(tmp_path) == {"outer": "finished"}
    assert states(outer) == {".": "finished", "trials/00000": "finished"}


def test_folders_without_a_run_give_none(tmp_path):
    written(tmp_path / "model", "x", {"config.json": {"model_type": "bert"}})
    training(tmp_path / "a" / "b" / "c" / "too deep")
    assert runs_in(tmp_path) == []
    for place, words in (("nowhere", "is not there"), ("model/config.json", "is a file")):
        with pytest.raises(ConfigError, match=words):
            runs_in(tmp_path / place)


def test_a_kind_of_ones_own_is_listed(tmp_path, monkeypatch):
    kind = RunKind(
        noun="tasting",
        last="taste.json",
        sign="taste.json",
        describe=lambda files: Description(test=files.json("taste.json")["good"]),
    )
    monkeypatch.setitem(RUN_KINDS._entries, "taste", kind)
    written(tmp_path / "mine", "x", {"taste.json": {"good": 0.5}})
    (tmp_path / "mine" / "config.json").unlink()
    (run,) = runs_in(tmp_path)
    assert (run.kind, run.state, run.test) == ("tasting", "finished", 0.5)


@pytest.mark.parametrize(
    ("name", "content", "state", "words"),
    [
        ("config.json", b"", "damaged", "cannot read .*config.json"),
        ("config.json", b"[1]", "damaged", "does not hold an object"),
        ("config.json", b"[" * 100_000, "damaged", "cannot read"),
        ("config.json", b'{"format": "xnas-run", "version": 2}', "unreadable", "has version 2"),
        (
            "config.json",
            b'{"format": "xnas-run", "version": 1, "kind": [1]}',
            "unreadable",
            "of the kind .1., which this xnas does not know",
        ),
        ("metrics.jsonl", b"{}\n{\n", "damaged", "metrics.jsonl is damaged in line 2: it is not JSON"),
        ("metrics.jsonl", b"3\n", "damaged", "line 1: it is not an object"),
        ("genotype.json", b"\xff", "damaged", "cannot read .*genotype.json"),
    ],
)
def test_a_damaged_file_is_a_line_that_names_it(tmp_path, name, content, state, words):
    (search(tmp_path / "bad") / name).write_bytes(content)
    search(tmp_path / "good")
    bad, good = sorted(runs_in(tmp_path), key=lambda run: run.path)
    assert (bad.state, good.state) == (state, "finished")
    assert re.search(words, bad.fault)
    assert bad.next_command is None


def test_links_pipes_and_folders_in_the_place_of_files_do_no_harm(tmp_path):
    for name in ("pipe", "folder", "loop"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "pipe" / "config.json")
    (tmp_path / "folder" / "config.json").mkdir()
    (tmp_path / "loop" / "config.json").symlink_to("config.json")
    assert states(tmp_path) == dict.fromkeys(("pipe", "folder", "loop"), "damaged")


@pytest.mark.parametrize("strange", [None, [], {}, "x", -1, 1e400, 10**400, True, [[1]], {"arch": 3}])
def test_values_of_any_kind_are_at_worst_damage(tmp_path, strange):
    run = search(tmp_path / "run")
    trained = training(tmp_path / "trained")
    for folder, name in ((run, "metrics.jsonl"), (run, "genotype.json"), (trained, "test.json")):
        saved = json.loads((folder / name).read_text().splitlines()[-1])
        spoiled = json.dumps(dict.fromkeys(saved, strange))
        (folder / name).write_text(spoiled + "\n")
    for folder in (run, trained):
        config = json.loads((folder / "config.json").read_text())
        config |= {"data": strange, "config": dict.fromkeys(config["config"], strange)}
        (folder / "config.json").write_text(json.dumps(config))
    for found in runs_in(tmp_path):
        assert (found.state, found.next_command) == ("damaged", None)
        json.dumps(found.validation, allow_nan=False)


def test_a_folder_that_disappears_is_no_error(tmp_path):
    assert listing._changed(tmp_path / "gone") == 0.0
