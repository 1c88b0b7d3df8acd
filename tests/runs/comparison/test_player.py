"""How a comparison is played, with runs that are not computed; whole ones are in test_compare."""

import pytest
from comparing import images, run, settings

from xnas import CompareConfig, ConfigError
from xnas.errors import WorkerError
from xnas.runs.comparison import player
from xnas.runs.comparison.display import CompareProgress
from xnas.runs.sampling.pools import POOLS, PoolKind
from xnas.workers import ThisProcess


class Dying(ThisProcess):
    """Workers that every second job ends."""

    def result(self, number, *, stopped):
        assert not stopped()
        del self.submitted[number]
        if number % 2:
            raise WorkerError(f"job {number} ended 3 workers, the last by SIGKILL")


@pytest.fixture
def plan(monkeypatch):
    """A comparison of two methods and two seeds on a pool of one's own, whose runs are made up."""
    asked = []
    kind = PoolKind(None, "", workers=lambda *given: asked.append(given) or Dying())
    monkeypatch.setitem(POOLS._entries, "mine", kind)
    monkeypatch.setattr(player, "outcome", lambda planned, *_: run(planned.entry, planned.seed))
    monkeypatch.setattr(player, "write_outputs", lambda *_: None)
    config = CompareConfig(**settings(pool="mine", at_once=3))
    return player.Plan.checked(config, [images()]), asked


def test_a_run_that_ends_its_workers_has_failed(plan, tmp_path):
    plan, asked = plan
    found = player.Player(plan, tmp_path, CompareProgress(quiet=True), {}).play()
    assert asked == [(3, False)]  # three at a time, on no GPU
    assert [run.state for run in found.runs] == ["done", "failed", "done", "failed"]
    assert found.runs[1].reason == "job 1 ended 3 workers, the last by SIGKILL"
    assert (tmp_path / "comparison.json").is_file()


def test_failures_of_before_are_known_and_tried_again(plan, tmp_path):
    plan, _ = plan
    playing = player.Player(plan, tmp_path, CompareProgress(quiet=True), {"xnas-0": "no space"})
    assert playing.comparison().runs[0].reason == "no space"
    assert playing.play().runs[0].state == "done"


def test_a_pool_for_cells_alone_is_refused(monkeypatch):
    monkeypatch.setitem(POOLS._entries, "cells", PoolKind(None, ""))
    with pytest.raises(ConfigError, match="the pool cells evaluates cells alone; use another --pool"):
        player.Plan.checked(CompareConfig(**settings(pool="cells")), [images()])
