"""The wheel works outside the source tree."""

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_wheel_installs_and_runs_elsewhere(tmp_path):
    source = tmp_path / "source"
    shutil.copytree(
        ROOT, source, ignore=shutil.ignore_patterns(".*", "reproduction", "build", "dist", "__pycache__")
    )
    subprocess.run([sys.executable, "-m", "build", "--outdir", tmp_path / "dist", source], check=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert list((tmp_path / "dist").glob("*.tar.gz"))

    home = tmp_path / "elsewhere"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", wheel], check=True)
    # The dependencies are borrowed: a path file is not followed to the editable install next to them.
    packages = next(home.glob("lib/python*/site-packages"))
    (packages / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf8")

    where = subprocess.run(
        [python, "-c", "import xnas; print(xnas.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(packages) in where.stdout
    assert (packages / "xnas" / "py.typed").exists()
    for arguments in (
        ["reproduce", "toy-3d", "forecaster", "--out", "out"],
        ["bench", "theory", "--mixtures", "2"],
        ["show", "darts_v2"],
    ):
        subprocess.run([home / "bin" / "xnas", *arguments], cwd=tmp_path, check=True)
    assert (tmp_path / "out" / "claims.md").exists()
