"""A short soak: a search and a training are killed and made to fail, and end as if nothing had been."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHORT = """
import sys
from pathlib import Path
from soak.campaign import campaign
from soak.trials import EVERYTHING, a_sampling, a_search, a_training
made = {
    "search": lambda: a_search("search", space="nasbench201", cells=1, batch_size=12),
    "training": lambda: a_training("training", **EVERYTHING),
    "sampling": lambda: a_sampling("sampling", evaluations=4),
}
scenario = made[sys.argv[1]]()
scenario.go(Path(sys.argv[2]) / "warm", None)
kills = {"sampling": 10**6}.get(sys.argv[1], 1)  # all of its few moments
tally = campaign(scenario, Path(sys.argv[2]), kills=kills, fault_step=int(sys.argv[3]), chance=0.3)
assert not tally.failures, tally.failures
print(sum(tally.kills.values()), sum(tally.faults.values()))
"""


@pytest.mark.parametrize(
    ("kind", "least", "step"),
    [
        ("search", 9, 45),
        pytest.param("training", 7, 60, marks=pytest.mark.slow),
        pytest.param("sampling", 100, 9, marks=pytest.mark.slow),
    ],
)
def test_runs_that_are_killed_or_fail_end_as_if_nothing_had_been(tmp_path, kind, least, step):
    """In a process of its own: it forks, which a process with threads should not."""
    tests = Path(__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": f"{tests}:{tests.parent / 'src'}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SHORT, kind, str(tmp_path), str(step)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    kills, faults = map(int, done.stdout.split())
    assert kills >= least
    assert faults >= 5
