"""A run folder: who writes it, what is refused, what it says of its checkpoints."""

import shutil
from pathlib import Path

import pytest
from searching import stripes
from training import pictures

from xnas import ConfigError, resume_search, resume_training
from xnas.engine.distributed import Ranks
from xnas.runs.run_folder import RunFolder

SAMPLES = Path(__file__).parent.parent / "samples"
SECOND = Ranks(rank=1, size=2)


@pytest.fixture
def begun(tmp_path):
    """A run that two processes began."""
    folder = RunFolder.create(lambda: tmp_path / "run")
    (folder.path / "config.json").write_text("{}", encoding="utf8")
    return folder


def test_a_process_other_than_the_first_writes_and_locks_nothing(begun):
    before = sorted(begun.path.iterdir())
    other = RunFolder(begun.path, SECOND)
    with begun.locked(), other.locked():  # a second holder would be refused
        other.write_text("genotype.json", "{}")
        other.write_json("ledger.json", {})
        other.metrics.append("{}\n")
        other.metrics.restore(None, print)
    assert sorted(begun.path.iterdir()) == before


def test_alone_a_process_writes(tmp_path):
    RunFolder.create(lambda: tmp_path / "run").write_text("genotype.json", "{}")
    assert (tmp_path / "run" / "genotype.json").exists()


def test_a_new_run_takes_no_folder_of_another(begun, tmp_path):
    with pytest.raises(ConfigError, match=r"holds config.json; choose another --out, or resume it"):
        RunFolder.create(lambda: begun.path)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="is a file; choose a folder with --out"):
        RunFolder.create(lambda: tmp_path / "file")


def test_what_a_killed_start_left_of_the_same_run_is_in_nobodys_way(tmp_path):
    first = {"recipe.json": "ours"}
    for text, refused in (("ours", False), ("another", True)):
        (tmp_path / "recipe.json").write_text(text, encoding="utf8")
        if refused:
            with pytest.raises(ConfigError, match=r"it holds recipe\.json"):
                RunFolder.create(lambda: tmp_path, first=first)
        else:
            RunFolder.create(lambda: tmp_path, first=first)


def test_the_first_free_number_is_the_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "search-my-photos-1").mkdir(parents=True)
    assert str(RunFolder.next_free("search", "/data/my photos")) == "runs/search-my-photos-2"


def test_without_a_checkpoint_nothing_is_saved(begun):
    assert begun.saved() == "nothing was saved, as it happened before the first checkpoint"
    path = begun.checkpoints.save({"epoch": 0})
    assert begun.saved() == f"the last good state is saved in {path}"


def test_a_search_of_the_first_format_is_resumed(tmp_path):
    """config.json of version 1 with a checkpoint of version 2, in the middle of the second epoch."""
    out = shutil.copytree(SAMPLES / "search-run-v1", tmp_path / "run")
    assert [e.epoch for e in resume_search(out, data=stripes(count=32)).epochs] == [1, 2]


def test_a_training_of_the_first_format_is_resumed(tmp_path):
    """config.json of version 1 with a checkpoint of version 2, in the middle of the second epoch."""
    out = shutil.copytree(SAMPLES / "train-run-v1", tmp_path / "run")
    assert [e.epoch for e in resume_training(out, data=pictures(count=16)).epochs] == [1, 2]


def test_a_run_inside_the_folder_of_another_is_refused(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "config.json").write_text("{}", encoding="utf8")
    with pytest.raises(ConfigError, match=r"inner lies inside .*, the folder of a run; choose another"):
        RunFolder.create(lambda: tmp_path / "inner")
    assert not (tmp_path / "inner").exists()
