"""How far a job is: at its end, or where this call stops."""

import pytest

from xnas.runs.job import Position


@pytest.mark.parametrize(
    ("epoch", "until", "finished", "paused"),
    [
        (3, None, False, False),
        (5, None, True, False),
        (3, 3, True, True),
        (2, 3, False, False),
        (5, 7, True, False),  # a stop after the last epoch is none
    ],
)
def test_a_job_is_finished_at_its_end_and_paused_where_this_call_stops(epoch, until, finished, paused):
    at = Position(epoch=epoch, epochs=5, step=0, steps=4, done=4 * epoch, left=0, until=until)
    assert (at.finished, at.paused) == (finished, paused)
