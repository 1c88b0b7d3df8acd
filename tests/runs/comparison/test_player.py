"""How a comparison is played, with runs that are not computed; whole ones are in test_compare."""

from dataclasses import replace

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


def test_a_display_that_watches_sees_what_is_computed(plan, tmp_path):
    plan, _ = plan
    shown = CompareProgress(quiet=True)
    playing = player.Player(plan, tmp_path, shown, {})
    playing.play()
    assert shown.underway is playing.underway
    assert playing.underway.ended == {run.name for run in plan.runs}


def test_without_a_benchmark_or_trainings_the_method_random_stands_for_random_cells(
    monkeypatch, tmp_path
):
    values = {"xnas": 50.0, "random": 40.0}
    monkeypatch.setattr(
        player,
        "outcome",
        lambda planned, *_: run(
            planned.entry, planned.seed, values[planned.entry], data="stripes", space="nasbench201"
        ),
    )
    monkeypatch.setattr(player, "perform", lambda *_: None)
    monkeypatch.setattr(player, "write_outputs", lambda *_: None)
    for methods, gains in (("xnas,random", [10, 0]), ("xnas,darts", [None, None])):
        values["darts"] = 45.0
        config = CompareConfig(**settings(methods=methods))
        out = tmp_path / methods
        out.mkdir()
        made = player.Plan.checked(config, [images()])
        found = player.Player(made, out, CompareProgress(quiet=True), {}).play()
        assert [one.over_random for one in found.summaries] == gains
        assert found.random_words == (player.CHANCE if "random" in methods else "")


@pytest.mark.parametrize("report", [True, False])
def test_the_page_is_written_at_the_end_unless_it_is_not_wanted(plan, tmp_path, monkeypatch, report):
    plan, _ = plan
    monkeypatch.setattr("xnas.runs.reports.write.chart_script", lambda: None)
    player.Player(
        replace(plan, config=replace(plan.config, report=report)), tmp_path, Quiet(), {}
    ).play()
    assert (tmp_path / "report.html").exists() is report
    if report:
        html = (tmp_path / "report.html").read_text(encoding="utf8")
        assert "xnas and darts compared" in html
        assert "job 1 ended 3 workers" in html


class Quiet:
    """A display that has nothing but what it must have."""

    def begin(self, comparison, left):
        """Nothing."""

    def after_run(self, run, comparison):
        """Nothing."""
