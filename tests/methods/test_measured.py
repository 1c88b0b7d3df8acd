"""Costs that were measured are those of the results."""

import json
from pathlib import Path

import pytest

from xnas.methods import METHODS
from xnas.methods.measured import MEASURED

RESULTS = Path(__file__).parents[2] / "results" / "method_costs.jsonl"


def test_measured_costs_are_those_of_the_results():
    lines = [json.loads(line) for line in RESULTS.read_text(encoding="utf8").splitlines()]
    found = {line["method"]: line for line in lines if line["space"] == "darts" and not line["failure"]}
    assert {*MEASURED} == {*found} <= {*METHODS}
    for name, (rounds, gib) in MEASURED.items():
        assert rounds == pytest.approx(
            found[name]["milliseconds"] / found["xnas"]["milliseconds"], abs=0.006
        )
        assert gib == pytest.approx(found[name]["memory_bytes"] / 2**30, abs=0.051)
