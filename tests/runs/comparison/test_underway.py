"""How far running runs are, by their files."""

import json
from contextlib import ExitStack, nullcontext

import pytest
from comparing import settings

from xnas import CompareConfig
from xnas.runs.comparison import underway
from xnas.runs.comparison.entries import entries_of
from xnas.runs.comparison.plan import ComparedData, planned_runs
from xnas.runs.comparison.underway import Underway
from xnas.runs.lock import locked

SEARCH = {"epochs": 4}
SAMPLE = {"evaluator": "surrogate", "evaluations": 10}


def planned(**more):
    usual = settings(seeds="0", search=SEARCH, sample=SAMPLE) | more
    config = CompareConfig(**usual)
    return planned_runs(config, entries_of(config), [ComparedData("digits", "digits", None)])


@pytest.fixture
def held():
    with ExitStack() as stack:
        yield lambda folder: stack.enter_context(locked(folder, nullcontext))


def write(folder, name, lines):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf8")
    return folder


def test_nothing_runs_before_a_run_has_begun(tmp_path):
    found = Underway(tmp_path, planned())
    assert (found.steps(), found.share(), found.words()) == ([], 0, "")


def test_a_search_is_as_far_as_its_epochs(tmp_path, held, monkeypatch):
    found = Underway(tmp_path, planned())
    held(write(tmp_path / "runs/xnas-0", "metrics.jsonl", [{}, {}, {}]))
    assert found.steps() == [("xnas-0: epoch 3/4", 0.75)]
    assert found.share() == 0.375  # of two runs
    monkeypatch.setattr(underway.time, "monotonic", lambda: found.began + 300)
    assert found.words() == "xnas-0: epoch 3/4; about 8 min left for all"  # 300 s * 5/3
    found.end("xnas-0")
    assert (found.steps(), found.share()) == ([], 0.5)


def test_a_training_follows_its_search(tmp_path, held):
    found = Underway(tmp_path, planned(methods="xnas", train={"recipe": "quick", "epochs": 10}))
    write(tmp_path / "runs/xnas-0", "metrics.jsonl", [{}] * 4)
    held(write(tmp_path / "runs/xnas-0-training", "metrics.jsonl", [{}] * 5))
    assert found.steps() == [("xnas-0, training: epoch 5/10", 0.75)]


def test_a_training_whose_recipe_says_how_long_is_asked_for_it(tmp_path, held):
    found = Underway(tmp_path, planned(methods="xnas", train={"recipe": "quick"}))
    place = write(tmp_path / "runs/xnas-0-training", "metrics.jsonl", [{}] * 2)
    held(place)
    assert found.steps() == [("xnas-0, training: epoch 2/?", 0.5)]
    (place / "config.json").write_text('{"config": {"epochs": 8}}', encoding="utf8")
    assert found.steps() == [("xnas-0, training: epoch 2/8", 0.625)]


def test_a_sampling_is_as_far_as_its_results(tmp_path, held):
    found = Underway(tmp_path, planned(methods="xnas", samplers="random"))
    lines = [{"event": "begin"}, {"event": "ask"}, {"event": "tell"}, {"event": "tell"}]
    held(write(tmp_path / "runs/sample-random-0", "ledger.jsonl", lines))
    assert found.steps() == [("sample-random-0: evaluation 2/10", 0.2)]


def test_many_at_a_time_are_counted(tmp_path, held):
    found = Underway(tmp_path, planned(seeds="0-3"))
    for name in ("xnas-0", "darts-0", "xnas-1", "darts-1", "xnas-2"):
        held(write(tmp_path / "runs" / name, "metrics.jsonl", [{}]))
    assert found.words().split("; ")[:4] == [
        *("xnas-0: epoch 1/4", "darts-0: epoch 1/4", "xnas-1: epoch 1/4", "2 more"),
    ]


def test_what_cannot_be_read_is_not_counted(tmp_path, held):
    found = Underway(tmp_path, planned())
    (tmp_path / "runs/xnas-0/metrics.jsonl").mkdir(parents=True)
    held(tmp_path / "runs/xnas-0")
    assert found.steps() == [("xnas-0: epoch 0/4", 0)]
