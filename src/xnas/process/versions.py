"""Versions of the software that made a run and, in a checkout, its commit."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from xnas import __version__
from xnas.process.machine import machine

SECONDS = 5.0  # time limit of git


def made_with() -> dict[str, str]:
    """Versions by name, and the machine; `commit` ends with a plus if files have changed since.

    Optuna's is among them where it is in use, since its samplers may differ between versions.
    """
    optuna = sys.modules.get("optuna")
    return (
        _own() | {"machine": machine()} | ({} if optuna is None else {"optuna": str(optuna.__version__)})
    )


@cache
def _own() -> dict[str, str]:
    import torch  # noqa: PLC0415 - what reads config.json does without

    found = {"xnas": __version__, "torch": torch.__version__, "python": platform.python_version()}
    commit = _commit(Path(__file__).parents[3])
    return found | ({"commit": commit} if commit else {})


def _commit(checkout: Path) -> str:
    """Output of `git describe` in a checkout; empty outside of one, or without git."""
    git = shutil.which("git")
    if git is None or not (checkout / ".git").exists():
        return ""
    describe = [git, "-C", str(checkout), "describe", "--always", "--abbrev=12", "--dirty=+"]
    try:
        described = subprocess.run(  # noqa: S603 - no part of it comes from a user
            describe, capture_output=True, text=True, timeout=SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return described.stdout.strip()
