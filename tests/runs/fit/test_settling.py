"""Epochs by the time that is left: pure functions of numbers."""

from dataclasses import replace

import pytest
from fitting import SMALL_PLAN, SPEEDS, speed

from xnas.runs.fit.planning import make_plan
from xnas.runs.fit.settling import settled, time_for
from xnas.runs.fit.sizing import AIM, LEAST_EPOCHS, MOST_EPOCHS, Facts, training_seconds

PLAN = make_plan(3, Facts(images=2000, fewest=180), SPEEDS, spent=1.0)


def used_before(plan):
    """Seconds by the clock until the cells, if all went as planned."""
    return plan.spent + plan.search.seconds


def test_on_time_the_cells_have_what_is_not_kept_for_later_trainings():
    seconds = time_for(PLAN, "cells", used_before(PLAN))
    rest = AIM * 180 - used_before(PLAN) - PLAN.end - PLAN.resnet.seconds
    assert seconds == pytest.approx(rest)
    assert seconds >= PLAN.cells.seconds


def test_late_all_have_their_share_of_what_is_left():
    late = used_before(PLAN) + 40
    cells = time_for(PLAN, "cells", late)
    left = AIM * 180 - late - PLAN.end
    resnet = left - cells
    assert cells / resnet == pytest.approx(PLAN.cells.seconds / PLAN.resnet.seconds)


def test_the_last_training_has_all_that_is_left():
    assert time_for(PLAN, "resnet", 100.0) == pytest.approx(AIM * 180 - 100 - PLAN.end)


def test_epochs_of_both_cells_fit_into_their_time_and_no_more_would():
    speeds = [speed(cells=5, channels=16, step=0.05), speed(cells=5, channels=16, step=0.06)]
    seconds = time_for(PLAN, "cells", 50.0)
    plan = settled(PLAN, "cells", speeds, 50.0)
    (one,) = plan.settled
    assert (one.stage, one.seconds <= seconds) == ("cells", True)
    assert sum(training_seconds(each, one.epochs + 1) for each in speeds) > seconds
    assert plan.settled_epochs("cells") == one.epochs


def test_epochs_have_a_least_and_a_most():
    slow, fast = speed(step=10.0), speed(step=1e-5, epoch_end=0.0)
    assert settled(PLAN, "resnet", [slow], 50.0).settled_epochs("resnet") == LEAST_EPOCHS
    assert settled(PLAN, "resnet", [slow], 500.0).settled_epochs("resnet") == LEAST_EPOCHS
    assert settled(PLAN, "resnet", [fast], 50.0).settled_epochs("resnet") == MOST_EPOCHS


def test_what_was_settled_before_stays():
    plan = settled(replace(SMALL_PLAN, settled=SMALL_PLAN.settled[:1]), "resnet", [speed()], 10.0)
    assert [one.stage for one in plan.settled] == ["cells", "resnet"]
    assert plan.settled[0] == SMALL_PLAN.settled[0]


def test_the_channels_of_the_random_cell_are_kept():
    plan = settled(PLAN, "cells", [speed(), speed()], 50.0, channels=6)
    assert plan.random_channels == 6
    assert settled(PLAN, "resnet", [speed()], 50.0).random_channels is None
