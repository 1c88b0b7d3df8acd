"""What became of runs, read from their folders."""

import json
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
from comparing import SEARCH, images
from runs_written import written

from xnas import Genotype, SearchConfig, TrainConfig, search
from xnas.errors import ConfigError, GenotypeError
from xnas.runs.comparison.outcomes import finished, outcome, waiting
from xnas.runs.comparison.plan import PlannedRun
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.trial_ledger import TrialLedger
from xnas.samplers import Result, Trial

CELLS = [Genotype.random("nasbench201", seed) for seed in range(4)]


class Truth:
    """Knows that the random cell of seed n has 90 + n percent, and no others."""

    def truth(self, cell):
        known = {own: 90.0 + place for place, own in enumerate(CELLS)}
        return SimpleNamespace(accuracy=known.get(cell, 50.0))


def planned(config, **more):
    usual = {"name": "one-0", "entry": "one", "kind": "method", "data": "stripes", "seed": 0}
    return PlannedRun(**usual | {"space": "nasbench201", "search": config, "train": None} | more)


@pytest.fixture
def sampled(tmp_path):
    """A sampling of four results, one of them failed, whose best cells are 1 and then 3."""
    place = tmp_path / "runs" / "one-0"
    place.mkdir(parents=True)
    ledger = TrialLedger(place / "ledger.jsonl", nullcontext)
    for number, (cell, value) in enumerate(((1, 0.5), (0, 0.4), (3, 0.75), (2, None))):
        ledger.ask(Trial(number=number, genotype=CELLS[cell]))
        state = "failed" if value is None else "done"
        ledger.tell(Result(number=number, value=value, state=state, at=1))
    (place / "genotype.json").write_text(CELLS[3].to_json(), encoding="utf8")
    costs = "".join(f'{{"number": {number}, "seconds": 30}}\n' for number in range(4))
    (place / "costs.jsonl").write_text(costs, encoding="utf8")
    trial = {"metrics.jsonl": [{"cost": {"memory_bytes": 7}}]}
    written(place / "trials" / "00000", "train", trial)
    return tmp_path


def test_the_best_cell_of_a_sampling_with_rungs_is_of_the_highest(sampled):
    place = sampled / "runs" / "one-0"
    (place / "ledger.jsonl").unlink()
    ledger = TrialLedger(place / "ledger.jsonl", nullcontext)
    for number, (budget, value) in enumerate(((1, 0.7), (9, 0.5), (1, 0.8), (9, 0.6))):
        ledger.ask(Trial(number=number, genotype=CELLS[number], budget=budget))
        ledger.tell(Result(number=number, value=value, state="done", at=budget))
    found = outcome(planned(SampleConfig(space="nasbench201")), sampled, None)
    assert [value for _, value in found.curve] == [70, 50, 60]


def test_a_sampling_gives_its_best_cell_and_when_better_ones_came(sampled):
    run = planned(SampleConfig(space="nasbench201"))
    found = outcome(run, sampled, Truth())
    assert (found.state, found.accuracy) == ("done", 93)
    assert found.curve == ((1, 91), (3, 93), (4, 93))
    assert (found.minutes, found.memory_bytes) == (2, 7)
    assert outcome(run, sampled, None).curve == ((1, 50), (3, 75), (4, 75))
    table = planned(SampleConfig(space="nasbench201", evaluator="table"))
    assert outcome(table, sampled, Truth()).minutes is None


def test_a_search_gives_the_cell_of_every_epoch(tmp_path):
    config = SearchConfig(space="nasbench201", device="cpu", quiet=True, **SEARCH | {"epochs": 2})
    run = planned(config)
    assert not finished(run, tmp_path)
    search(replace(config, out=tmp_path / "runs" / "one-0"), images())
    assert finished(run, tmp_path)
    found = outcome(run, tmp_path, None)
    last = (tmp_path / "runs/one-0/metrics.jsonl").read_text().splitlines()[-1]
    assert found.accuracy == 100 * json.loads(last)["valid_accuracy"]
    assert [epoch for epoch, _ in found.curve] == [1, 2]
    assert found.minutes > 0
    assert [value for _, value in outcome(run, tmp_path, Truth()).curve] == [50, 50]


def test_a_random_cell_has_the_test_accuracy_of_its_training(tmp_path):
    run = planned(None, train=TrainConfig(), kind="random")
    place = tmp_path / "runs" / "one-0-training"
    cost = {"seconds": 60.0, "seconds_per_round": 1.0, "memory_bytes": 5}
    epoch = dict.fromkeys(("learning_rate", "drop_path_rate", "train_loss", "train_accuracy"), 0.5)
    epoch |= {"epoch": 1, "steps": 2, "valid_loss": None, "valid_accuracy": None, "cost": cost}
    written(place, "train", {"metrics.jsonl": [epoch]})
    with pytest.raises(ConfigError, match="the data have no test images; hold some out"):
        outcome(run, tmp_path, None)
    (place / "test.json").write_text('{"top1": 0.625}', encoding="utf8")
    found = outcome(run, tmp_path, None)
    assert (found.accuracy, found.minutes, found.memory_bytes, found.curve) == (62.5, 1, 5, ())


def test_a_folder_without_a_cell_is_an_error(tmp_path):
    with pytest.raises(GenotypeError):
        outcome(planned(SearchConfig(space="nasbench201")), tmp_path, None)


def test_a_run_without_an_outcome_waits_or_has_failed():
    run = planned(None)
    assert (waiting(run).state, waiting(run, "why").state, waiting(run, "why").reason) == (
        *("waiting", "failed"),
        "why",
    )
