"""Costs of methods, and samplings with real trainings: scripts, and the tables of their results."""

import json
import shlex

import pytest

import cost_tables
import method_costs
import sampled_trainings
from jobs import ResultsFile
from result_tables import Results
from xnas import SampleConfig
from xnas.bench.options import BenchMethodsConfig
from xnas.cli import app
from xnas.methods import METHODS

MACHINE = {"device": "a GPU", "torch": "2", "python": "3", "xnas": "0"}


def said(command):
    """Arguments that the command line makes of a command."""
    _, bound, *_ = app.parse_args(shlex.split(command)[1:], exit_on_error=False, print_error=False)
    return bound.args, bound.kwargs


def test_the_command_of_a_timing_gives_its_settings():
    assert {job.method for job in method_costs.JOBS} == set(METHODS)
    for job in method_costs.JOBS:
        _, named = said(job.command)
        assert BenchMethodsConfig(**{**named, "device": "cpu"}) == job.config("cpu"), job.name


def test_the_command_of_a_search_with_trainings_gives_its_settings():
    for job in sampled_trainings.JOBS:
        (data, *_), named = said(job.command)
        assert (named.pop("weights", None) is None) == (job.weights is None)
        assert SampleConfig(**named) == job.config(), job.name
        assert data == job.data
        assert (job.weights_command is None) == (job.weights is None)


def timing(name, milliseconds, failure=None):
    job = next(job for job in method_costs.JOBS if job.name == name)
    cost = {"milliseconds": milliseconds, "failure": failure, "memory_bytes": 2**30}
    named = {"job": job.name, "command": job.command, "backend": "fused", "precision": "bf16"}
    return named | cost | MACHINE


def test_rounds_are_compared_with_those_of_xnas(tmp_path):
    file = ResultsFile(tmp_path / method_costs.RESULTS)
    for line in (
        timing("darts-xnas", 20.0),
        timing("darts-darts2", 50.0),
        timing("nasbench201-pdarts", 0.0, failure="has one depth"),
    ):
        file.append(line)
    page = cost_tables.rounds(Results(tmp_path))
    assert "| `darts2` | 50.0 ms | 2.50 | 1.0 GiB | fused, bf16 | not measured yet |" in page
    (row,) = (line for line in page.splitlines() if line.startswith("| `pdarts`"))
    assert row == "| `pdarts` | not measured yet |  |  |  | not possible |  |  |  |"
    (left,) = (line for line in page.splitlines() if line.startswith("Not measured yet: "))
    assert left.count("`") / 2 == len(METHODS) - 3 + 1, "every other method, and the command"


def test_searches_with_trainings_have_their_best_and_the_judge(tmp_path):
    job = sampled_trainings.JOBS[0]
    line = {
        "job": job.name,
        "command": job.command,
        "values": [0.5, None, *[0.6] * 10, 0.75],
        "cells": [{"a": 1}, {"a": 2}, {"a": 1}],
        "truth": {"accuracy": 94.123},
        "evaluation_seconds": 0.0421,
        "search_seconds": 61.4,
        **MACHINE,
    }
    ResultsFile(tmp_path / sampled_trainings.RESULTS).append(line)
    page = cost_tables.trained(Results(tmp_path))
    assert f"| `{job.name}` | 13 | 60.00 % | 75.00 % | 94.12 | 2 | 42 ms | 61 s | `xnas sample " in page
    assert page.count("| `xnas sample") == 1
    left = ", ".join(f"`{job.name}`" for job in sampled_trainings.JOBS[1:])
    assert f"Not measured yet: {left}. `python experiments/sampled_trainings.py" in page


@pytest.mark.slow
def test_a_tiny_timing_writes_its_line_and_then_nothing_is_left(tmp_path):
    words = [
        "--tiny",
        "--device",
        "cpu",
        "--only",
        "nasbench201-xnas",
        "--out",
        str(tmp_path / "out.jsonl"),
    ]
    assert method_costs.main(words) == 0
    (line,) = ResultsFile(tmp_path / "out.jsonl").lines()
    assert line["failure"] is None
    assert {"data", "seed", "device", "torch", "xnas"} <= line.keys()
    assert line["milliseconds"] > 0
    assert method_costs.main(words) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trained-random", "shared-random"])
def test_a_tiny_search_with_trainings_writes_its_line_and_clears_its_folders(tmp_path, name):
    words = ["--tiny", "--device", "cpu", "--only", name, "--in-process"]
    words += ["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "out.jsonl")]
    assert sampled_trainings.main(words) == 0
    (line,) = ResultsFile(tmp_path / "out.jsonl").lines()
    assert len(line["values"]) == len(line["cells"]) == 4
    assert line["value"] == max(line["values"])
    assert str(tmp_path) not in json.dumps(line)
    assert not [path for path in (tmp_path / "runs").iterdir() if path.is_dir()]
