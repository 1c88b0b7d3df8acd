"""Worker processes decode images ahead; bad files, deaths and stops end a run with one line."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
import torch
from batches_drawn import assert_equal, labels_of, play
from streamed_files import COUNT, MEAN, SETTINGS, STD, with_bad, workers_alive
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from xnas.data import BatchSettings, StreamSource, reader, standardize
from xnas.data.reader import WaitInterrupted, stop_waiting_when
from xnas.errors import DatasetError

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a single core


class CountedImages:
    """Images that count how often one was decoded, over all processes."""

    shape = (3, 64, 64)

    def __init__(self, count):
        self.count, self.decoded = count, multiprocessing.Value("q", 0)

    def __len__(self):
        return self.count

    def read(self, index):
        with self.decoded.get_lock():
            self.decoded.value += 1
        return torch.full(self.shape, index % 256, dtype=torch.uint8)


def test_no_more_is_decoded_ahead_than_workers_times_prefetch_batches(opened):
    """Three epochs over 400 images of 64 x 64: what waits is bounded, and the workers stay the same."""
    images, rounds = CountedImages(400), 25
    source = StreamSource(
        images,
        torch.arange(400),
        torch.arange(400),
        BatchSettings(**{**SETTINGS, "batch_size": 16}),
        workers=2,
        prefetch=2,
    )
    opened.append(source)
    buffers = source.buffers()
    most = processes = 0
    for epoch in range(3):
        source.begin_epoch(epoch, rounds)
        before = images.decoded.value
        for filled in range(1, rounds + 1):
            source.fill(*buffers)
            if filled == 5:
                time.sleep(0.3)  # the workers run as far ahead as they may
            most = max(most, images.decoded.value - before - 16 * filled)
        processes = processes or {child.pid for child in multiprocessing.active_children()}
        assert {child.pid for child in multiprocessing.active_children()} == processes
    assert len(processes) == 2
    assert 0 < most <= 2 * 2 * 16
    assert images.decoded.value == 3 * 400  # and nothing twice


@pytest.mark.parametrize("workers", [0, 2])
def test_a_bad_image_is_named_in_one_line_where_the_search_runs(streamed, written, tmp_path, workers):
    batches = streamed(with_bad(written, tmp_path, 13), workers=workers)
    batches.begin_epoch(0, 6)
    with pytest.raises(DatasetError, match=r"cannot read the image .*bad 13.png .*skip-bad") as caught:
        play(batches, 6)
    assert "\n" not in str(caught.value)
    assert workers_alive() == 0
    with pytest.raises(DatasetError, match="bad 13"):
        list(batches.whole())


@pytest.mark.parametrize("workers", [0, 2])
def test_a_skipped_image_is_replaced_by_the_next_of_the_order(
    streamed, in_memory, written, tmp_path, workers
):
    memory = in_memory()
    memory.begin_epoch(0, 6)
    order = memory.order.flatten().tolist()
    bad = {order[place] for place in (3, 10, 11, 15, 47)}  # alone, two in a row, last of batch and epoch
    files = streamed(with_bad(written, tmp_path, *bad), workers=workers, skip_bad_images=True)
    files.begin_epoch(0, 6)
    filled = play(files, 6)

    def next_good(place):
        while order[place % 48] in bad:
            place += 1
        return order[place % 48]

    expected = [next_good(place) for place in range(48)]
    assert [label for labels in labels_of(filled) for label in labels] == expected
    for images, labels in filled:
        assert torch.equal(images, standardize(written[1][labels], MEAN, STD))
    assert files.skipped == 5
    files.begin_epoch(0, 6)
    assert_equal(play(files, 6), filled)
    assert files.skipped == 5  # each file once


def test_a_run_of_bad_images_ends_a_stream_that_skips_them(streamed, written, tmp_path):
    files = streamed(with_bad(written, tmp_path, *range(COUNT)), skip_bad_images=True)
    files.begin_epoch(0, 6)
    with pytest.raises(
        DatasetError, match=r"17 images in a row cannot be read, the first of them .*bad"
    ):
        play(files, 1)
    assert list(files.whole()) == []


def test_a_source_that_is_let_go_ends_its_workers(streamed, opened):
    batches = streamed(workers=2)
    batches.begin_epoch(0, 6)
    play(batches, 1)
    assert workers_alive() == 2
    opened.clear()
    del batches
    assert workers_alive() == 0


class DeadlyImages(CountedImages):
    """The process that decodes the ninth image is killed, as by a machine that runs out of memory."""

    def read(self, index):
        image = super().read(index)
        if self.decoded.value == 9:
            time.sleep(1)  # until the search waits for it
            os.kill(os.getpid(), signal.SIGKILL)
        return image


@pytest.fixture
def impatient(monkeypatch):
    """torch looks for dead workers, and waits for those that end, a fifth of a second at a time."""
    monkeypatch.setattr(_MultiProcessingDataLoaderIter._try_get_data, "__defaults__", (0.2,))
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 0.2)


@pytest.mark.usefixtures("impatient")
def test_a_worker_that_dies_is_reported_in_one_line(opened):
    source = StreamSource(
        DeadlyImages(50), torch.arange(50), torch.arange(50), BatchSettings(**SETTINGS), workers=1
    )
    opened.append(source)
    source.begin_epoch(0, 6)
    play(source, 1)
    words = r"process that decodes images died .* resume the run, .* or --no-stream"
    with pytest.raises(DatasetError, match=words) as caught:
        play(source, 1)
    assert "\n" not in str(caught.value)
    play(source, 5)


@pytest.mark.usefixtures("impatient")
def test_the_death_of_a_worker_is_raised_where_its_batch_is_wanted_and_nowhere_else(streamed):
    batches = streamed(workers=2)
    batches.begin_epoch(0, 6)
    worker = multiprocessing.active_children()[0]
    worker.kill()
    worker.join()
    sum(range(10**5))  # where an error of a signal's handler would come up
    with pytest.raises(DatasetError, match="process that decodes images died"):
        play(batches, 6)
    assert workers_alive() == 0


def test_signals_to_all_processes_leave_workers_alone(streamed, in_memory):
    files, memory = streamed(workers=2), in_memory()
    for batches in (files, memory):
        batches.begin_epoch(0, 6)
    workers = multiprocessing.active_children()
    for worker in workers:
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(worker.pid, number)
    assert_equal(play(files, 6), play(memory, 6))
    assert multiprocessing.active_children() == workers
    files.close()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.fixture
def short_of_patience(impatient, monkeypatch):  # noqa: ARG001 - the other also waits
    monkeypatch.setattr(reader, "CHECK_SECONDS", 0.1)
    monkeypatch.setattr(reader, "STALL_SECONDS", 0.5)


@pytest.mark.usefixtures("short_of_patience")
def test_a_worker_that_was_stopped_is_named_in_one_line(streamed):
    batches = streamed(workers=1)
    batches.begin_epoch(0, 6)
    (worker,) = multiprocessing.active_children()
    os.kill(worker.pid, signal.SIGSTOP)
    words = rf"^the process {worker.pid}, which decodes images, was stopped \(SIGSTOP\) for more than"
    with pytest.raises(DatasetError, match=words):
        play(batches, 6)
    assert workers_alive() == 0


@pytest.mark.usefixtures("short_of_patience")
def test_a_worker_that_was_stopped_for_a_moment_is_waited_for(streamed, in_memory):
    files, memory = streamed(workers=1), in_memory()
    for batches in (files, memory):
        batches.begin_epoch(0, 6)
    (worker,) = multiprocessing.active_children()
    os.kill(worker.pid, signal.SIGSTOP)
    again = threading.Timer(0.2, os.kill, (worker.pid, signal.SIGCONT))
    again.start()
    assert_equal(play(files, 6), play(memory, 6))
    again.join()


@pytest.mark.usefixtures("impatient")
def test_a_run_that_is_asked_to_stop_does_not_wait_for_a_worker_that_was_stopped(streamed):
    batches = streamed(workers=1)
    batches.begin_epoch(0, 6)
    (worker,) = multiprocessing.active_children()
    os.kill(worker.pid, signal.SIGSTOP)
    started = time.monotonic()
    with pytest.raises(WaitInterrupted), stop_waiting_when(lambda: True):
        play(batches, 6)
    assert time.monotonic() - started < 8
    assert workers_alive() == 0


@pytest.mark.usefixtures("impatient")
def test_a_worker_that_does_not_end_is_killed(streamed):
    batches = streamed(workers=1)
    batches.begin_epoch(0, 6)
    (worker,) = multiprocessing.active_children()
    os.kill(worker.pid, signal.SIGSTOP)
    batches.close()
    assert worker.exitcode == -signal.SIGKILL


SCRIPT = """
import sys, torch
from pathlib import Path
from xnas.data import BatchSettings, ImageFiles, Paths, StreamSource
if __name__ == "__main__":
    files = sorted(Path(sys.argv[1]).rglob("*.png"))
    sources = [
        StreamSource(ImageFiles(Paths(files), 3, (12, 10), "crop"), torch.arange(50), torch.arange(50),
            BatchSettings(batch_size=8, mean=(0,) * 3, std=(1,) * 3, seed=0, name=name), workers=1)
        for name in ("training", "validation")
    ]
    for source in sources:
        source.begin_epoch(0, 6)
        source.fill(*source.buffers())
    evaluation = sources[0].whole()
    next(evaluation)
    {end}
"""


@pytest.mark.parametrize(
    ("end", "status", "said"),
    [
        pytest.param("print('done')", 0, "", marks=pytest.mark.slow),
        ("raise ValueError('mine')", 1, "ValueError: mine"),
    ],
)
def test_a_program_ends_at_once_with_workers_at_work(written, end, status, said):
    folder = written[0][0].parent.parent
    command = [
        sys.executable,
        "-W",
        "ignore:This DataLoader",
        "-c",
        SCRIPT.replace("{end}", end),
        folder,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status
    assert done.stderr.strip().splitlines()[-1:] == ([said] if said else [])


class Waiting:
    """What the watchdog sees of a loader whose workers run: here this process."""

    _workers = (SimpleNamespace(pid=os.getpid()),)


def watchdogs():
    return [thread for thread in threading.enumerate() if thread.name == "xnas-watchdog"]


def test_one_thread_watches_all_waits_and_none_is_there_at_a_fork():
    for _ in range(3):
        with reader._watched(Waiting()):
            (first,) = watchdogs()
    with reader._watched(Waiting()):
        assert watchdogs() == [first]
    child = os.fork()  # a warning, which is an error here, if there are other threads
    if not child:
        os._exit(len(watchdogs()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert watchdogs() == []
    with reader._watched(Waiting()):
        assert len(watchdogs()) == 1


def test_the_watchdog_ends_when_there_is_nothing_to_watch(monkeypatch):
    reader._watchdog.stop()
    monkeypatch.setattr(reader, "CHECK_SECONDS", 0.01)
    monkeypatch.setattr(reader, "IDLE_SECONDS", 0.02)
    with reader._watched(Waiting()):
        (thread,) = watchdogs()
    thread.join(10)
    assert watchdogs() == []
