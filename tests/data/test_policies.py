"""AutoAugment's policies are torchvision's, entry by entry."""

import pytest
import torch
from torchvision.transforms import v2

from xnas.data import AutoAugmentTrain
from xnas.data.magnitudes import TORCHVISION
from xnas.data.operations import NUMBERS, OPERATIONS
from xnas.data.policies import NAMES, POLICIES, magnitude, policy_named
from xnas.errors import ConfigError


@pytest.mark.parametrize("name", POLICIES)
def test_policies_equal_those_of_torchvision_entry_by_entry(name):
    theirs = v2.AutoAugment(v2.AutoAugmentPolicy(name))._policies
    assert len(POLICIES[name]) == len(theirs) == 25
    for pair, their_pair in zip(POLICIES[name], theirs, strict=True):
        for entry, their_entry in zip(pair, their_pair, strict=True):
            assert entry == their_entry


@pytest.mark.parametrize("size", [(32, 32), (28, 41), (224, 224)])
def test_magnitudes_and_signs_equal_those_of_torchvision(size):
    space = v2.AutoAugment._AUGMENTATION_SPACE
    assert set(space) == set(OPERATIONS) - {"Identity"}
    for name, (magnitudes, signed) in space.items():
        theirs = magnitudes(10, *size)
        assert signed == (name in TORCHVISION.signed)
        if theirs is None:
            assert magnitude((name, 1.0, None), size) == 0
        else:
            ours = [magnitude((name, 1.0, chosen), size) for chosen in range(10)]
            assert ours == [float(value) for value in theirs]


@pytest.mark.parametrize("name", NAMES)
def test_on_grey_images_color_becomes_the_identity_and_the_rest_stays(name):
    for pair, grey in zip(policy_named(name, channels=3), policy_named(name, channels=1), strict=True):
        for entry, edited in zip(pair, grey, strict=True):
            assert edited == (("Identity", entry[1], None) if entry[0] == "Color" else entry)
    choices = AutoAugmentTrain(name).choices(torch.zeros(1, 1, 32, 32, dtype=torch.uint8))
    assert NUMBERS["Color"] not in choices.operations.tolist()


def test_images_of_other_channels_are_refused():
    with pytest.raises(ConfigError, match="AutoAugment takes images of 1 or 3 channels, got 4; leave"):
        AutoAugmentTrain()(torch.zeros(2, 4, 32, 32, dtype=torch.uint8), torch.Generator())
