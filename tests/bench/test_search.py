from dataclasses import replace

import pytest
import torch

from xnas.bench import search as bench_search
from xnas.bench.measuring import noise
from xnas.bench.options import BenchSearchConfig
from xnas.bench.search import CASES, keep_experts, measure_case, planned
from xnas.engine import play_round
from xnas.report.tables import round_cost_table
from xnas.runs.prepare import prepare

TINY = BenchSearchConfig(cells=3, channels=2, batch_size=4, image_size=8, rounds=3, device="cpu")


@pytest.mark.parametrize(("case", "left"), [("all experts", 7), ("four an edge", 4), ("one an edge", 1)])
def test_only_the_experts_of_a_case_are_left_and_rounds_continue(case, left):
    search = prepare(
        TINY.search_config(), noise(2 * TINY.batch_size * (TINY.rounds + 2), TINY.image_size)
    ).search
    keep_experts(search, CASES["darts"][case])
    search.begin_epoch()
    play_round(search)
    for cell in search.supernet.cells:
        assert {len(f.experts) for f in cell.forecasters} == {left}
    for mixture in search.mixtures.values():
        torch.testing.assert_close(mixture.sum(-1), torch.ones(14))
        assert (search.method.alive(mixture).sum(-1) == left).all()


def test_a_case_is_measured_and_shown():
    cost = measure_case("one an edge", TINY)
    assert cost.experts == 28
    assert cost.milliseconds > 0
    assert 0 < cost.method_share < 1
    table = round_cost_table([cost, cost]).splitlines()
    assert table[0] == "CPU"
    assert len(table) == 4
    assert "1.00" in table[2]
    assert "reference, fp32" in table[2]


def test_a_fused_case_of_the_other_space_is_measured():
    config = replace(TINY, space="nasbench201", cells=1)
    cost = measure_case("two an edge", config, "fused")
    assert (cost.backend, cost.precision, cost.experts) == ("fused", "fp32", 12)


def test_plain_and_fused_stand_side_by_side(monkeypatch):
    every, *fewer = CASES["darts"]
    assert planned(TINY) == [("reference", c) for c in (every, *fewer)] + [("fused", every)]
    monkeypatch.setattr(bench_search, "pick_device", lambda _: torch.device("cuda"))
    assert planned(TINY) == [("reference", every), *(("fused", c) for c in CASES["darts"])]


def test_no_share_is_reported_of_a_step_inside_a_captured_round():
    cost = replace(measure_case("one an edge", TINY), method_share=None)
    assert round_cost_table([cost]).splitlines()[2].split()[-1].isdigit()
