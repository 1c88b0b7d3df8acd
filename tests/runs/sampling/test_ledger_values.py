"""Values of a ledger that its evaluator cannot have given."""

import json
from pathlib import Path

import pytest

from xnas import resume_sampling, sample
from xnas.errors import DamagedFileError
from xnas.runs.sampling.evaluators import EVALUATORS, EvaluatorKind
from xnas.runs.sampling.ledger_values import require_possible
from xnas.runs.sampling.trial_ledger import Event
from xnas.samplers import Result, Trial
from xnas.space import Genotype


def require(trial, *, evaluator=None, name="train", **told):
    result = Result(number=trial.number, state="done", **told)
    require_possible([Event(2, trial), Event(3, result)], evaluator, name, Path("ledger.jsonl"))


def trial(budget=None):
    return Trial(number=0, genotype=Genotype.random("darts", 3), budget=budget)


@pytest.mark.parametrize("name", ["train", "shared", "table", "surrogate"])
def test_accuracies_are_shares(name):
    for value in (0, 0.5, 1):
        require(trial(), name=name, value=value)
    for value in (-0.1, 1.5, 1e14):
        with pytest.raises(
            DamagedFileError, match=r"ledger.jsonl is damaged in line 3: its value is .* in \[0, 1\]; re"
        ):
            require(trial(), name=name, value=value)


def test_another_evaluator_may_give_any_number(monkeypatch):
    monkeypatch.setitem(EVALUATORS._entries, "mine", EvaluatorKind(None, "speed"))
    require(trial(), name="mine", value=-3.5)


def test_a_trial_is_measured_within_its_budget():
    require(trial(12), value=0.5, at=12)
    require(trial(), value=0.5, at=600)
    with pytest.raises(
        DamagedFileError, match="line 3: it was measured at epoch 13, and trial 0 has 12"
    ):
        require(trial(12), value=0.5, at=13)


class Judge:
    """Knows one value."""

    def known_value(self, trial):  # noqa: ARG002
        return 0.9, 100


def test_an_estimate_is_that_of_the_judge_up_to_its_last_digits():
    require(trial(), evaluator=Judge(), name="surrogate", value=0.9 + 1e-12, at=100)
    with pytest.raises(
        DamagedFileError,
        match=r"line 3: its value is 0\.8999, and the evaluator surrogate knows 0\.9 for",
    ):
        require(trial(), evaluator=Judge(), name="surrogate", value=0.8999, at=100)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        (
            "value",
            0.987654,
            r"its value is 0\.987654, and the evaluator table knows 0\.\d+ for its cell",
        ),
        ("value", 7, r"its value is 7, and accuracies are shares in \[0, 1\]"),
        ("at", 200, "it was measured at epoch 200, and the evaluator table knows that of epoch 12"),
        ("at", None, "it was measured at epoch None, and the evaluator table knows that of epoch 12"),
    ],
)
def test_a_search_on_a_table_does_not_resume_from_other_values(config, field, value, words):
    sample(config)
    (config.out / "genotype.json").unlink()
    ledger = config.out / "ledger.jsonl"
    lines = ledger.read_text().splitlines()
    place = next(at for at, line in enumerate(lines) if '"tell"' in line)
    lines[place] = json.dumps(json.loads(lines[place]) | {field: value})
    ledger.write_text("\n".join(lines) + "\n")
    with pytest.raises(
        DamagedFileError, match=rf"damaged in line {place + 1}: {words}; restore it from"
    ):
        resume_sampling(config.out)
