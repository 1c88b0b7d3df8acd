"""One run as a job; whole comparisons are in test_compare."""

import pytest
from comparing import SEARCH, images

from xnas import SearchConfig
from xnas.errors import RoundError
from xnas.process.interrupt import Interrupted
from xnas.runs.comparison import jobs
from xnas.runs.comparison.plan import PlannedRun

RUN = PlannedRun(
    name="xnas-0",
    entry="xnas",
    kind="method",
    data="stripes",
    space="nasbench201",
    seed=0,
    search=SearchConfig(space="nasbench201", device="cpu", quiet=True, **SEARCH),
    train=None,
)


def raising(error):
    def search(*_):
        raise error

    return search


def test_a_run_is_begun_once_and_then_found_finished(tmp_path):
    assert jobs.perform(RUN, tmp_path, images()) is None
    before = (tmp_path / "runs/xnas-0/metrics.jsonl").stat().st_mtime_ns
    assert jobs.perform(RUN, tmp_path, images()) is None
    assert (tmp_path / "runs/xnas-0/metrics.jsonl").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RoundError("the loss is\nnan"), "the loss is nan"),
        (MemoryError(), "memory ran out (MemoryError); use a smaller --batch-size"),
        (TypeError("odd"), "TypeError: odd"),
        (RoundError("as it happened " * 30), "as it happened " * 29 + "as it happened"),
        (TypeError("as it happened " * 30), "TypeError: " + "as it happened " * 29),
    ],
)
def test_an_error_is_a_reason_in_one_line(tmp_path, monkeypatch, error, words):
    (tmp_path / "runs").mkdir()
    monkeypatch.setattr(jobs, "search", raising(error))
    reason = jobs.perform(RUN, tmp_path, images())
    assert reason.startswith(words)
    assert "\n" not in reason


def test_a_stop_is_no_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "search", raising(Interrupted("stopped")))
    with pytest.raises(Interrupted):
        jobs.perform(RUN, tmp_path, images())
