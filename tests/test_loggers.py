"""The callbacks of docs/loggers.md reach MLflow and W&B, and results show themselves in IPython."""

import os
import re
import sqlite3
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pages
import pytest
from IPython.core.formatters import DisplayFormatter

from xnas.records import Sampled
from xnas.runs.results import SampleResult, SearchResult, TrainResult

PAGE = (Path(__file__).parents[1] / "docs" / "loggers.md").read_text("utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")}
IN_A_CELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
cell = shell.run_cell(sys.argv[1])
cell.raise_error()
print(shell.display_formatter.format(cell.result)[0]["text/html"])
"""


def code(section):
    return re.findall(r"```python\n(.*?)```", SECTIONS[section], flags=re.DOTALL)[-1]


def run(folder, *words):
    command = [sys.executable, "-c", *words]
    own = os.environ | {"IPYTHONDIR": str(folder / "ipython")}
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def needs(name):
    """A mark: the package is not among those of developers, as it brings some hundred megabytes."""
    return pytest.mark.skipif(
        find_spec(name) is None, reason=f"needs {name}, too large for the extra dev: pip install {name}"
    )


@pytest.mark.slow
def test_a_callback_is_called_after_every_epoch(tmp_path):
    assert re.fullmatch(r"1 of 2: 0\.\d{3}\n2 of 2: 0\.\d{3}\n", run(tmp_path, code("Callbacks")))


@pytest.mark.slow
@needs("mlflow")
def test_mlflow_gets_settings_numbers_and_the_report(tmp_path):
    run(tmp_path, code("MLflow"))
    with sqlite3.connect(tmp_path / "mlflow.db") as database:
        steps = database.execute("select step from metrics where key = 'valid_accuracy'").fetchall()
        assert sorted(steps) == [(1,), (2,)]
        settings = dict(database.execute("select key, value from params").fetchall())
        assert (settings["epochs"], settings["method"]) == ("2", "xnas")
    assert [*tmp_path.glob("mlruns/**/report.html")]


@pytest.mark.slow
@needs("wandb")
def test_wandb_gets_the_numbers_of_every_epoch_without_a_network(tmp_path):
    run(tmp_path, code("Weights & Biases"))
    (log,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    logged = log.read_bytes()
    assert logged.count(b"train_accuracy") >= 2
    assert b"test accuracy" in logged


@pytest.mark.slow
def test_the_last_line_of_a_cell_shows_the_search(tmp_path):
    html = run(tmp_path, IN_A_CELL, code("Notebooks"))
    assert html.count("<svg") == 2  # the normal and the reduction cell
    assert "data:image/png" in html
    assert "<script" not in html


SEARCHED = SearchResult(
    out="runs/a", genotype=pages.CELL, epochs=tuple(pages.epochs()), rounds=60, settled_at=0, ledgers={}
)
TRAINED = TrainResult(
    out="runs/b", epochs=tuple(pages.trained()), test=pages.evaluation(), parameters=9000, macs=10**6
)
ONE = Sampled(number=7, value=0.5, best=0.5, epochs=1, seconds=None, parameters=10**6, macs=2 * 10**6)
SAMPLED = SampleResult(
    out="runs/c", genotype=pages.CELL, value=0.5, evaluations=(ONE,), cells=(pages.CELL,)
)


@pytest.mark.parametrize(
    ("result", "shown"), [(SEARCHED, "70.0 %"), (TRAINED, "95.00 %"), (SAMPLED, "50.00 %")]
)
def test_ipython_shows_a_result_as_html_and_prints_it_as_one_line(result, shown):
    data, _ = DisplayFormatter().format(result)
    assert shown in data["text/html"]
    assert data["text/plain"] == repr(result)
    assert "\n" not in data["text/plain"]
