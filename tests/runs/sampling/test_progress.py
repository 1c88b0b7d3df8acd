"""What a search by sampling prints while it runs."""

from types import SimpleNamespace

import pytest

from xnas.runs.sampling.loop import Evaluated
from xnas.runs.sampling.progress import SampleProgress, trial_line
from xnas.samplers import Result, Trial
from xnas.space import Genotype


def evaluated(number, value, *, refused=False, space="nasbench201", budget=None):
    trial = Trial(number=number, genotype=Genotype.random(space, number), budget=budget)
    if value is None:
        state = "refused" if refused else "failed"
        result = Result(number=number, value=None, state=state, reason="the loss is nan")
    else:
        result = Result(number=number, value=value, state="done")
    return Evaluated(trial, result)


@pytest.fixture
def lines(monkeypatch):
    """Lines printed for these evaluations of ten, at these times."""

    def printed(ones, clock):
        display, told, times = SampleProgress(quiet=True), [], iter(clock)
        monkeypatch.setattr(display, "say", told.append)
        loop = SimpleNamespace(told=[], evaluated=0, evaluations=10)
        for one in ones:
            now = next(times)
            monkeypatch.setattr("xnas.runs.sampling.progress.time.monotonic", lambda now=now: now)
            loop.told.append(one)
            loop.evaluated += not one.refused
            display.after_trial(one, loop)
        return told

    return printed


def test_of_fast_evaluations_the_better_ones_are_printed(lines):
    ones = [evaluated(0, 0.5), evaluated(1, 0.4), evaluated(2, 0.6), evaluated(3, 0.55)]
    told = lines(ones, [100, 100.1, 100.2, 100.3])
    assert [line[:15] for line in told] == [" 1/10  trial  0", " 3/10  trial  2"]
    assert "60.00 %  best 60.00 %  |" in told[1]


def test_the_best_is_that_of_the_highest_rung(lines):
    ones = [evaluated(0, 0.6, budget=3), evaluated(1, 0.5, budget=9), evaluated(2, 0.9, budget=3)]
    told = lines(ones, [100, 160, 220])
    assert [line.partition("best ")[2][:5] for line in told] == ["60.00", "50.00", "50.00"]


def test_slow_ones_are_all_printed_with_the_time_left(lines):
    ones = [evaluated(0, 0.5), evaluated(1, None), evaluated(2, 0.4), evaluated(3, None, refused=True)]
    told = lines(ones, [100, 160, 220, 280])
    assert len(told) == 3
    assert "failed: the loss is nan  best 50.00 %" in told[1]
    assert told[2].endswith("  7 min left")  # seven cells of 60 s


def test_a_cell_without_a_short_form_is_left_out():
    line = trial_line(evaluated(0, 0.5, space="darts"), 1, 9, 0.5)
    assert line == "1/9  trial 0   50.00 %  best 50.00 %"
