"""What a worker does with jobs, and when its program dies."""

import os
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

from worker_jobs import fail, square, wait_for

from xnas.errors import ConfigError, RoundError
from xnas.workers.serving import done

TESTS = Path(__file__).parents[1]

KILLED = """
import sys
from functools import partial
from pathlib import Path
from worker_jobs import play
from xnas.workers import LocalProcesses

if __name__ == "__main__":
    workers = LocalProcesses(1)
    workers.submit(0, partial(play, Path(sys.argv[1])))
    workers.result(0)
"""


def test_workers_stop_after_a_round_when_their_program_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(KILLED, encoding="utf8")
    place = tmp_path / "marks"
    place.mkdir()
    environment = os.environ | {"PYTHONPATH": f"{TESTS}:{TESTS.parent / 'src'}"}
    program = subprocess.Popen([sys.executable, str(script), str(place)], env=environment)
    wait_for(lambda: list(place.glob("pid-*")))
    program.kill()
    program.wait()
    wait_for(lambda: list(place.glob("stopped-*")))


def outcome(job):
    return pickle.loads(done(pickle.dumps(job)))  # noqa: S301 - ours


def test_a_job_gives_its_result_or_its_error_and_always_something_that_can_be_sent():
    assert outcome(partial(square, 3)) == (True, 9)
    succeeded, error = outcome(partial(fail, "round"))
    assert not succeeded
    assert isinstance(error, RoundError)
    assert "worker_jobs.py" in error.__notes__[0]
    succeeded, error = outcome(partial(fail, "unreadable"))
    assert not succeeded
    assert isinstance(error, ConfigError)
    assert str(error).startswith("the Unreadable that a job gave cannot be sent back: ")
