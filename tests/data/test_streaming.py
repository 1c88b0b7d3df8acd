"""Streamed batches are those of a source in memory, to the bit; bad files and errors are survived."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import fields

import pytest
import torch
from batches_drawn import assert_equal, labels_of, play
from PIL import Image
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from xnas.data import (
    BatchSettings,
    BatchSource,
    Chain,
    Crop,
    Cutout,
    Flip,
    ImageFiles,
    Paths,
    RandomResizedCrop,
    StreamedImages,
    StreamSource,
    default_workers,
    halves,
    reader,
    streaming,
)
from xnas.data.reader import WaitInterrupted, stop_waiting_when
from xnas.errors import ConfigError, DatasetError

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a single core

COUNT, BATCH, SIZE = 50, 8, (12, 10)
MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)
AUGMENT = Chain((Crop(2), Flip()))
SETTINGS = {"batch_size": BATCH, "mean": MEAN, "std": STD, "seed": 3, "name": "training"}


def write_images(folder, count=COUNT, size=SIZE):
    """PNG files, in two class folders, and their pixels."""
    pixels = torch.randint(
        256, (count, 3, *size), dtype=torch.uint8, generator=torch.Generator().manual_seed(7)
    )
    files = []
    for index, image in enumerate(pixels):
        path = folder / ("a" if index < count // 2 else "ü b") / f"{index}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(image.movedim(0, -1).numpy()).save(path)
        files.append(path)
    return files, pixels


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_images(tmp_path_factory.mktemp("images"))


@pytest.fixture
def opened():
    """Sources that are closed after the test."""
    sources = []
    yield sources
    for one in sources:
        one.close()


@pytest.fixture
def streamed(written, opened):
    """Makes sources over the files; the label of an image is its index."""

    def make(files=None, indices=None, **changes):
        files = written[0] if files is None else files
        images = ImageFiles(Paths(files), 3, SIZE, "crop")
        chosen = torch.arange(len(files)) if indices is None else indices
        drawn = {field.name for field in fields(BatchSettings)}
        settings = BatchSettings(**SETTINGS | {k: v for k, v in changes.items() if k in drawn})
        reading = {"workers": 0} | {k: v for k, v in changes.items() if k not in drawn}
        opened.append(StreamSource(images, torch.arange(len(files)), chosen, settings, **reading))
        return opened[-1]

    return make


@pytest.fixture
def in_memory(written):
    def make(indices=None, **changes):
        chosen = torch.arange(COUNT) if indices is None else indices
        return BatchSource(
            written[1], torch.arange(COUNT), chosen, BatchSettings(**{**SETTINGS, **changes})
        )

    return make


def with_bad(written, folder, *places):
    """The files, some of them replaced by ones that are no images."""
    files = list(written[0])
    for place in places:
        files[place] = folder / f"bad {place}.png"
        files[place].write_bytes(b"" if place % 2 else b"\x89PNG\r\n\x1a\nno")
    return files


def workers_alive():
    return len(multiprocessing.active_children())


# Equal to a source in memory


def test_crops_of_streamed_images_are_those_of_images_in_memory(streamed, in_memory):
    settings = {"augment": RandomResizedCrop((8, 6)), "size": (8, 6)}
    files, memory = streamed(**settings), in_memory(**settings)
    for batches in (files, memory):
        batches.begin_epoch(0, 4)
    assert files.buffers()[0].shape == (BATCH, 3, 8, 6)
    assert_equal(play(files, 4), play(memory, 4))
    assert_equal(list(files.whole()), list(memory.whole()))


@pytest.mark.parametrize("workers", [0, 2])
def test_streamed_batches_are_those_of_a_source_in_memory_bit_for_bit(streamed, in_memory, workers):
    own = torch.arange(0, COUNT, 2)
    settings = {"indices": own, "augment": AUGMENT}
    files, memory = streamed(workers=workers, **settings), in_memory(**settings)
    assert (files.examples, files.batch_size, files.name) == (25, BATCH, "training")
    for epoch, rounds in ((0, 3), (1, 3), (5, 7)):
        for batches in (files, memory):
            batches.begin_epoch(epoch, rounds)
        assert torch.equal(files.order, memory.order)
        assert_equal(play(files, rounds), play(memory, rounds))
    assert torch.equal(files.generator.get_state(), memory.generator.get_state())


def test_balance_and_finish_are_those_of_a_source_in_memory(written, opened):
    labels = (torch.arange(COUNT) < 10).long()
    common = {"augment": AUGMENT, "finish": Cutout(4), "balance": True, **SETTINGS}
    images = ImageFiles(Paths(written[0]), 3, SIZE, "crop")
    files = StreamSource(images, labels, torch.arange(COUNT), BatchSettings(**common), workers=1)
    memory = BatchSource(written[1], labels, torch.arange(COUNT), BatchSettings(**common))
    opened.append(files)
    for batches in (files, memory):
        batches.begin_epoch(0, 6)
    filled = play(files, 6)
    assert_equal(filled, play(memory, 6))
    assert sum(labels.sum() for _, labels in filled) == 24  # half, of a class that has a fifth


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("limit", [None, 2])
def test_an_evaluation_is_that_of_a_source_in_memory(streamed, in_memory, workers, limit):
    own = torch.arange(7, 40)
    files = streamed(indices=own, workers=workers, augment=AUGMENT)
    assert_equal(list(files.whole(limit)), list(in_memory(indices=own).whole(limit)))
    assert workers_alive() == 0


def test_an_evaluation_in_mid_epoch_moves_nothing(streamed, in_memory):
    files, memory = streamed(augment=AUGMENT, workers=1), in_memory(augment=AUGMENT)
    for batches in (files, memory):
        batches.begin_epoch(0, 6)
    first = play(files, 2)
    evaluation = files.whole()
    next(evaluation)
    second = play(files, 2)
    evaluation.close()
    assert_equal(first + second + play(files, 2), play(memory, 6))


@pytest.mark.parametrize("played", [0, 3, 6])
@pytest.mark.parametrize("workers", [0, 1])
def test_a_source_resumed_in_mid_epoch_continues_bit_for_bit(streamed, tmp_path, played, workers):
    settings = {"augment": AUGMENT, "workers": workers}
    whole = streamed(**settings)
    whole.begin_epoch(2, 6)
    play(whole, played)
    torch.save(whole.state_dict(), tmp_path / "state.pt")
    rest = play(whole, 6 - played)
    whole.begin_epoch(3, 6)
    rest += play(whole, 6)

    resumed = streamed(**settings)
    resumed.load_state_dict(torch.load(tmp_path / "state.pt"))
    again = play(resumed, 6 - played)
    with pytest.raises(ConfigError, match="no batch left after 6 of 6 rounds"):
        play(resumed, 1)
    resumed.begin_epoch(3, 6)
    assert_equal(rest, again + play(resumed, 6))


def test_a_source_in_memory_can_be_continued_from_files(streamed, in_memory):
    files, memory = streamed(augment=AUGMENT), in_memory(augment=AUGMENT)
    memory.begin_epoch(0, 6)
    play(memory, 4)
    files.load_state_dict(memory.state_dict())
    assert_equal(play(files, 2), play(memory, 2))


def test_a_state_from_before_the_first_epoch_resumes_to_before_the_first_epoch(streamed):
    batches = streamed()
    state = batches.state_dict()
    batches.begin_epoch(0, 6)
    batches.load_state_dict(state)
    with pytest.raises(ConfigError, match=r"training half has no batch left .* call begin_epoch"):
        play(batches, 1)


def test_a_new_epoch_drops_what_was_decoded_for_the_last(streamed, in_memory):
    files, memory = streamed(workers=2), in_memory()
    files.begin_epoch(0, 6)
    play(files, 1)
    for batches in (files, memory):
        batches.begin_epoch(1, 6)
    assert_equal(play(files, 6), play(memory, 6))


def test_streaming_draws_nothing_from_the_global_generator(streamed):
    before = torch.random.get_rng_state()
    batches = streamed(workers=1, augment=AUGMENT)
    batches.begin_epoch(0, 2)
    play(batches, 2)
    list(batches.whole(1))
    assert torch.equal(torch.random.get_rng_state(), before)


# Bounded memory


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


def test_workers_are_all_cores_but_one_shared_by_the_sources(monkeypatch):
    for cores, sources, workers in ((16, 1, 15), (16, 2, 7), (2, 2, 1), (1, 1, 1)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=cores: set(range(n)), raising=False)
        assert default_workers(sources=sources) == workers
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert default_workers() == 3


# Bad images


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
        assert torch.equal(images, streaming.standardize(written[1][labels], MEAN, STD))
    assert files.skipped == 5
    files.begin_epoch(0, 6)
    assert_equal(play(files, 6), filled)
    assert files.skipped == 5  # each file once


def test_a_source_with_skipped_images_resumes_bit_for_bit(streamed, written, tmp_path):
    bad = with_bad(written, tmp_path, *range(0, 50, 7))
    whole, resumed = (streamed(bad, skip_bad_images=True, augment=AUGMENT) for _ in range(2))
    whole.begin_epoch(0, 6)
    play(whole, 3)
    resumed.load_state_dict(whole.state_dict())
    assert_equal(play(whole, 3), play(resumed, 3))


def test_an_evaluation_leaves_bad_images_out(streamed, written, tmp_path):
    files = streamed(with_bad(written, tmp_path, 4, 5), skip_bad_images=True)
    seen = sorted(label for labels in labels_of(files.whole()) for label in labels)
    assert seen == [label for label in range(COUNT) if label not in (4, 5)]
    assert files.skipped == 2


def test_a_run_of_bad_images_ends_a_stream_that_skips_them(streamed, written, tmp_path):
    files = streamed(with_bad(written, tmp_path, *range(COUNT)), skip_bad_images=True)
    files.begin_epoch(0, 6)
    with pytest.raises(
        DatasetError, match=r"17 images in a row cannot be read, the first of them .*bad"
    ):
        play(files, 1)
    assert list(files.whole()) == []


# Starting and ending


def test_a_source_goes_on_after_an_error_where_it_stood(streamed, in_memory):
    once = []

    def fails_once(images, generator):
        images = AUGMENT(images, generator)
        if len(once) == 2:
            once.append("failed")
            raise KeyboardInterrupt
        once.append("played")
        return images

    files, memory = streamed(workers=1, augment=fails_once), in_memory(augment=AUGMENT)
    for batches in (files, memory):
        batches.begin_epoch(0, 6)
    played = play(files, 2)
    state = files.state_dict()
    with pytest.raises(KeyboardInterrupt):
        play(files, 1)
    assert workers_alive() == 0
    files.generator.set_state(state["generator"])  # the augmentation that failed had drawn from it
    assert_equal(played + play(files, 4), play(memory, 6))


def test_a_source_that_is_let_go_ends_its_workers(streamed, opened):
    batches = streamed(workers=2)
    batches.begin_epoch(0, 6)
    play(batches, 1)
    assert workers_alive() == 2
    opened.clear()
    del batches
    assert workers_alive() == 0


def test_a_closed_source_can_go_on(streamed, in_memory):
    files, memory = streamed(workers=1), in_memory()
    for batches in (files, memory):
        batches.begin_epoch(0, 6)
    first = play(files, 2)
    files.close()
    files.close()
    assert_equal(first + play(files, 4), play(memory, 6))


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
def test_a_worker_that_dies_is_told_in_one_line(opened):
    source = StreamSource(
        DeadlyImages(50), torch.arange(50), torch.arange(50), BatchSettings(**SETTINGS), workers=1
    )
    opened.append(source)
    source.begin_epoch(0, 6)
    play(source, 1)
    words = r"process that decodes images died .* go on with --resume, .* or without --stream"
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
def short_of_patience(impatient, monkeypatch):  # noqa: ARG001 - the other waits, too
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
        ("print('done')", 0, ""),
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


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"workers": -1}, "training half needs workers >= 0 and prefetch >= 1, got -1 and 2"),
        ({"prefetch": 0}, "workers >= 0 and prefetch >= 1, got 0 and 0"),
        ({"batch_size": 0}, "need at least 1 image, got 0 and 50"),
        ({"indices": torch.arange(0)}, "need at least 1 image, got 8 and 0"),
    ],
)
def test_sources_that_cannot_be_made_are_refused(streamed, changes, words):
    with pytest.raises(ConfigError, match=words):
        streamed(**changes)


def test_batches_that_cannot_be_made_are_refused(streamed):
    batches = streamed()
    with pytest.raises(ConfigError, match="no batch left after 0 of 0 rounds; call begin_epoch"):
        play(batches, 1)
    with pytest.raises(ConfigError, match="limit must be at least 1 batch, got 0"):
        next(batches.whole(0))
    batches.begin_epoch(0, 1)
    with pytest.raises(ConfigError, match="buffers of the training half must be"):
        batches.fill(torch.empty(8, 1, 8, 8), torch.empty(8, dtype=torch.int64))


# The dataset


@pytest.fixture
def data(written):
    return StreamedImages(
        name="mine",
        files=Paths(written[0]),
        labels=(torch.arange(COUNT) >= COUNT // 2).long(),
        classes=("a", "b"),
        test_files=Paths(written[0][:4]),
        test_labels=torch.tensor([0, 1, 0, 1]),
        size=SIZE,
    )


def test_halves_of_a_streamed_dataset_share_no_file(data):
    seen = []
    for name, indices in zip(("training", "validation"), halves(data.labels, seed=0), strict=True):
        settings = {**SETTINGS, "name": name, "batch_size": 5}
        drawn = BatchSettings(**settings)
        source = StreamSource(data.images, torch.arange(COUNT), indices, drawn, workers=0)
        source.begin_epoch(0, 5)
        seen.append({label for labels in labels_of(play(source, 5)) for label in labels})
    assert len(seen[0]) == len(seen[1]) == 25
    assert not seen[0] & seen[1]


@pytest.mark.gpu
def test_streamed_batches_on_a_gpu_are_those_of_a_source_there(streamed, written):
    files = streamed(workers=2, augment=AUGMENT, device="cuda")
    memory = BatchSource(
        written[1].cuda(),
        torch.arange(COUNT),
        torch.arange(COUNT),
        BatchSettings(augment=AUGMENT, **SETTINGS),
    )
    for epoch in range(2):
        for batches in (files, memory):
            batches.begin_epoch(epoch, 6)
        assert_equal(play(files, 6), play(memory, 6))
    assert_equal(list(files.whole()), list(memory.whole()))
