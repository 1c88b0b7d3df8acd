"""Checks of a saved state: settings, formats, devices, shapes."""

import json

import pytest
import torch

from xnas import ConfigError
from xnas.engine.restore import fitting, require_device, require_format, require_settings
from xnas.errors import DamagedFileError, DeviceError, VersionError

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("size", "device", "way"),
    [
        (16, "cpu", "saved on the device cuda, and this is cpu.*; resume it on a GPU"),
        (5056, "cuda", "saved on the device cpu, and this is cuda.*; resume it with --device cpu"),
    ],
)
def test_a_generator_of_another_kind_of_device_is_refused_with_a_remedy(size, device, way):
    with pytest.raises(DeviceError, match=way):
        require_device(torch.zeros(size, dtype=torch.uint8), torch.device(device))


def test_a_generator_of_the_same_kind_of_device_is_taken():
    require_device(torch.Generator().get_state(), CPU)
    require_device(torch.zeros(16, dtype=torch.uint8), torch.device("cuda", 1))


def test_other_settings_are_named():
    own = {"seed": 0, "epochs": 3, "images": "0" * 50, "added_since": 1}
    require_settings({"settings": json.dumps({"seed": 0, "epochs": 3})}, own)
    other = {"settings": json.dumps({"seed": 7, "epochs": 3, "images": "1" * 50})}
    with pytest.raises(ConfigError, match=r"other settings \(seed 7, not 0; images\)"):
        require_settings(other, own)
    with pytest.raises(ConfigError, match=r"other settings \(gone, which is missing now\)"):
        require_settings({"settings": json.dumps({"seed": 0, "gone": 2})}, own)


@pytest.mark.parametrize("value", [None, "[", "[1]", torch.zeros(2), "[" * 10**5])
def test_settings_that_were_forged_are_damage(value):
    with pytest.raises(ConfigError, match="the checkpoint is damaged"):
        require_settings({"settings": value}, {"seed": 0})


def test_a_state_without_settings_is_damaged():
    with pytest.raises(DamagedFileError, match=r"damaged \(KeyError in its settings"):
        require_settings({}, {"seed": 0})


def test_another_format_is_no_checkpoint_of_this_run():
    with pytest.raises(ConfigError, match="not a checkpoint of a search: its format is 'other'"):
        require_format({"format": "other", "version": 2}, ("ours", (2,)), "search")
    with pytest.raises(VersionError, match="has format version 3, this xnas reads 2; resume it with"):
        require_format({"format": "ours", "version": 3}, ("ours", (2,)), "search")
    require_format({"format": "ours", "version": 2}, ("ours", (2,)), "search")


def test_errors_of_restoring_become_one_line():
    words = r"does not fit this search \(KeyError: 'epoch'\); it is damaged"
    with pytest.raises(DamagedFileError, match=words), fitting("search"):
        raise KeyError("epoch")
    with pytest.raises(DeviceError, match=r"^another$"), fitting("search"):
        raise DeviceError("another")
