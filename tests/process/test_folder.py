"""Folders of results: whole, or as they were before."""

import errno
import os
from pathlib import Path

import pytest

from xnas.errors import ConfigError, StorageError
from xnas.process.folder import filled_folder, require_part_of, run_path, storage_errors, write_json
from xnas.records import Latency


def full_disk():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupt():
    raise KeyboardInterrupt


def fill(out, *files, overwrite=False, then=lambda: None):
    with filled_folder(out, overwrite=overwrite) as scratch:
        for file in files:
            (scratch / file).parent.mkdir(exist_ok=True)
            (scratch / file).touch()
        then()


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_files_and_subfolders_move_up_together(tmp_path):
    out = tmp_path / "a" / "b"
    fill(out, "figures/x.svg", "y.md")
    assert names(out) == ["figures", "figures/x.svg", "y.md"]


def test_files_of_the_same_name_are_replaced_only_if_that_was_asked_for(tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "old.svg").touch()
    with (
        pytest.raises(ConfigError, match="is not empty; choose another folder"),
        filled_folder(tmp_path),
    ):
        pass
    with filled_folder(tmp_path, overwrite=True) as scratch:
        (scratch / "figures").mkdir()
        (scratch / "figures" / "new.svg").touch()
    assert names(tmp_path) == ["figures", "figures/new.svg", "figures/old.svg"]


def test_a_full_disk_inside_the_block_is_a_storage_error_and_leaves_no_folder(tmp_path):
    words = r"cannot write to .*b: No space left on device; make room, or choose another folder"
    with pytest.raises(StorageError, match=words):
        fill(tmp_path / "a" / "b", "half", then=full_disk)
    assert names(tmp_path) == []


def test_a_full_disk_while_files_move_up_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "replace", lambda *_: full_disk())
    with pytest.raises(StorageError, match="No space left"):
        fill(tmp_path / "out", "one", "two")
    assert names(tmp_path) == []


def test_an_error_leaves_what_was_there(tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path, "half", overwrite=True, then=interrupt)
    assert names(tmp_path) == ["mine"]


def test_a_subfolder_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "figures").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="figures is a link to"):
        fill(tmp_path / "out", "figures/x.svg", overwrite=True)
    assert names(tmp_path / "elsewhere") == []


def test_storage_errors_are_config_errors_that_name_the_folder():
    words = r"cannot write to run: .*; make room, or wait"
    with pytest.raises(ConfigError, match=words), storage_errors(Path("run"), "wait"):
        full_disk()


def test_only_named_parts_are_accepted(tmp_path):
    for name in ("a.json", ".hidden"):
        (tmp_path / name).touch()
    assert require_part_of(tmp_path, "an export", {"a.json"}.__contains__) == ["a.json"]
    with pytest.raises(ConfigError, match=r"holds a\.json, which is no part of an export"):
        require_part_of(tmp_path, "an export", set().__contains__)
    assert require_part_of(tmp_path / "none", "an export", set().__contains__) == []


@pytest.mark.parametrize("given", ["", None, 3, b"run"])
def test_what_is_no_path_is_no_run(given):
    with pytest.raises(ConfigError, match="a run is the path of its folder"):
        run_path(given)


def test_records_are_written_as_json(tmp_path):
    record = Latency(runtime="é", batch=1, milliseconds=0.5, lower=0.4, upper=0.6, runs=5)
    write_json(tmp_path / "x.json", [record])
    text = (tmp_path / "x.json").read_text(encoding="utf8")
    assert '"runtime": "é"' in text
    with pytest.raises(TypeError, match="no JSON for set"):
        write_json(tmp_path / "y.json", {1})
