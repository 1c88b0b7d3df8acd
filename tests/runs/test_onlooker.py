"""What processes other than the first may do with a run folder: read it."""

import pytest

from xnas import ConfigError
from xnas.engine.distributed import Ranks
from xnas.runs.onlooker import Onlooker, folder_again, new_folder
from xnas.runs.run_folder import RunFolder


@pytest.fixture
def begun(tmp_path):
    """A run that two processes began."""
    folder = RunFolder.create(tmp_path / "run", "digits")
    (folder.path / "config.json").write_text('{"processes": 2}', encoding="utf8")
    return folder


def test_an_onlooker_writes_and_locks_nothing(begun):
    before = sorted(begun.path.iterdir())
    looking = Onlooker(begun.path, "digits")
    with begun.locked(), looking.locked():  # a second holder would be refused
        looking.write_text("genotype.json", "{}")
        looking.write_json("ledger.json", {})
        looking.metrics.append("{}\n")
        looking.metrics.restore(None, print)
    assert sorted(begun.path.iterdir()) == before


def test_alone_a_folder_is_written_by_its_process(tmp_path):
    folder = new_folder(Ranks(), lambda: tmp_path / "run", "digits")
    assert type(folder) is RunFolder
    folder.write_text("genotype.json", "{}")
    assert (tmp_path / "run" / "genotype.json").exists()


def test_another_number_of_processes_is_refused(begun):
    with pytest.raises(ConfigError, match="2 processes"):
        folder_again(Ranks(), begun.path)
    assert isinstance(folder_again(Ranks(rank=1, size=2), begun.path), Onlooker)
