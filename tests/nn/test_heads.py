"""Stems, auxiliary towers and the block between stages: sizes and counts that follow from arithmetic."""

import pytest
import torch

from xnas.errors import ConfigError
from xnas.nn.heads import AuxiliaryTower, CifarStem, ImagenetStem


def count(module):
    return sum(p.numel() for p in module.parameters())


def test_the_cifar_stem_gives_one_map_twice():
    older, newer = CifarStem(3, 12)(torch.randn(2, 3, 9, 7))
    assert older is newer
    assert newer.shape == (2, 12, 9, 7)


def test_the_imagenet_stem_gives_a_quarter_and_an_eighth():
    older, newer = ImagenetStem(3, 8)(torch.randn(2, 3, 64, 65))
    assert older.shape == (2, 8, 16, 17)
    assert newer.shape == (2, 8, 8, 9)
    with pytest.raises(ConfigError, match="got stem_channels 7; use an even number"):
        ImagenetStem(3, 7)


@pytest.mark.parametrize(("channels", "extra"), [(576, 476_426), (704, 492_810), (800, 505_098)])
def test_towers_add_the_known_parameters(channels, extra):
    """At 36, 44 and 50 channels; the map after the last reduction has sixteen times as many."""
    assert count(AuxiliaryTower.for_cifar(channels, 10)) == extra


def test_the_imagenet_tower_has_no_last_batch_norm():
    whole, less = AuxiliaryTower.for_cifar(32, 10), AuxiliaryTower.for_imagenet(32, 10)
    assert count(whole) - count(less) == 2 * 768


@pytest.mark.parametrize("size", [1, 2, 7, 8, 13])
def test_towers_classify_maps_of_any_size(size):
    for make in (AuxiliaryTower.for_cifar, AuxiliaryTower.for_imagenet):
        assert make(4, 5).eval()(torch.randn(2, 4, size, size)).shape == (2, 5)
