"""What a run was made with: versions, and in a checkout the commit."""

from __future__ import annotations

import platform
import shutil
import subprocess
from functools import cache
from pathlib import Path

import torch

from xnas import __version__

SECONDS = 5.0  # that git may take


@cache
def made_with() -> dict[str, str]:
    """Versions by name; `commit` has a plus behind it where files were changed since."""
    found = {"xnas": __version__, "torch": torch.__version__, "python": platform.python_version()}
    commit = _commit(Path(__file__).parents[3])
    return found | ({"commit": commit} if commit else {})


def _commit(checkout: Path) -> str:
    """What `git describe` says of a checkout; empty if it is none, or without git."""
    git = shutil.which("git")
    if git is None or not (checkout / ".git").exists():
        return ""
    describe = [git, "-C", str(checkout), "describe", "--always", "--abbrev=12", "--dirty=+"]
    try:
        told = subprocess.run(  # noqa: S603 - nothing of it is given by a user
            describe, capture_output=True, text=True, timeout=SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return told.stdout.strip()
