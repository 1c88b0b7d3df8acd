"""A trained run on the digits, its classifier, and pictures of digits."""

import shutil
from pathlib import Path

import pytest
from PIL import Image
from trained import saved_run

import xnas
from xnas.data import load_data


@pytest.fixture(scope="module")
def digits():
    return load_data("digits")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    saved_run(folder)
    return folder


@pytest.fixture(scope="module")
def classifier(run):
    return xnas.load(run, device="cpu")


@pytest.fixture
def pictures(tmp_path, digits):
    """Some digits as files, and as bytes (n, 1, 8, 8)."""
    images = digits.test_images[:3]
    for index, image in enumerate(images):
        Image.fromarray(image[0].numpy()).save(tmp_path / f"{index}.png")
    return [tmp_path / f"{index}.png" for index in range(3)], images


@pytest.fixture
def copied(run, tmp_path):
    return Path(shutil.copytree(run, tmp_path / "copy"))
