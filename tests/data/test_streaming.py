"""Streamed batches are those of a source in memory, bit for bit."""

import os

import pytest
import torch
from batches_drawn import assert_equal, labels_of, play
from streamed_files import AUGMENT, BATCH, COUNT, SETTINGS, SIZE, with_bad, workers_alive

from xnas.data import (
    BatchSettings,
    BatchSource,
    Cutout,
    ImageFiles,
    Paths,
    RandomResizedCrop,
    StreamedImages,
    StreamSource,
    default_workers,
    halves,
)
from xnas.errors import ConfigError

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a single core


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


# Workers


def test_workers_are_all_cores_but_one_shared_by_the_sources(monkeypatch):
    for cores, sources, workers in ((16, 1, 15), (16, 2, 7), (2, 2, 1), (1, 1, 1)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=cores: set(range(n)), raising=False)
        assert default_workers(sources=sources) == workers
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert default_workers() == 3


# Bad images


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


# Starting and ending


def test_a_source_continues_after_an_error_where_it_stood(streamed, in_memory):
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


def test_a_closed_source_can_continue(streamed, in_memory):
    files, memory = streamed(workers=1), in_memory()
    for batches in (files, memory):
        batches.begin_epoch(0, 6)
    first = play(files, 2)
    files.close()
    files.close()
    assert_equal(first + play(files, 4), play(memory, 6))


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
