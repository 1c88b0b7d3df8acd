"""Checkpoints: rotation, digests, falling back, versions, and that loading executes nothing."""

import errno
import os
import pickle
import tracemalloc
import zipfile
from hashlib import blake2b
from pathlib import Path

import pytest
import torch

from xnas import ConfigError
from xnas.engine import Checkpoints, load_checkpoint
from xnas.errors import DeviceError, VersionError

CPU = torch.device("cpu")


@pytest.fixture
def three(tmp_path):
    """Four were saved, three are left."""
    kept = Checkpoints(tmp_path / "checkpoints")
    for number in range(1, 5):
        kept.save({"number": number, "weights": torch.full((50,), float(number))})
    return kept


def newest(kept):
    warnings = []
    state = kept.newest(CPU, warnings.append)
    return state["number"], warnings


def test_the_last_three_are_kept_and_the_newest_counts(three):
    assert [path.name[:6] for path in three.files()] == ["000004", "000003", "000002"]
    assert newest(three) == (4, [])
    assert Checkpoints(Path("nowhere")).newest(CPU, print) is None


@pytest.mark.parametrize("place", [0, 0.1, 0.5, 0.9, 0.999])
def test_one_flipped_bit_anywhere_is_noticed_and_the_one_before_is_used(three, place):
    path = three.files()[0]
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 1
    path.write_bytes(content)
    number, warnings = newest(three)
    assert number == 3
    assert len(warnings) == 1
    assert f"{path}: the checkpoint is damaged" in warnings[0]
    assert "resuming from the one before it, 000003-" in warnings[0]


@pytest.mark.parametrize("length", [0, 1, 700])
def test_a_checkpoint_that_was_cut_short_is_passed_over(three, length):
    path = three.files()[0]
    path.write_bytes(path.read_bytes()[:length])
    assert newest(three)[0] == 3


def test_what_is_saved_after_a_damaged_one_is_newer_than_it(three):
    three.files()[0].write_bytes(b"damaged")
    three.save({"number": 5})
    assert newest(three) == (5, [])


def test_if_all_are_damaged_nothing_is_begun_again_silently(three):
    for path in three.files():
        path.write_bytes(b"x")
    with pytest.raises(ConfigError, match=r"000004-.* is damaged .*nor can the 2 before it be used"):
        newest(three)


def test_one_that_cannot_be_read_is_passed_over(three, monkeypatch):
    bad, read = three.files()[0], Path.read_bytes

    def failing(path):
        if path == bad:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", failing)
    number, warnings = newest(three)
    assert number == 3
    assert "Input/output error" in warnings[0]


def test_a_disk_that_is_full_is_reported_and_all_old_checkpoints_stay(three, monkeypatch):
    before = three.files()

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ConfigError, match=r"cannot write the checkpoint .*No space left.*; make room"):
        three.save({"number": 5})
    assert sorted(three.folder.iterdir()) == sorted(before)
    assert newest(three) == (4, [])
    with pytest.raises(ConfigError, match=r"No space left.*; make room, and use --resume, which begins"):
        Checkpoints(three.folder / "none before").save({"number": 1})


def test_a_file_in_the_place_of_the_folder_is_to_be_moved_away(tmp_path):
    (tmp_path / "checkpoints").touch()
    with pytest.raises(ConfigError, match=r"checkpoints .*Not a directory.*; move it away, and resume"):
        Checkpoints(tmp_path / "checkpoints").files()


def test_an_old_one_that_cannot_be_removed_stops_nothing(three, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patched:
        patched.setattr("os.unlink", refuse)
        three.save({"number": 5})
    assert len(three.files()) == 4
    three.save({"number": 6})
    assert len(three.files()) == 3


def test_loading_executes_nothing(tmp_path):
    class Malicious:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "executed",))

    path = tmp_path / "last.pt"
    torch.save({"number": Malicious()}, path)
    with pytest.raises(ConfigError, match=r"last.pt: the checkpoint is damaged \(UnpicklingError\)"):
        load_checkpoint(path, CPU)
    path.write_bytes(pickle.dumps(Malicious()))
    with pytest.raises(ConfigError, match="the checkpoint is damaged"):
        load_checkpoint(path, CPU)
    assert not (tmp_path / "executed").exists()


def forge(kept, content):
    """A newer checkpoint of any content, with its digest."""
    path = kept.save({"number": 5})
    digest = blake2b(content, digest_size=16).hexdigest()
    path.write_bytes(content)
    return path.rename(path.with_name(f"000005-{digest}.pt"))


def test_one_that_torch_cannot_read_is_passed_over_though_its_digest_is_right(three):
    path = forge(three, b"not a checkpoint")
    number, (warning,) = newest(three)
    assert number == 4
    assert f"{path}: the checkpoint is damaged (BadZipFile); resuming" in warning


def test_a_checkpoint_that_was_compressed_is_not_unpacked(tmp_path):
    """100 MiB of zeros in 100 KiB."""
    torch.save({"number": 0, "weights": torch.zeros(1)}, tmp_path / "plain.pt")
    with (
        zipfile.ZipFile(tmp_path / "plain.pt") as plain,
        zipfile.ZipFile(tmp_path / "bomb.pt", "w", zipfile.ZIP_DEFLATED) as bomb,
    ):
        for entry in plain.namelist():
            zeros = bytes(100 * 2**20) if entry.endswith("data/0") else plain.read(entry)
            bomb.writestr(entry, zeros)
        del zeros
    tracemalloc.start()
    with pytest.raises(ConfigError, match=r"bomb.pt: the checkpoint is damaged \(it is compressed"):
        load_checkpoint(tmp_path / "bomb.pt", CPU)
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()


def test_entries_that_share_their_bytes_are_not_unpacked(tmp_path):
    path = tmp_path / "last.pt"
    torch.save({"number": 0, "weights": torch.zeros(1000)}, path)
    with zipfile.ZipFile(path, "a") as archive:
        (large,) = (entry for entry in archive.infolist() if entry.file_size == 4000)
        archive.filelist += [large] * 9
        archive._didModify = True
    with pytest.raises(ConfigError, match="might unpack without end"):
        load_checkpoint(path, CPU)


def test_one_that_is_not_the_runs_is_passed_over_and_if_none_is_all_are_refused(three):
    def fit(state):
        if state["number"] >= least:
            raise ConfigError("the checkpoint is of another run")

    least, warnings = 4, []
    assert three.newest(CPU, warnings.append, fit)["number"] == 3
    told = f"{three.files()[0]}: the checkpoint is of another run; resuming from the one before it, 00"
    assert warnings[0].startswith(told)
    least = 0
    with pytest.raises(ConfigError, match=r"000004-.*another run; nor can the 2 before it be used"):
        three.newest(CPU, print, fit)


@pytest.mark.parametrize("kind", [DeviceError, VersionError])
def test_one_of_another_version_or_device_is_not_passed_over(three, kind):
    def fit(_):
        raise kind("another")

    with pytest.raises(kind, match=r"000004-.*: another$"):
        three.newest(CPU, print, fit)
