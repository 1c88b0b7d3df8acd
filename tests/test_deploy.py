"""examples/deploy_onnx.py answers as `xnas predict` does, for every rule that prepares images."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from trained import edited, saved_run

import xnas
from xnas.runs.export import export_run
from xnas.runs.model_options import ExportConfig

SCRIPT = Path(__file__).parents[1] / "examples" / "deploy_onnx.py"
NAMES = ("cat", "dog", "frog")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def photo(tmp_path_factory):
    """A picture that is wider than it is high, without sharp edges: resampling differs little on it."""
    across, down = np.meshgrid(np.linspace(0, 3, 60), np.linspace(0, 2, 40))
    pixels = np.stack([np.sin(across), np.cos(down), np.sin(across + down)], -1)
    path = tmp_path_factory.mktemp("photo") / "photo.png"
    Image.fromarray((127.5 * (pixels + 1)).astype(np.uint8)).save(path)
    return path


def images(channels):
    drawn = torch.randint(0, 256, (12, channels, 16, 16), dtype=torch.uint8)
    return xnas.ImageData(name="mine", images=drawn, labels=torch.arange(12) % 3, classes=NAMES)


@pytest.mark.parametrize(
    ("channels", "changes"),
    [
        (3, {"resize": "crop"}),
        (3, {"resize": "pad"}),
        (1, {"resize": "stretch"}),
        (3, {"resize": "crop", "size": [20, 20], "centre": [16, 16]}),
    ],
)
def test_the_script_answers_as_xnas_does(channels, changes, photo, tmp_path):
    saved_run(tmp_path, images(channels), config=False)
    edited(tmp_path, **changes)
    export_run(tmp_path, ExportConfig(torch_export=False, quiet=True))
    command = [sys.executable, SCRIPT, tmp_path / "model.onnx", photo]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer, percent = re.fullmatch(r".*photo\.png: (\w+), ([\d.]+) %\n", done.stdout).groups()
    (expected,) = xnas.load(tmp_path, "cpu").predict(photo)
    assert answer == expected.label
    assert float(percent) == pytest.approx(100 * expected.probability, abs=1)
