"""Splits are stratified, disjoint, complete and follow from a seed; streams do not move each other."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from xnas.data import halves, held_out, stream, stream_seed
from xnas.errors import ConfigError, DatasetError


@st.composite
def labelled(draw):
    """Labels in any order, at least two of each class; some classes may be absent altogether."""
    counts = draw(st.lists(st.one_of(st.just(0), st.integers(2, 9)), min_size=1, max_size=8).filter(any))
    labels = [label for label, count in enumerate(counts) for _ in range(count)]
    return torch.tensor(draw(st.permutations(labels)))


seeds = st.integers(0, 2**40)


def assert_together_everything(first, second, count):
    assert torch.cat([first, second]).sort().values.tolist() == list(range(count))
    for part in (first, second):
        assert part.tolist() == sorted(part.tolist())


@given(labelled(), seeds)
def test_halves_are_disjoint_complete_and_stratified(labels, seed):
    train, valid = halves(labels, seed=seed)
    assert_together_everything(train, valid, len(labels))
    assert 0 <= len(train) - len(valid) <= 1
    for label in labels.unique():
        difference = (labels[train] == label).sum() - (labels[valid] == label).sum()
        assert abs(int(difference)) <= 1


@given(labelled(), seeds, st.floats(0.01, 0.99))
def test_a_held_out_share_is_taken_of_each_class_and_never_all_of_it(labels, seed, share):
    kept, held = held_out(labels, share=share, seed=seed)
    assert_together_everything(kept, held, len(labels))
    for label in labels.unique():
        members, out = int((labels == label).sum()), int((labels[held] == label).sum())
        assert 1 <= out <= members - 1
        assert abs(out - share * members) <= 0.5 or out in (1, members - 1)


def test_a_seed_says_it_all():
    labels = torch.arange(60) % 3
    again = [halves(labels, seed=5)[0].tolist() for _ in range(2)]
    assert again[0] == again[1]
    assert halves(labels, seed=6)[0].tolist() != again[0]
    assert (
        held_out(labels, share=0.5, seed=5)[1].tolist()
        != held_out(labels, share=0.5, seed=6)[1].tolist()
    )


def test_images_are_dealt_out_by_chance():
    """Each image of a class is as likely in one half as in the other, whatever its place."""
    labels = torch.zeros(10, dtype=torch.int64)
    times = torch.zeros(10)
    for seed in range(400):
        times[halves(labels, seed=seed)[0]] += 1
    assert (times - 200).abs().max() < 50  # five standard deviations of a fair coin


def test_global_randomness_is_neither_used_nor_moved():
    labels = torch.arange(60) % 3
    first = halves(labels, seed=5)[0]
    torch.manual_seed(99)
    before = torch.get_rng_state()
    assert torch.equal(halves(labels, seed=5)[0], first)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0, 0, 1], "class 1 has 1 image; a class needs at least 2 to be split"),
        ([], "no images to split"),
    ],
)
def test_what_cannot_be_split_is_refused(labels, words):
    with pytest.raises(DatasetError, match=words):
        halves(torch.tensor(labels, dtype=torch.int64), seed=0)
    with pytest.raises(DatasetError, match=words):
        held_out(torch.tensor(labels, dtype=torch.int64), share=0.2, seed=0)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 3.0])
def test_a_share_that_leaves_nothing_is_refused(share):
    with pytest.raises(ConfigError, match=f"share must lie between 0 and 1, got {share}"):
        held_out(torch.arange(8) % 2, share=share, seed=0)


@pytest.mark.parametrize(
    ("seed", "name", "shown"),  # what `printf SEED/NAME | b2sum -l 64` of GNU coreutils shows
    [
        (0, "split", 0x360F6B4E8C0B1CDE),
        (7, "weights", 0x9A7C933D1CD2CCD4),
        (-3, "augmentation", 0xF43E6022412E88B2),
        (12, "Ordnung für alle", 0x602B494C8C236A52),
    ],
)
def test_seeds_of_streams_are_the_same_for_ever(seed, name, shown):
    assert stream_seed(seed, name) == shown // 2


def test_streams_of_different_names_or_seeds_differ_and_each_repeats():
    def drawn(seed, name):
        return torch.rand(4, generator=stream(seed, name)).tolist()

    assert drawn(0, "order") == drawn(0, "order")
    assert len({tuple(drawn(seed, name)) for seed in range(5) for name in ("order", "weights")}) == 10


def test_drawing_from_one_stream_moves_no_other():
    order, weights = stream(0, "order"), stream(0, "weights")
    torch.rand(1000, generator=order)
    assert torch.equal(torch.rand(4, generator=weights), torch.rand(4, generator=stream(0, "weights")))
