"""The folder of a set of folds is no run: commands that want one say what to give."""

import json

import pytest

from xnas import ConfigError, write_report
from xnas.model.model import load_model
from xnas.runs.evaluate import evaluate_run
from xnas.runs.fold_folders import is_set_of_folds, require_one_run
from xnas.runs.run_folder import RunFolder

WORDS = r"groc holds a set of folds, .* such as .*fold-0, or resume .*xnas train --resume .*groc$"


@pytest.fixture
def groc(tmp_path):
    folder = tmp_path / "groc"
    folder.mkdir()
    (folder / "folds.json").write_text(json.dumps({"folds": 5}), encoding="utf8")
    return folder


@pytest.mark.parametrize("command", [require_one_run, evaluate_run, RunFolder.open, write_report])
def test_a_command_that_wants_one_run_says_what_to_give(groc, command):
    with pytest.raises(ConfigError, match=WORDS):
        command(groc)


def test_a_model_that_is_looked_for_in_a_folder_of_trainings_is_named(groc):
    (groc / "fold-0").mkdir()
    with pytest.raises(ConfigError, match=r"a training that has ended$"):
        load_model(groc)
    (groc / "fold-0" / "model.json").write_text("{}", encoding="utf8")
    with pytest.raises(ConfigError, match=r"a training that has ended, such as .*fold-0$"):
        load_model(groc)


def test_other_folders_are_no_sets(tmp_path):
    assert not is_set_of_folds(tmp_path)
    require_one_run(tmp_path)
