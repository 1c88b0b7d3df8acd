"""Batches follow from (seed, name, epoch), resume to the bit, and never wait for the host."""

import pytest
import torch
from batches_drawn import assert_equal, labels_of, play
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from xnas.data import (
    AutoAugmentTrain,
    BatchSettings,
    BatchSource,
    Chain,
    Crop,
    Flip,
    RandomResizedCrop,
    halves,
    rounds,
    standardize,
)
from xnas.errors import ConfigError

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)
AUGMENT = Chain((Crop(1), Flip()))


def source(count=50, indices=None, **changes):
    """A source whose label is the index of the image."""
    torch.manual_seed(7)
    images = torch.randint(256, (count, 3, 8, 8), dtype=torch.uint8)
    settings = {"batch_size": 8, "mean": MEAN, "std": STD, "seed": 3, "name": "training"}
    chosen = torch.arange(count) if indices is None else indices
    return BatchSource(images, torch.arange(count), chosen, BatchSettings(**{**settings, **changes}))


def test_a_batch_is_standardised_images_with_their_labels():
    batches = source()
    batches.begin_epoch(0, 6)
    for images, labels in play(batches, 6):
        assert (images.dtype, labels.dtype) == (torch.float32, torch.int64)
        assert torch.equal(images, standardize(batches.images[labels], MEAN, STD))


def test_buffers_stay_where_they_are():
    batches = source(augment=AUGMENT)
    batches.begin_epoch(0, 6)
    images, labels = batches.buffers()
    places = images.data_ptr(), labels.data_ptr(), batches.order.data_ptr(), batches.position.data_ptr()
    batches.fill(images, labels)
    batches.begin_epoch(1, 6)
    assert places == (
        images.data_ptr(),
        labels.data_ptr(),
        batches.order.data_ptr(),
        batches.position.data_ptr(),
    )


def test_augmentation_gets_raw_bytes_and_the_sources_generator():
    seen = []

    def remember(images, generator):
        seen.append((images.dtype, generator))
        return 255 - images

    batches = source(augment=remember)
    batches.begin_epoch(0, 1)
    ((images, labels),) = play(batches, 1)
    assert seen == [(torch.uint8, batches.generator)]
    assert torch.equal(images, standardize(255 - batches.images[labels], MEAN, STD))


def test_only_the_sources_own_images_are_seen():
    own = torch.arange(0, 50, 2)
    batches = source(indices=own)
    batches.begin_epoch(0, 3)
    seen = [label for labels in labels_of(play(batches, 3)) for label in labels]
    assert set(seen) < set(own.tolist())
    assert len(set(seen)) == 24


def test_every_image_comes_once_before_any_comes_again():
    batches = source(count=20)
    batches.begin_epoch(0, 7)  # 56 of 20: twice round and 16 more
    seen = [label for labels in labels_of(play(batches, 7)) for label in labels]
    for start in (0, 20):
        assert sorted(seen[start : start + 20]) == list(range(20))
    assert len(set(seen[40:])) == 16
    assert seen[:20] != seen[20:40]


def test_order_follows_from_seed_name_and_epoch():
    def order(epoch=0, **changes):
        batches = source(**changes)
        batches.begin_epoch(epoch, 6)
        return tuple(batches.order.flatten().tolist())

    assert order() == order()
    assert len({order(), order(epoch=1), order(seed=4), order(name="validation")}) == 4


def test_an_epoch_does_not_depend_on_those_before_it():
    fresh, used = source(augment=AUGMENT), source(augment=AUGMENT)
    used.begin_epoch(0, 5)
    play(used, 3)
    for batches in (fresh, used):
        batches.begin_epoch(1, 6)
    assert_equal(play(fresh, 6), play(used, 6))


def test_augmentation_does_not_move_the_order():
    plain, augmented = source(), source(augment=AUGMENT)
    for batches in (plain, augmented):
        batches.begin_epoch(0, 6)
    assert labels_of(play(plain, 6)) == labels_of(play(augmented, 6))


def test_augmentation_follows_from_seed_name_and_epoch():
    def draws(epoch=0, **changes):
        batches = source(**changes)
        batches.begin_epoch(epoch, 1)
        return tuple(torch.rand(4, generator=batches.generator).tolist())

    assert draws() == draws()
    assert len({draws(), draws(epoch=1), draws(seed=4), draws(name="validation")}) == 4


@pytest.mark.parametrize("augment", [None, AUGMENT, Chain((Crop(1), AutoAugmentTrain()))], ids=repr)
@pytest.mark.parametrize("played", [0, 3, 6])
def test_a_source_resumed_in_mid_epoch_continues_bit_for_bit(augment, played, tmp_path):
    whole = source(augment=augment)
    whole.begin_epoch(2, 6)
    play(whole, played)
    torch.save(whole.state_dict(), tmp_path / "state.pt")
    rest = play(whole, 6 - played)
    whole.begin_epoch(3, 6)
    rest += play(whole, 6)

    resumed = source(augment=augment)
    resumed.load_state_dict(torch.load(tmp_path / "state.pt"))
    again = play(resumed, 6 - played)
    with pytest.raises(ConfigError, match="no batch left after 6 of 6 rounds"):
        play(resumed, 1)
    resumed.begin_epoch(3, 6)
    assert_equal(rest, again + play(resumed, 6))


def test_a_state_from_before_the_first_epoch_resumes_to_before_the_first_epoch():
    batches = source()
    state = batches.state_dict()
    batches.begin_epoch(0, 6)
    batches.load_state_dict(state)
    assert batches.epoch is None
    with pytest.raises(ConfigError, match="call begin_epoch"):
        batches.fill(*batches.buffers())


def test_a_state_of_another_kind_of_device_keeps_the_order():
    batches, other = source(augment=AUGMENT), source(augment=AUGMENT)
    batches.begin_epoch(0, 6)
    play(batches, 2)
    foreign = {**batches.state_dict(), "device": "cuda", "generator": torch.zeros(16, dtype=torch.uint8)}
    other.load_state_dict(foreign)
    assert labels_of(play(other, 4)) == labels_of(play(batches, 4))


@pytest.mark.parametrize("key", ["examples", "batch_size"])
def test_a_state_of_other_data_or_settings_is_refused(key):
    state = {**source().state_dict(), key: 9}
    with pytest.raises(ConfigError, match=f"{key} of the training half was 9 .* and is (50|8) now"):
        source().load_state_dict(state)


def test_an_evaluation_sees_every_image_once_in_batches_of_nearly_one_size():
    batches = source(count=50, indices=torch.arange(10, 43), augment=AUGMENT)
    filled = list(batches.whole())
    assert [len(labels) for _, labels in filled] == [7, 7, 7, 6, 6]  # 33 images in 8s would end with 1
    assert sorted(label for labels in labels_of(filled) for label in labels) == list(range(10, 43))
    for images, labels in filled:
        assert torch.equal(images, standardize(batches.images[labels], MEAN, STD))


def test_a_limited_evaluation_sees_the_same_mixed_images_each_time_and_moves_nothing():
    batches = source(augment=AUGMENT)
    batches.begin_epoch(0, 6)
    before = batches.state_dict()
    seen = [labels_of(batches.whole(limit=3)) for _ in range(2)]
    assert seen[0] == seen[1]
    flat = [label for labels in seen[0] for label in labels]
    assert len(set(flat)) == 24
    assert max(flat) > 30  # mixed: folders are sorted by class, and the first 24 would be of one
    after = batches.state_dict()
    assert torch.equal(before.pop("generator"), after.pop("generator"))
    assert before == after
    assert labels_of(batches.whole(limit=10**6)) == labels_of(batches.whole())


def test_an_evaluation_may_begin_later_in_a_ring_of_the_same_images():
    batches = source(count=48)
    (all_of_them,) = [[label for labels in labels_of(batches.whole()) for label in labels]]
    turned = [label for labels in labels_of(batches.whole(skip=2)) for label in labels]
    assert turned == all_of_them[16:] + all_of_them[:16]
    second, third = labels_of(batches.whole(limit=1, skip=1)), labels_of(batches.whole(limit=1, skip=2))
    assert second + third == labels_of(batches.whole(limit=2, skip=1))
    assert labels_of(batches.whole(limit=1, skip=6)) == labels_of(batches.whole(limit=1))


def test_a_small_test_part_is_evaluated_in_one_short_batch():
    ((images, _),) = source(count=5, batch_size=96).whole()
    assert len(images) == 5


def test_rounds_are_whole_batches():
    assert rounds(25_000, 96) == 260  # the paper's CIFAR-10 half
    assert [rounds(examples, 8) for examples in (8, 15, 16)] == [1, 1, 2]


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (
            lambda: rounds(40, 96),
            "batch of 96 but only 40 images in the validation half; use a --batch-size of 32 or less",
        ),
        (lambda: rounds(0, 1), "batch of 1 but only 0 images in the validation half"),
        (lambda: rounds(40, 0), "batch_size must be at least 1, got 0"),
        (
            lambda: source(count=40, batch_size=64).begin_epoch(0, 1),
            "batch of 64 but only 40 images in the training half; use a --batch-size of 32 or less",
        ),
        (lambda: source(batch_size=0), "need at least 1 image, got 0 and 50"),
        (
            lambda: source(indices=torch.arange(0)),
            "the training half need at least 1 image, got 8 and 0",
        ),
        (lambda: source().begin_epoch(0, 0), "an epoch needs at least 1 round, got 0"),
        (lambda: next(source().whole(limit=0)), "limit must be at least 1 batch, got 0; None takes all"),
    ],
)
def test_batches_that_cannot_be_made_are_refused(use, words):
    with pytest.raises(ConfigError, match=words):
        use()


def test_more_batches_than_the_epoch_has_are_refused():
    batches = source()
    with pytest.raises(ConfigError, match="training half has no batch left after 0 of 0 rounds"):
        play(batches, 1)
    batches.begin_epoch(0, 2)
    with pytest.raises(ConfigError, match="no batch left after 2 of 2 rounds; call begin_epoch"):
        play(batches, 3)
    batches.begin_epoch(1, 2)
    play(batches, 2)


def test_buffers_of_another_shape_are_refused():
    batches = source()
    batches.begin_epoch(0, 2)
    with pytest.raises(ConfigError, match=r"must be \(8, 3, 8, 8\) and \(8,\), got \(8, 1, 8, 8\)"):
        batches.fill(torch.empty(8, 1, 8, 8), torch.empty(8, dtype=torch.int64))


def test_batches_may_be_of_another_size_than_the_images():
    crops = source(augment=RandomResizedCrop((5, 6)), size=(5, 6))
    middles = source(size=(5, 6))
    for batches in (crops, middles):
        batches.begin_epoch(0, 6)
        assert batches.buffers()[0].shape == (8, 3, 5, 6)
    (images, labels), *_ = play(crops, 2)
    drawn = torch.Generator().manual_seed(0)
    drawn.set_state(_at_the_start(crops).generator.get_state())
    expected = RandomResizedCrop((5, 6))(crops.images[labels], drawn)
    assert torch.equal(images, standardize(expected, MEAN, STD))
    for images, labels in (*play(middles, 2), *crops.whole()):
        assert torch.equal(images, standardize(crops.images[labels][..., 2:7, 1:7], MEAN, STD))


def _at_the_start(batches):
    batches.begin_epoch(0, 6)
    return batches


def test_a_middle_that_is_larger_than_the_images_is_named():
    with pytest.raises(ConfigError, match="9 x 9 pixels cannot be cut out of images of 8 x 8; enlarge"):
        next(source(size=(9, 9)).whole())


def fill_without_values(augment, size=None):
    """Fill a batch from tensors that have shapes but no values: a read on the host raises."""
    with FakeTensorMode():
        batches = source(augment=augment, size=size)
        batches.begin_epoch(0, 6)
        batches.fill(*batches.buffers())
        return batches.position


@pytest.mark.parametrize("augment", [None, AUGMENT, RandomResizedCrop((6, 6))], ids=repr)
def test_filling_reads_nothing_on_the_host(augment):
    fill_without_values(augment, size=(6, 6))


def test_the_stand_in_notices_a_read_on_the_host():
    with pytest.raises(DataDependentOutputException):
        fill_without_values(AutoAugmentTrain())
    with pytest.raises(DataDependentOutputException):
        fill_without_values(lambda images, _: images[: int(images.max())])


def test_the_halves_of_a_search_share_no_image():
    labels = torch.arange(50) % 5
    train, valid = halves(labels, seed=0)
    seen = []
    for name, indices in (("training", train), ("validation", valid)):
        batches = source(indices=indices, name=name, batch_size=5)
        batches.begin_epoch(0, 5)
        seen.append({label for labels in labels_of(play(batches, 5)) for label in labels})
    assert len(seen[0]) == len(seen[1]) == 25
    assert not seen[0] & seen[1]
