"""The metrics of a run: lines, records, and the return to what a checkpoint remembers."""

from contextlib import nullcontext

import pytest

from xnas import ConfigError
from xnas.runs.metrics_file import MetricsFile


@pytest.fixture
def metrics(tmp_path):
    return MetricsFile(tmp_path / "metrics.jsonl", nullcontext)


def test_lines_come_back_as_records(metrics):
    assert (metrics.text(), metrics.records(dict)) == ("", [])
    metrics.append('{"epoch": 1}\n')
    metrics.append('{"epoch": 2}\n')
    assert metrics.text() == '{"epoch": 1}\n{"epoch": 2}\n'
    assert metrics.records(lambda line: line["epoch"]) == [1, 2]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"half', r"is damaged in line 1: it is not JSON \(.*\); restore it"),
        (b"[1]\n", "is damaged in line 1: it is not an object; restore it"),
        (b'{"epoch": 1}\n{}\n', "is damaged in line 2: the key 'epoch' is missing; restore it"),
        (b"\xff\n", "cannot read .*metrics.jsonl: .*; it may be damaged"),
    ],
)
def test_what_is_no_metric_is_reported(metrics, content, words):
    metrics.path.write_bytes(content)
    with pytest.raises(ConfigError, match=words):
        metrics.records(lambda line: line["epoch"])


@pytest.mark.parametrize(
    ("found", "state", "wanted", "warned"),
    [
        (None, {"metrics": "1\n"}, "1\n", False),  # killed between checkpoint and line
        ("1\n", {"metrics": "1\n"}, "1\n", False),
        ("1\n2\n", {"metrics": "1\n"}, "1\n", False),  # the last line's checkpoint was damaged
        ("1\n2", {"metrics": "1\n2\n"}, "1\n2\n", False),  # a torn line
        ("", {"metrics": "1\n2\n"}, "1\n2\n", True),
        ("3\n", {"metrics": "1\n"}, "1\n", True),
        ("1\n", None, "", False),
    ],
)
def test_metrics_are_brought_back_to_what_a_checkpoint_remembers(metrics, found, state, wanted, warned):
    if found is not None:
        metrics.path.write_text(found, encoding="utf8")
    warnings = []
    metrics.restore(state, warnings.append)
    assert metrics.text() == wanted
    assert bool(warnings) == warned


def test_a_checkpoint_without_metrics_is_refused(metrics):
    metrics.append("1\n")
    with pytest.raises(ConfigError, match="the checkpoint holds no metrics"):
        metrics.restore({}, print)
    assert metrics.text() == "1\n"


def test_a_process_that_does_not_write_changes_nothing(metrics):
    metrics.append("1\n")
    other = MetricsFile(metrics.path, nullcontext, writes=False)
    other.append("2\n")
    other.restore(None, print)
    assert metrics.text() == "1\n"
