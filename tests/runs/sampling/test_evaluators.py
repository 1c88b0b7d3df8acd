"""Evaluating one trial: results, failures, costs."""

from pathlib import Path

import pytest

from xnas.errors import DatasetError, GenotypeError, RoundError
from xnas.runs.sampling.evaluators import evaluate_trial, trial_folder
from xnas.samplers import Result, Trial
from xnas.space import Genotype

TRIAL = Trial(number=17, genotype=Genotype.random("nasbench201", 0))


class Raising:
    def __init__(self, error):
        self.error = error

    def evaluate(self, trial, folder):  # noqa: ARG002
        if self.error is not None:
            raise self.error
        return Result(number=trial.number, value=0.5, state="done", cost={"macs": 3.0})


def test_a_result_has_its_seconds():
    result = evaluate_trial(Raising(None), TRIAL, Path())
    assert (result.number, result.value, result.cost["macs"]) == (17, 0.5, 3.0)
    assert result.cost["seconds"] >= 0


@pytest.mark.parametrize(
    "error",
    [
        RoundError("the loss is nan after step 3"),
        GenotypeError("the cell has no node"),
        RuntimeError("CUDA out of memory. Tried to allocate 3 GiB"),
        MemoryError("no room"),
    ],
)
def test_failures_of_a_training_become_results_with_their_line(error):
    result = evaluate_trial(Raising(error), TRIAL, Path())
    assert (result.state, result.value) == ("failed", None)
    assert str(error)[:12] in result.reason
    assert "\n" not in result.reason


@pytest.mark.parametrize("error", [DatasetError("no images"), RuntimeError("a bug")])
def test_other_errors_end_the_run(error):
    with pytest.raises(type(error), match=str(error)):
        evaluate_trial(Raising(error), TRIAL, Path())


def test_a_trial_has_a_folder_of_its_own():
    assert trial_folder(Path("RUN/trials"), 17) == Path("RUN/trials/00017")
