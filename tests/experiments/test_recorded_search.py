"""A recorded search that is stopped resumes as if it had not been, here and on another machine."""

import json
from argparse import Namespace

import numpy as np
import pytest
import torch

import recorded_search
import recorded_searches as records
from recorded_search import RecordedSearch, is_running, packed, play, played, unpacked

JOB = RecordedSearch(variant="absent-rules", seed=3, size="tiny")


def silent(line):
    pass


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Two epochs."""
    size = recorded_search.SIZES["tiny"]
    monkeypatch.setitem(size.settings, "epochs", 2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(recorded_search.SIZES["tiny"].settings, "epochs", 2)
        play(JOB, folder, device="cpu", say=silent)
    return folder


def lasting(folder):
    return [
        {k: v for k, v in line.items() if k not in {"seconds", "seconds_at_end"}}
        for line in played(folder)
    ]


@pytest.mark.slow
def test_records_add_up(whole):
    first, last = played(whole)
    for kind, cells in (("normal", 1), ("reduction", 2)):
        paid = np.array(first["paid"][kind]) + np.array(last["paid"][kind])
        assert paid.shape == (cells, 14, 7)
        # The method's sums are of clipped rewards, and few of so small a search are clipped.
        alike = np.isclose(paid.sum(0), last["sums"][kind], rtol=1e-6, atol=1e-7)
        assert alike.mean() > 0.9
        assert np.array(last["mixture"][kind]).sum(-1) == pytest.approx(np.ones(14))
        assert len(first["edge_costs"][kind]) == len(last["edge_costs"][kind]) == 14
        assert first["edge_costs"][kind] != last["edge_costs"][kind]
    assert first["auto_augment_chance"] == 0
    assert last["cell"]["format"] == "xnas-genotype"
    header = json.loads((whole / "records.jsonl").read_text().splitlines()[0])
    assert header["settings"]["expert_dropout"] == 0.5
    assert header["settings"]["best_temperature"]


@pytest.mark.slow
def test_a_search_that_was_stopped_gives_the_same_records(whole, tmp_path):
    play(JOB, tmp_path, device="cpu", stop_after=1, say=silent)
    assert len(played(tmp_path)) == 1
    with (tmp_path / "records.jsonl").open("a") as file:
        file.write('{"epoch": 2, "half a line')  # as a killed process leaves it
    play(JOB, tmp_path, device="cpu", say=silent)
    assert lasting(tmp_path) == lasting(whole)
    assert not is_running(tmp_path)


@pytest.mark.slow
def test_what_was_collected_is_taken_up_elsewhere(tmp_path):
    arguments = Namespace(runs=tmp_path / "runs", out=tmp_path / "out", checkpoints=True)
    play(JOB, arguments.runs / JOB.name, device="cpu", stop_after=1, say=silent)
    records.collect([JOB], arguments)
    assert {path.name for path in arguments.out.iterdir()} == {"records.tar.gz", "resume-1.pt.gz"}
    there = Namespace(runs=tmp_path / "there", resume_from=arguments.out)
    records.take_up([JOB], there)
    assert played(there.runs / JOB.name) == played(arguments.runs / JOB.name)
    play(JOB, there.runs / JOB.name, device="cpu", say=silent)
    assert [line["epoch"] for line in played(there.runs / JOB.name)] == [1, 2]
    assert "2 |" in records.table([JOB], there)


def test_packing_keeps_counters_and_halves_weights():
    state = {"w": torch.randn(4, 5), "t": torch.tensor(1.5), "n": [torch.arange(3), 7]}
    small = packed(state)
    assert small["w"].dtype == torch.bfloat16
    again = unpacked(small)
    torch.testing.assert_close(again["w"], state["w"], rtol=1e-2, atol=1e-2)
    assert (again["t"], again["n"][1]) == (1.5, 7)
    assert torch.equal(again["n"][0], state["n"][0])
