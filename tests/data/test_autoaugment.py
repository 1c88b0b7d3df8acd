"""AutoAugment: the tables are torchvision's, draws are fair, and all ways of applying them agree."""

import pytest
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torchvision.transforms import v2

from xnas.data import AutoAugmentTrain
from xnas.data.autoaugment import apply_draws, choices_of, draw, rows_of
from xnas.data.magnitudes import ORIGINAL, TORCHVISION
from xnas.data.operations import OPERATIONS
from xnas.data.policies import NAMES, POLICIES, magnitude

WAYS = ["plain", "grouped", "merged"]


def images_of(count, channels=3, height=32, width=32):
    return torch.randint(256, (count, channels, height, width), dtype=torch.uint8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("channels", "size"), [(3, (32, 32)), (1, (28, 28)), (3, (16, 23))])
def test_all_ways_of_applying_the_same_draws_agree(name, channels, size):
    torch.manual_seed(5)
    images = images_of(80, channels, *size)
    choices = AutoAugmentTrain(name).choices(images)
    draws = draw(choices, len(images), torch.Generator().manual_seed(1))
    plain, grouped, merged = (apply_draws(images, choices, draws, way=way) for way in WAYS)
    assert torch.equal(grouped, merged)
    # Geometric operations may differ in a thousandth; contrast at odd sizes in an image's last numbers.
    assert (plain != grouped).float().mean() <= 0.001
    changed = (plain != images).flatten(1).any(1).float().mean()
    assert changed > 0.5  # most pairs are applied, at least in part


def test_one_image_at_a_time_is_what_torchvision_does_with_the_same_draws(monkeypatch):
    images = images_of(60)
    choices = AutoAugmentTrain("cifar10").choices(images)
    draws = draw(choices, len(images), torch.Generator().manual_seed(2))
    plain = apply_draws(images, choices, draws, way="plain")
    transform = v2.AutoAugment(v2.AutoAugmentPolicy.CIFAR10)
    for i, image in enumerate(images):
        coins = iter(scripted(draws, i))
        monkeypatch.setattr(torch, "rand", lambda *_, coins=coins: next(coins))
        monkeypatch.setattr(torch, "randint", lambda *_, i=i: draws.pair[i])
        assert torch.equal(transform(image), plain[i])


def scripted(draws, i):
    """What torchvision must draw to do what was drawn for image i: a chance, and a sign if it asks."""
    pair = POLICIES["cifar10"][int(draws.pair[i])]
    for (name, _, _), applied, negative in zip(
        pair, draws.applied[:, i].tolist(), draws.negative[:, i].tolist(), strict=True
    ):
        yield torch.tensor(-1.0 if applied else 2.0)
        if applied and name in TORCHVISION.signed:
            yield torch.tensor(0.0 if negative else 1.0)


def test_draws_have_the_probabilities_of_the_policy():
    count = 100_000
    choices = choices_of(POLICIES["cifar10"], (32, 32), torch.device("cpu"))
    draws = draw(choices, count, torch.Generator().manual_seed(0))
    pairs = torch.bincount(draws.pair, minlength=25) / count
    assert (pairs - 1 / 25).abs().max() < 5 * (0.04 * 0.96 / count) ** 0.5  # five deviations
    for step in (0, 1):
        for pair, (_, probability, _) in enumerate(p[step] for p in POLICIES["cifar10"]):
            share = draws.applied[step, draws.pair == pair].float().mean()
            assert abs(float(share) - probability) <= 5 * 0.5 / (count / 26) ** 0.5
    assert abs(float(draws.negative.float().mean()) - 0.5) < 5 * 0.5 / (2 * count) ** 0.5


@pytest.mark.parametrize("scale", [TORCHVISION, ORIGINAL])
def test_a_row_stands_for_its_operation_with_its_sign(scale):
    choices = choices_of(POLICIES["svhn"], (32, 32), torch.device("cpu"), scale)
    names = list(OPERATIONS)
    draws = draw(choices, 300, torch.Generator().manual_seed(3))
    for step, rows in enumerate(rows_of(draws)):
        for i, row in enumerate(rows.tolist()):
            entry = POLICIES["svhn"][int(draws.pair[i])][step]
            if not draws.applied[step, i]:
                assert row == 0
                continue
            flipped = entry[0] in scale.signed and bool(draws.negative[step, i])
            expected = magnitude(entry, (32, 32), scale) * (-1 if flipped else 1)
            assert names[choices.operations[row]] == entry[0]
            assert float(choices.magnitudes[row]) == expected


@pytest.mark.parametrize("channels", [1, 3])
def test_drawing_and_the_merged_way_read_nothing_on_the_host(channels):
    choices = AutoAugmentTrain().choices(images_of(4, channels))
    # Tensors that have shapes but no values: a read on the host raises.
    with FakeTensorMode(allow_non_fake_inputs=True):
        images = torch.empty(4, channels, 32, 32, dtype=torch.uint8)
        draws = draw(choices, 4, torch.Generator())
        result = apply_draws(images, choices, draws, way="merged")
        with pytest.raises(DataDependentOutputException):
            apply_draws(images, choices, draws, way="grouped")
    assert (result.shape, result.dtype) == (images.shape, torch.uint8)
