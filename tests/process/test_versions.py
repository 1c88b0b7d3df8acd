"""A run folder says what it was made with."""

import json
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

import xnas
from xnas.process.versions import _commit, made_with
from xnas.runs.config_file import config_of
from xnas.runs.run_folder import RunFolder
from xnas.runs.search_config import SearchConfig


def test_a_run_folder_has_versions(tmp_path):
    folder = RunFolder.create(lambda: tmp_path / "run")
    folder.write_start(config_of("search", "digits", "fingerprint", SearchConfig()))
    saved = json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf8"))
    assert saved["made_with"] == made_with()
    assert saved["made_with"]["xnas"] == xnas.__version__
    assert saved["made_with"]["torch"] == torch.__version__
    assert sys.version.startswith(saved["made_with"]["python"])


def test_optunas_version_is_there_where_it_is_in_use(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", SimpleNamespace(__version__="9.8"))
    assert made_with()["optuna"] == "9.8"
    monkeypatch.delitem(sys.modules, "optuna")
    assert "optuna" not in made_with()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_checkout_has_a_commit_and_says_whether_it_was_changed(tmp_path):
    def git(*words):
        subprocess.run(["git", "-C", tmp_path, *words], check=True, capture_output=True)

    assert _commit(tmp_path) == ""
    git("init")
    assert _commit(tmp_path) == ""
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-m", "first")
    clean = _commit(tmp_path)
    assert len(clean) == 12
    (tmp_path / "file").write_text("two")
    assert _commit(tmp_path) == f"{clean}+"
