"""A search never sees the test images, and does with the others what it is told."""

import errno
import json
import multiprocessing
import os
import signal
import threading
import time

import pytest
import torch
from datasets_made import make_freiburg, make_image
from searching import small, stripes, tiny
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from xnas.data import ImageData
from xnas.errors import ConfigError, DatasetError
from xnas.process.interrupt import Interrupted
from xnas.runs.config_file import ConfigFile
from xnas.runs.displays import Silence
from xnas.runs.run_folder import RunFolder
from xnas.runs.search import resume_search, search

pytestmark = pytest.mark.usefixtures("small_space")


class Forbidden:
    """Raises, whatever is asked of it."""

    def __getattribute__(self, name):
        raise AssertionError(f"test images were touched: {name}")

    def __len__(self):
        raise AssertionError("test images were counted")

    def __getitem__(self, index):
        raise AssertionError("test images were read")

    def __iter__(self):
        raise AssertionError("test images were gone through")


def guarded():
    """Stripes whose test part raises when anything at all is done with it."""
    data = stripes(count=32, test=torch.zeros(4, 1, 8, 8, dtype=torch.uint8))
    object.__setattr__(data, "test_images", Forbidden())
    object.__setattr__(data, "test_labels", Forbidden())
    return data


def test_the_guard_guards():
    data = guarded()
    for touch in (len, list, lambda images: images[0], lambda images: images.shape):
        with pytest.raises(AssertionError, match="test images were"):
            touch(data.test_images)


def test_a_whole_search_never_touches_test_images(tmp_path):
    settings = small(out=tmp_path / "run", epochs=2, gap_every=1, relaxation=0.02, auto_augment=False)
    result = search(settings, guarded())
    assert len(result.epochs) == 2
    assert result.genotype


def test_a_resumed_search_does_not_either(tmp_path):
    out = tmp_path / "run"
    search(small(out=out, epochs=1), guarded())
    (out / "genotype.json").unlink()
    assert resume_search(out, data=guarded()).genotype


class Listener(Silence):
    """Keeps what it is told."""

    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)

    def warn(self, line):
        self.lines.append(f"warning: {line}")


def unequal():
    """Forty images of one class, eight of another."""
    data = stripes(count=80)
    kept = torch.cat([(data.labels == 0).nonzero()[:40], (data.labels == 1).nonzero()[:8]]).view(-1)
    return ImageData(
        name="unequal",
        images=data.images[kept],
        labels=data.labels[kept],
        classes=data.classes,
        flip=False,
    )


def test_unequal_classes_are_warned_of_unless_they_are_balanced(tmp_path):
    line = "warning: classes are unequal: 'vertical' has 40 images and 'horizontal' 8; --balance draws"
    for balance in (False, True):
        listener = Listener()
        out = tmp_path / str(balance)
        search(small(out=out, epochs=1, balance=balance), unequal(), display=listener)
        assert any(told.startswith(line) for told in listener.lines) is not balance
        saved = json.loads((out / "config.json").read_text(encoding="utf8"))["config"]
        assert saved["balance"] is balance


@pytest.fixture
def photos(tmp_path):
    for label, name in enumerate(("one", "two")):
        for index in range(24):
            make_image(
                tmp_path / "photos" / name / f"{index}.png", (100 * label, 9, index), size=(10, 20)
            )
    (tmp_path / "photos" / "one" / "3.png").write_bytes(b"")
    return tmp_path / "photos"


def test_bad_images_stop_a_search_unless_they_are_skipped(tmp_path, photos):
    with pytest.raises(DatasetError, match=r"one/3.png .*leave it out with --skip-bad-images"):
        search(small(out=tmp_path / "run"), str(photos))
    listener = Listener()
    settings = small(out=tmp_path / "run", epochs=1, skip_bad_images=True, image_size=8, resize="pad")
    search(settings, str(photos), display=listener)
    assert "1 bad image left out" in listener.lines[0]
    assert "to 8 x 8 (fit inside, then pad with black)" in listener.lines[0]


def test_a_fold_is_searched_by_its_number(tmp_path):
    make_freiburg(tmp_path / "freiburg_groceries_dataset", each=20)
    listener = Listener()
    settings = small(out=tmp_path / "run", epochs=1, fold=3, image_size=8, data_dir=tmp_path)
    search(settings, "freiburg", display=listener)
    assert "fold 3 of 0..4" in listener.lines[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"fold": 5}, r"fold must lie in 0\.\.4, got 5"),
        ({"fold": True}, "fold must be a whole number, all or None, got True"),
        ({"resize": "bend"}, "resize must be crop, pad, stretch or None, got 'bend'"),
        ({"balance": 1}, "balance must be true or false, got 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(arguments, words):
    with pytest.raises(ConfigError, match=words):
        small(**arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (({"epochs": 1},), "data must be a dataset's name, a folder or images, got dict"),
        (
            (tiny(), torch.zeros(4, 1, 8, 8)),
            "or images, got Tensor; xnas.ImageData makes images of ten",
        ),
        ((tiny(), 5), "data must be a dataset's name, a folder or images, got int"),
    ],
)
def test_arguments_of_another_kind_are_named(arguments, words):
    with pytest.raises(ConfigError, match=words):
        search(*arguments)


def test_streamed_images_give_the_search_that_images_in_memory_give(tmp_path):
    for number in range(24):
        make_image(
            tmp_path / "data" / f"class {number % 2}" / f"{number}.png", (9 * number, 5, number % 2 * 90)
        )
    found = [
        search(small(out=tmp_path / name, epochs=1, stream=stream), data)
        for name, stream, data in (
            ("held", False, tmp_path / "data"),
            ("streamed", True, str(tmp_path / "data")),
        )
    ]
    assert found[0].genotype == found[1].genotype
    for one, other in zip(found[0].epochs, found[1].epochs, strict=True):
        assert (one.train_loss, one.valid_loss) == (other.train_loss, other.valid_loss)


class Killer(Silence):
    """Kills the processes that decode images after the first epoch, as a machine without memory does."""

    def after_epoch(self, *_):
        for worker in multiprocessing.active_children():
            worker.kill()
            worker.join()


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_a_search_whose_decoding_process_is_killed_says_where_and_what_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(_MultiProcessingDataLoaderIter._try_get_data, "__defaults__", (0.2,))
    for number in range(24):
        make_image(tmp_path / "data" / f"class {number % 2}" / f"{number}.png", (9 * number, 5, 9))
    words = r"^after round \d+, epoch 2: a process .* died .*resume.*; the last good .*checkpoints/000"
    with pytest.raises(DatasetError, match=words):
        search(
            small(out=tmp_path / "run", epochs=2, stream=True), str(tmp_path / "data"), display=Killer()
        )


def test_a_resumed_search_reads_images_as_it_did_though_it_would_now_choose_otherwise(
    tmp_path, monkeypatch
):
    for number in range(24):
        make_image(tmp_path / "data" / f"class {number % 2}" / f"{number}.png", (9 * number, 5, 9))
    for name, streams in (("held", False), ("streamed", True)):
        out = tmp_path / name
        monkeypatch.setattr("xnas.data.folders.streams", lambda *_, first=streams: first)
        search(small(out=out, epochs=1), str(tmp_path / "data"))
        saved = json.loads((out / "config.json").read_text(encoding="utf8"))
        assert saved["config"]["stream"] is streams
        (out / "genotype.json").unlink()
        monkeypatch.setattr("xnas.data.folders.streams", lambda *_, first=streams: not first)
        assert resume_search(out).genotype


def test_a_folder_is_free_again_though_a_worker_has_inherited_its_handle(tmp_path, monkeypatch):
    folder, inherited, plain_open = RunFolder.create(lambda: tmp_path / "run"), [], os.open

    def opened(*arguments):
        handle = plain_open(*arguments)
        inherited.append(os.dup(handle))  # what a forked process has
        return handle

    monkeypatch.setattr("xnas.runs.lock.os.open", opened)
    with folder.locked():
        pass
    with folder.locked():
        with pytest.raises(ConfigError, match="another process is running in"), folder.locked():
            pass
        with pytest.raises(ConfigError, match="another process is running in"), folder.locked():
            pass  # which the refusal before has not freed
    for handle in inherited:
        os.close(handle)


def test_a_run_that_was_begun_is_not_told_to_choose_another_out(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    folder = RunFolder.create(lambda: tmp_path / "run")
    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(ConfigError, match="make it writable, or choose another folder with --out"):
        folder.write_text("config.json", "{}")
    (folder.path / "config.json").write_text("{}", encoding="utf8")
    way = "Read-only file system; make it writable, or copy the run folder elsewhere and resume it there"
    for write in (lambda: folder.write_text("config.json", "{}"), lambda: folder.metrics.append("x")):
        with pytest.raises(ConfigError, match=way):
            write()


def test_a_run_of_another_kind_is_named_in_words(tmp_path):
    search(small(out=tmp_path / "run", epochs=1), stripes(count=32))
    with pytest.raises(ConfigError, match="a search, not a training; resume it with: xnas search --r"):
        ConfigFile.read(tmp_path / "run", "train")


class Stalling(Silence):
    """Stops all workers after the first round, and sends SIGTERM once no round has ended for a while."""

    def after_round(self, search):
        self.last = time.monotonic()
        if search.rounds > 1:
            return
        for worker in multiprocessing.active_children():
            os.kill(worker.pid, signal.SIGSTOP)
        threading.Thread(target=self.end, daemon=True).start()

    def end(self):
        while time.monotonic() - self.last < 1:
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_sigterm_ends_a_run_whose_decoding_processes_were_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 0.2)
    monkeypatch.setattr("xnas.data.reader.CHECK_SECONDS", 0.2)
    for number in range(80):
        make_image(tmp_path / "data" / f"class {number % 2}" / f"{number}.png", (3 * number, 5, 9))
    config = small(out=tmp_path / "run", stream=True, batch_size=4)
    words = r"^stopped after round \d; resume with: xnas search --resume .*\(images did not come; not"
    with pytest.raises(Interrupted, match=words):
        search(config, str(tmp_path / "data"), display=Stalling())
