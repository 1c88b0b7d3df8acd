"""Augmentation equals slow code that treats image by image with the same draws."""

import pytest
import torch
from torchvision.transforms import v2

from xnas.data import (
    AutoAugmentTrain,
    BatchSettings,
    BatchSource,
    Chain,
    Crop,
    Cutout,
    Flip,
    ImageData,
    RandomResizedCrop,
    augmentation_for,
    standardize,
    training_augmentation,
)
from xnas.errors import ConfigError


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def batch(count=40, channels=3, height=8, width=12, dtype=torch.uint8):
    images = torch.randint(256, (count, channels, height, width), dtype=torch.uint8)
    return images.to(dtype)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize(
    ("channels", "height", "width", "padding"), [(3, 8, 12, 2), (1, 9, 8, 1), (3, 8, 8, 5)]
)
def test_a_crop_is_a_slice_of_the_padded_image(channels, height, width, padding, dtype):
    images = batch(40, channels, height, width, dtype)
    cropped = Crop(padding)(images, seeded())
    tops, lefts = torch.randint(2 * padding + 1, (2, 40, 1), generator=seeded()).flatten(1).tolist()
    for image, result, top, left in zip(images, cropped, tops, lefts, strict=True):
        padded = torch.zeros(channels, height + 2 * padding, width + 2 * padding, dtype=dtype)
        padded[:, padding : padding + height, padding : padding + width] = image
        assert torch.equal(result, padded[:, top : top + height, left : left + width])
    assert cropped.dtype == dtype


def test_a_crop_moves_images_to_every_place_it_can():
    image = torch.zeros(1, 1, 8, 8, dtype=torch.uint8)
    image[..., 4, 4] = 1
    cropped = Crop(1)(image.expand(300, -1, -1, -1), seeded())
    places = {tuple(place) for place in cropped.nonzero()[:, 2:].tolist()}
    assert places == {(row, column) for row in (3, 4, 5) for column in (3, 4, 5)}


def test_a_flip_mirrors_every_other_image_and_leaves_the_rest():
    images = batch(400)
    flipped = Flip()(images, seeded())
    mirrored = 0
    for image, result in zip(images, flipped, strict=True):
        if torch.equal(result, image.flip(-1)):
            mirrored += 1
        else:
            assert torch.equal(result, image)
    assert 150 < mirrored < 250  # five standard deviations of a fair coin
    assert flipped.dtype == torch.uint8


@pytest.mark.parametrize("augment", [Crop(2), Flip(), Cutout(4), AutoAugmentTrain()], ids=repr)
def test_augmentation_follows_from_its_generator_and_moves_no_other(augment):
    images = batch()
    torch.manual_seed(1)
    first = augment(images, seeded(3))
    torch.manual_seed(2)
    before = torch.get_rng_state()
    assert torch.equal(augment(images, seeded(3)), first)
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(augment(images, seeded(4)), first)
    generator = seeded(3)
    augment(images, generator)
    assert not torch.equal(augment(images, generator), first)  # the next batch differs


def test_auto_augment_draws_for_each_image():
    images = batch(1, 3, 32, 32).expand(24, -1, -1, -1)
    augmented = AutoAugmentTrain("cifar10")(images, seeded())
    assert (augmented.dtype, augmented.shape) == (torch.uint8, images.shape)
    assert len({result.numpy().tobytes() for result in augmented}) > 6  # some draws change nothing


def test_auto_augment_takes_grey_images():
    assert AutoAugmentTrain()(batch(20, 1, 8, 8), seeded()).shape == (20, 1, 8, 8)


@pytest.mark.parametrize(("height", "width", "side"), [(32, 32, 16), (9, 14, 5), (8, 8, 20), (7, 7, 1)])
def test_cutout_erases_a_square_around_a_pixel_cut_off_at_the_border(height, width, side):
    images = torch.rand(60, 3, height, width) + 1
    results = Cutout(side)(images, seeded())
    generator = seeded()
    rows, columns = (
        torch.randint(most, (60, 1), generator=generator).flatten().tolist() for most in (height, width)
    )
    for image, result, row, column in zip(images, results, rows, columns, strict=True):
        top, left = row - side // 2, column - side // 2
        bottom, right = min(top + side, height), min(left + side, width)
        top, left = max(top, 0), max(left, 0)
        erased = v2.functional.erase(image, top, left, bottom - top, right - left, torch.zeros(1))
        assert torch.equal(result, erased)


def test_cutout_of_16_on_32_leaves_a_mean_side_of_14_and_a_mean_area_of_196():
    # Arithmetic: sides 8..15, 16 seventeen times, 15..9 for centres 0..31; and 14 squared.
    sides = [min(at + 8, 32) - max(at - 8, 0) for at in range(32)]
    assert (sum(sides), sum(sides) / 32) == (448, 14)
    count = 20_000
    holes = Cutout(16)(torch.ones(count, 1, 32, 32), seeded()) == 0
    tall, wide = (holes.any(axis).sum(-1).flatten().double() for axis in (3, 2))
    assert set(tall.tolist()) == set(map(float, sides))
    for side in (tall, wide):
        assert abs(float(side.mean()) - 14) < 5 * float(side.std()) / count**0.5
    area = holes.sum((1, 2, 3)).double()
    assert abs(float(area.mean()) - 196) < 5 * float(area.std()) / count**0.5


def test_in_a_training_the_hole_has_the_mean_colour_whatever_was_done_before():
    data = dataset(32, flip=True)
    augment, cutout = training_augmentation(data, autoaugment="cifar10", cutout=16)
    source = BatchSource(
        data.images,
        data.labels,
        torch.arange(6),
        BatchSettings(
            batch_size=6,
            mean=data.mean,
            std=data.std,
            seed=0,
            name="training",
            augment=augment,
            finish=cutout,
        ),
    )
    source.begin_epoch(0, 1)
    images, _ = buffers = source.buffers()
    source.fill(*buffers)
    assert ((images == 0).all(1).sum((1, 2)) >= 8 * 8).all()  # a quarter of the square at least
    source.begin_epoch(0, 1)
    order, generator = source.order[0], source.generator
    expected = standardize(augment(data.images[order], generator), data.mean, data.std)
    assert torch.equal(images, Cutout(16)(expected, generator))


def test_cutout_is_only_there_when_asked_for():
    data = dataset(32, flip=True)
    assert training_augmentation(data) == (Chain((Crop(4), Flip())), None)
    assert training_augmentation(data, cutout=8)[1] == Cutout(8)


def test_resized_crops_take_the_place_of_padding():
    """The order of ImageNet's training (Sec. 9.3): resized crop, flip, AutoAugment, standardise."""
    found, hole = training_augmentation(
        dataset(32, flip=True), autoaugment="imagenet", resized_crop=(28, 28)
    )
    crop, flip, policy = found.steps
    assert (crop, flip, hole) == (RandomResizedCrop((28, 28), scale=(0.08, 1.0)), Flip(), None)
    assert isinstance(policy, AutoAugmentTrain)
    still, _ = training_augmentation(dataset(32, flip=False), resized_crop=(28, 28))
    assert still == Chain((RandomResizedCrop((28, 28)),))


def test_standardized_bytes_equal_those_of_torchvision():
    images, mean, std = batch(), (0.4, 0.5, 0.6), (0.2, 0.3, 0.4)
    expected = v2.functional.normalize(
        v2.functional.to_dtype(images, torch.float32, scale=True), mean, std
    )
    assert torch.equal(standardize(images, mean, std), expected)
    assert torch.equal(standardize(images, torch.tensor(mean), torch.tensor(std)), expected)
    assert torch.equal(
        standardize(images * (1 / 255), mean, std), expected
    )  # floats are in 0..1 already


def test_a_dataset_standardized_by_its_own_statistics_has_mean_0_and_deviation_1():
    data = dataset(size=8, flip=True)
    pixels = standardize(data.images, data.mean, data.std).double().movedim(1, 0).flatten(1)
    assert pixels.mean(1).abs().max() < 1e-5  # single precision
    assert (pixels.std(1, correction=0) - 1).abs().max() < 1e-5


def dataset(size, flip):
    images = torch.randint(256, (6, 3, size, size), dtype=torch.uint8)
    return ImageData(name="x", images=images, labels=torch.arange(6) % 2, classes=("a", "b"), flip=flip)


@pytest.mark.parametrize(("size", "padding"), [(8, 1), (15, 1), (32, 4), (64, 8)])
def test_padding_is_an_eighth_of_the_side(size, padding):
    assert augmentation_for(dataset(size, flip=True)).steps == (Crop(padding), Flip())


def test_images_that_must_not_be_mirrored_are_only_cropped():
    assert augmentation_for(dataset(8, flip=False)).steps == (Crop(1),)


def test_auto_augment_comes_after_crop_and_flip_and_only_when_asked_for():
    *before, last = augmentation_for(dataset(32, flip=True), autoaugment="svhn").steps
    assert before == [Crop(4), Flip()]
    assert repr(last) == "AutoAugmentTrain('svhn')"


def test_a_chain_applies_its_steps_in_order_with_one_generator():
    images, generator = batch(), seeded()
    expected = Flip()(Crop(2)(images, generator), generator)
    assert torch.equal(Chain((Crop(2), Flip()))(images, seeded()), expected)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: Crop(0), "padding must be at least 1 pixel, got 0; leave the crop out"),
        (lambda: Cutout(0), "cutout must be at least 1 pixel, got 0; leave it out"),
        (lambda: AutoAugmentTrain("mnist"), "no AutoAugment policy called 'mnist'; there are: cifar10"),
        (
            lambda: AutoAugmentTrain()(batch(dtype=torch.float32), seeded()),
            "AutoAugment takes uint8 images, got torch.float32; standardize after it",
        ),
    ],
)
def test_bad_augmentations_are_refused(use, words):
    with pytest.raises(ConfigError, match=words):
        use()
