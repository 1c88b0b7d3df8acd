"""The worker that is this process."""

import pytest

from xnas.errors import ConfigError
from xnas.process.interrupt import Interrupted
from xnas.workers import ThisProcess


def test_a_job_is_done_when_its_result_is_asked_for():
    done = []
    with ThisProcess() as workers:
        for number in (3, 1):
            workers.submit(number, lambda number=number: done.append(number) or number)
        assert workers.first() == 3
        assert done == []
        assert workers.result(1) == 1
        assert done == [1]
        with pytest.raises(ConfigError, match="asked for job 1 without having it"):
            workers.result(1)
        with pytest.raises(ConfigError, match="job 3 was submitted already"):
            workers.submit(3, list)
    assert workers.submitted == {}


def test_errors_and_stops_are_raised():
    workers = ThisProcess()
    workers.submit(0, lambda: 1 // 0)
    for wait in (workers.first, lambda *, stopped: workers.result(0, stopped=stopped)):
        with pytest.raises(Interrupted):
            wait(stopped=lambda: True)
    with pytest.raises(ZeroDivisionError):
        workers.result(0)


def test_a_shared_value_is_the_value_itself_until_the_workers_are_closed():
    value = object()
    with ThisProcess() as workers:
        shared = workers.share(value)
        workers.submit(0, shared.value)
        assert workers.result(0) is value
    with pytest.raises(KeyError):
        shared.value()
