"""The pool of this process."""

import pytest

from xnas.errors import ConfigError
from xnas.runs.sampling.pools import POOLS
from xnas.samplers import Result, Trial
from xnas.space import Genotype

CELL = Genotype.random("nasbench201", 0)


class Counting:
    """Gives the share that the number of the trial is of ten, and remembers the folders."""

    def __init__(self):
        self.folders = []

    def evaluate(self, trial, folder):
        self.folders.append(folder.name)
        return Result(number=trial.number, value=trial.number / 10, state="done")


def test_it_evaluates_what_is_asked_for_when_it_is_asked(tmp_path):
    evaluator = Counting()
    pool = POOLS["local"].build(evaluator, tmp_path, 3)
    for number in range(3):
        pool.submit(Trial(number=number, genotype=CELL))
    assert evaluator.folders == []
    assert pool.result(1).value == 0.1
    assert pool.result().number == 0  # the one that has waited longest
    assert evaluator.folders == ["00001", "00000"]
    with pytest.raises(ConfigError, match="asked for trial 1 without having it"):
        pool.result(1)
    pool.close()
    with pytest.raises(ConfigError, match="asked for any trial without having it"):
        pool.result()
