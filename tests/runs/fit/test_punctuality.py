"""Whether a fit ended in its time, in words."""

from dataclasses import replace

import pytest
from fitting import SMALL_PLAN

from xnas.records import Settled
from xnas.runs.fit.punctuality import time_line

STAGES = {"beginning": 0.0, "search": 2.0, "found": 1.0, "random": 1.0, "resnet": 1.0, "end": 1.0}


@pytest.mark.parametrize("seconds", [42.0, 60.0, 66.0])
def test_nothing_is_said_of_a_fit_in_its_time(seconds):
    assert time_line(SMALL_PLAN, STAGES, seconds) == []


def test_time_that_was_not_used_is_said_with_the_reason():
    (line,) = time_line(SMALL_PLAN, STAGES, 30.0)
    assert line == "only 50% of the time was used: the machine was faster than when it was measured"
    most = tuple(Settled(stage=stage, epochs=100, seconds=1.0) for stage in ("cells", "resnet"))
    (line,) = time_line(replace(SMALL_PLAN, settled=most), STAGES, 30.0)
    assert "every network had all the epochs that are planned at most" in line


def test_a_late_fit_names_the_stage_that_took_longest_beyond_its_time():
    (line,) = time_line(SMALL_PLAN, STAGES | {"search": 50.0, "random": 5.0}, 90.0)
    assert line.startswith("it took 50% longer than planned: the search took 50 s instead of 2 s")
    assert "even 4 epochs took too long" in line  # the cells got the fewest
    more = (Settled(stage="cells", epochs=9, seconds=1.0),)
    (line,) = time_line(replace(SMALL_PLAN, settled=more), STAGES | {"resnet": 60.0}, 90.0)
    assert line.endswith(
        "small ResNet took 60 s instead of 1 s, as the machine was slower than when it was measured"
    )


def test_a_fit_whose_stages_were_as_planned_was_late_for_other_work():
    (line,) = time_line(SMALL_PLAN, dict.fromkeys(STAGES, 0.0), 90.0)
    assert line.endswith("other work kept the machine busy")
