"""Unequal classes are reported, and can be drawn equally often."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from xnas.data import BatchSettings, BatchSource, imbalance
from xnas.data.imbalance import balanced_order


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ([5, 5], ""),
        ([5, 9], ""),
        ([5, 10], "classes are unequal: 'b' has 10 images and 'a' 5"),
        ([3000, 2], "classes are unequal: 'a' has 3,000 images and 'b' 2"),
    ],
)
def test_classes_that_differ_twofold_are_reported(counts, line):
    labels = torch.repeat_interleave(torch.arange(2), torch.tensor(counts))
    assert imbalance(labels, ("a", "b")) == line


@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=5).filter(lambda counts: sum(counts) > 0),
    st.integers(1, 60),
    st.integers(0, 3),
)
def test_every_class_and_every_image_of_a_class_comes_equally_often(counts, wanted, seed):
    labels = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    order = balanced_order(labels, wanted, torch.Generator().manual_seed(seed))
    assert len(order) == wanted
    times = torch.bincount(order, minlength=len(labels))
    drawn = [int(times[labels == label].sum()) for label, count in enumerate(counts) if count]
    assert max(drawn) - min(drawn) <= 1
    for label, count in enumerate(counts):
        if count:
            own = times[labels == label]
            assert own.max() - own.min() <= 1


def source(**changes):
    labels = torch.tensor([0] * 36 + [1] * 4)
    images = torch.arange(40, dtype=torch.uint8)[:, None, None, None].expand(-1, 1, 8, 8).contiguous()
    settings = {"batch_size": 8, "mean": (0.0,), "std": (1 / 255,), "seed": 3, "name": "training"}
    return BatchSource(
        images, labels, torch.arange(40), BatchSettings(**settings | {"balance": True} | changes)
    )


def epoch(batches, number):
    batches.begin_epoch(number, 5)
    images, labels = batches.buffers()
    seen = []
    for _ in range(5):
        batches.fill(images, labels)
        seen.append((images[:, 0, 0, 0].round().int().tolist(), labels.tolist()))
    return seen


def test_a_balanced_source_draws_rare_classes_as_often():
    for number in range(3):
        labels = [label for _, batch in epoch(source(), number) for label in batch]
        assert (labels.count(0), labels.count(1)) == (20, 20)


def test_a_balanced_order_follows_from_the_seed_and_the_epoch():
    assert epoch(source(), 1) == epoch(source(), 1)
    assert epoch(source(), 1) != epoch(source(), 2)
    assert epoch(source(), 1) != epoch(source(seed=4), 1)


def test_labels_stay_with_their_images():
    for images, labels in epoch(source(), 0):
        assert [int(image >= 36) for image in images] == labels


def test_a_balanced_source_continues_where_it_stood():
    first = source()
    whole = epoch(first, 2)
    second, third = source(), source()
    second.begin_epoch(2, 5)
    images, labels = second.buffers()
    second.fill(images, labels)
    third.load_state_dict(second.state_dict())
    third.fill(images, labels)
    assert (images[:, 0, 0, 0].round().int().tolist(), labels.tolist()) == whole[1]


def test_without_balance_every_image_still_comes_once():
    seen = [image for images, _ in epoch(source(balance=False), 0) for image in images]
    assert sorted(seen) == list(range(40))
