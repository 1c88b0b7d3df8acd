"""Costs of trials: for the record, and never an obstacle."""

from contextlib import nullcontext

from xnas.runs.sampling.costs_file import CostsFile
from xnas.samplers import Result


def test_seconds_are_those_of_whole_lines(tmp_path):
    costs = CostsFile(tmp_path / "costs.jsonl", nullcontext)
    assert costs.seconds() == {}
    for number, seconds in ((0, 1.5), (1, 2.0), (0, 1.0)):
        costs.add(Result(number=number, value=0.1, state="done", cost={"seconds": seconds}))
    with costs.path.open("a") as file:
        file.write('[1]\n{"number": 3}\n\xff\n{"number": 7, "sec')
    assert costs.seconds() == {0: 1.0, 1: 2.0}
