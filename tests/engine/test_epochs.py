"""Between epochs: deletion, records, the discretisation gap, worries."""

import copy
import json
import math
from dataclasses import asdict, replace

import pytest
import torch
from searching import engine

from xnas import RoundError
from xnas.engine import (
    delete_wiped,
    discretization_gap,
    end_epoch,
    impossible,
    outlook,
    play_round,
    worries,
)
from xnas.engine.gap import accuracy, chosen_mixtures, untouched_buffers
from xnas.methods import Game
from xnas.records import EpochCost, SearchEpoch
from xnas.space import discretize, explain
from xnas.theory import expected_wipeout


def wipe_out(search, kind, forecaster, experts):
    """Make the method believe that experts were wiped out in round 1."""
    state = search.method.state[search.mixtures[kind]]
    for expert in experts:
        state["wiped_at"][forecaster, expert] = 1
    with torch.no_grad():
        mixture = search.mixtures[kind][forecaster]
        mixture[experts] = 0
        mixture /= mixture.sum()


def close(search):
    return end_epoch(search, seconds=2.0, memory_bytes=7, gap=None)


def test_deletion_takes_modules_weights_and_momenta_from_every_cell():
    search = engine(epochs=4)
    play_round(search)
    wipe_out(search, "reduction", 4, [3, 6])
    doomed = [
        p
        for cell in search.supernet.cells
        if cell.kind == "reduction"
        for name in ("sep_conv_3x3", "dil_conv_5x5")
        for p in cell.forecasters[4].experts[name].parameters()
    ]
    assert doomed
    assert all(p in search.weight_optimizer.state for p in doomed)
    gone = delete_wiped(search)
    assert [(d.kind, d.forecaster, d.operation) for d in gone] == [
        ("reduction", 4, "sep_conv_3x3"),
        ("reduction", 4, "dil_conv_5x5"),
    ]
    assert all(p not in search.weight_optimizer.state for p in doomed)
    left = {id(p) for p in search.supernet.parameters()}
    for parameters in (search.weights, search.weight_optimizer.param_groups[0]["params"]):
        assert not {id(p) for p in doomed} & {id(p) for p in parameters}
        assert {id(p) for p in parameters} <= left
    assert delete_wiped(search) == ()
    play_round(search)  # and the search goes on


def test_deletion_changes_no_prediction():
    search = engine(epochs=4)
    play_round(search)
    wipe_out(search, "normal", 0, [0, 1])
    search.supernet.eval()
    x = search.valid_batch[0]
    before = search.supernet(x)
    delete_wiped(search)
    assert torch.equal(search.supernet(x), before)


def test_an_epoch_is_recorded_with_what_it_added_up():
    search = engine(epochs=4)
    for _ in range(5):
        play_round(search)
    record = close(search)
    assert (record.epoch, record.rounds) == (1, 5)
    assert record.cost == EpochCost(seconds=2.0, seconds_per_round=0.4, memory_bytes=7)
    assert record.train_loss == pytest.approx(math.log(2), abs=0.5)
    assert 0 <= record.valid_accuracy <= 1
    assert record.experts_alive == {"normal": 98, "reduction": 98}
    assert set(record.rewards["normal"]) == set(search.supernet.space.operations)
    total = sum(record.rewards_by_stage["reduction"][s]["sep_conv_3x3"] for s in ("0", "1"))
    assert total == pytest.approx(record.rewards["reduction"]["sep_conv_3x3"])
    assert SearchEpoch.from_json(json.loads(json.dumps(asdict(record)))) == record


def test_mean_rewards_are_over_the_forecasters_in_which_an_operation_lives():
    search = engine(epochs=4)
    play_round(search)
    total = search.tally.rewards["reduction"].zero_()
    total[0, :, 3] = torch.arange(1.0, 15)  # 8 on average without that of the first forecaster
    total[1] = 2 * total[0]
    search.tally.rounds.fill_(2)
    wipe_out(search, "reduction", 0, [3])
    for forecaster in range(14):
        wipe_out(search, "reduction", forecaster, [6])
    record = close(search)
    assert record.rewards["reduction"]["sep_conv_3x3"] == pytest.approx((8 + 16) / 2)
    stages = record.rewards_by_stage["reduction"]
    assert [stages[s]["sep_conv_3x3"] for s in ("0", "1")] == pytest.approx([8 / 2, 16 / 2])
    for means in (record.rewards["reduction"], *stages.values()):
        assert set(means) == set(search.supernet.space.operations) - {"dil_conv_5x5"}


def settle(search):
    """Leave one expert to every forecaster."""
    for kind in search.mixtures:
        for forecaster in range(14):
            wipe_out(search, kind, forecaster, [0, 1, 2, 4, 5, 6])


def test_an_epoch_that_reveals_no_rewards_reports_none():
    search = engine(epochs=4)
    play_round(search)
    settle(search)
    assert close(search).rewards["normal"].keys() == {"sep_conv_3x3"}
    search.begin_epoch()
    play_round(search)
    record = close(search)
    assert (record.rewards, record.rewards_by_stage) == ({"normal": {}, "reduction": {}}, {})
    assert SearchEpoch.from_json(json.loads(json.dumps(asdict(record)))) == record


def test_learning_stops_when_every_forecaster_has_one_expert_left():
    search = engine(epochs=4)
    play_round(search)
    settle(search)
    close(search)
    assert not search.learning
    assert search.settled_at == 5
    before = search.method.ledger(search.mixtures["normal"])
    weights = [p.detach().clone() for p in search.weights]
    search.begin_epoch()
    play_round(search)
    assert search.method.ledger(search.mixtures["normal"]) == before
    assert any(not torch.equal(p, w) for p, w in zip(search.weights, weights, strict=True))
    assert search.tally.valid[2] == 8  # the validation loss is still seen


def test_losses_that_are_not_finite_end_the_run():
    search = engine(epochs=4)
    play_round(search)
    search.tally.train += torch.tensor([math.nan, 0.0, 8.0])
    search.tally.valid += 1
    with pytest.raises(RoundError, match=r"loss of epoch 1 is nan; lower --weights-lr from 0\.025"):
        close(search)


def test_the_gap_measures_mixture_experts_and_cell_and_touches_nothing():
    search = engine(epochs=4)
    for _ in range(3):
        play_round(search)
    before = copy.deepcopy(search.supernet.state_dict())
    gap = discretization_gap(search)
    for name, value in search.supernet.state_dict().items():
        assert torch.equal(value, before[name]), name
    with untouched_buffers(search.supernet):
        assert gap.mixture == accuracy(search, search.supernet.spread())
    experts, cell = chosen_mixtures(search, search.supernet.space)
    for kind, u in experts.items():
        assert torch.equal(u.sum(-1), torch.ones(14))
        kept = cell[kind].sum(-1)
        assert torch.equal(cell[kind], u * kept[:, None])
        nodes = torch.tensor([node for _, node in search.supernet.space.edges])
        assert [int(kept[nodes == n].sum()) for n in (2, 3, 4, 5)] == [2, 2, 2, 2]


def test_a_supernet_decided_already_has_no_gap_between_mixture_and_experts():
    search = engine(epochs=4)
    settle(search)
    gap = discretization_gap(search)
    assert gap.mixture == gap.experts


@pytest.mark.parametrize(
    ("gap", "relaxation", "share"),
    [(2.0, 1.0, 0.5), (0.1, 1.0, 2 / 2.1), (0.05, 0.1, 0.2 / 0.25), (0.0, 1.0, 1.0)],
)
def test_wipeouts_are_expected_when_the_gap_outgrows_the_reach(gap, relaxation, share):
    found = expected_wipeout(torch.tensor(gap), reward_bound=1.0, relaxation=relaxation).item()
    assert found == pytest.approx(share)


@pytest.mark.parametrize(("accounting", "rounds"), [("update", 1), ("sample", 8 * 2)])
def test_the_outlook_is_that_of_steady_gaps(accounting, rounds):
    search = engine(epochs=10)
    for _ in range(5):
        play_round(search)
    game = Game(
        updates=50,
        examples=40,
        epochs=10,
        batch_size=8,
        replications=dict.fromkeys(search.mixtures, 2),
        accounting=accounting,
    )
    for mixture in search.mixtures.values():  # everybody but expert 0 falls behind by 0.5 a round
        table = search.method.state[mixture]["cumulative_rewards"]
        table.fill_(-2.5 * rounds)
        table[:, 0] = 0
    search.round_in_epoch = 5
    found = outlook(search, game)
    assert found.first == found.median == pytest.approx(10 * 2 / 2.5)
    assert "first expected in epoch 8 of 10" in found.line()
    assert "--relaxation 0.25 would bring that to half-time" in found.line()


def test_settings_that_allow_no_wipeout_are_told_before_the_start():
    assert "no expert can be wiped out before the last of 1 epochs" in impossible(1, 1.0, wipeout=True)
    assert impossible(10, 1.0, wipeout=True) is None
    assert impossible(1, 1.0, wipeout=False) is None


def test_skips_that_take_over_and_early_decisions_are_told_once():
    search = engine(epochs=9)
    for _ in range(5):
        play_round(search)
    record = close(search)
    told = set()
    bad = replace(
        record, skip_share={"normal": 0.6, "reduction": 0.0}, entropy={"normal": 0.3, "reduction": 0.9}
    )
    lines = worries(bad, epochs=9, told=told)
    assert "skip connections lead 60 % of the normal cell's edges" in lines[0]
    assert "a higher --skip-dropout" in lines[0]
    assert "entropy is down to 0.30 in epoch 1 of 9" in lines[1]
    assert worries(bad, epochs=9, told=told) == []
    assert worries(record, epochs=9, told=set()) == []


def test_skips_are_counted_in_the_cell_that_a_search_would_give():
    search = engine(space="nasbench201", cells=1, include_none=True)
    operations, mixture = search.supernet.space.operations, search.mixtures["normal"]
    sums = search.method.state[mixture]["cumulative_rewards"]
    sums[:] = 0
    sums[:, operations.index("none")] = 2  # leads everywhere, and no cell has it
    sums[:2, operations.index("skip_connect")] = 1
    sums[2:, operations.index("nor_conv_3x3")] = 1
    play_round(search)
    record = end_epoch(search, seconds=1.0, memory_bytes=0, gap=None)
    assert record.skip_share["normal"] == pytest.approx(2 / 6)


def test_edges_whose_rivals_were_wiped_at_one_gap_lead_by_it_wherever_they_went_since():
    search = engine(space="nasbench201", cells=1)
    account = search.method.state[search.mixtures["normal"]]
    account["wiped_at"][:, 1:] = 1
    account["gap_when_wiped"][:, 1:] = 20
    account["cumulative_rewards"][:] = -10
    account["cumulative_rewards"][:, 0] = torch.tensor([-20, 40, -20, 40, -20, 40])
    strengths, alive, sums = search.standing()
    choices = explain(strengths, alive, search.supernet.space, sums)
    assert [choice.lead for choice in choices] == [20.0] * 6


def only_none(search, edge):
    """Wipe everybody but `none` out on one edge; gives its column and that of the strongest other."""
    operations, mixture = search.supernet.space.operations, search.mixtures["normal"]
    account, none = search.method.state[mixture], operations.index("none")
    best = operations.index("nor_conv_3x3")
    account["cumulative_rewards"][edge, none] = 5
    account["gap_when_wiped"][edge] = 3
    account["gap_when_wiped"][edge, best] = 1
    account["wiped_at"][edge] = 1
    account["wiped_at"][edge, none] = 0
    return none, best


def test_the_gap_is_that_of_the_cell_that_is_written_where_only_none_lives():
    search = engine(space="nasbench201", cells=1, include_none=True, epochs=4)
    play_round(search)
    space, mixture = search.supernet.space, search.mixtures["normal"]
    none, best = only_none(search, edge := 2)
    assert search.method.alive(mixture)[edge].nonzero().tolist() == [[none]]
    experts, cell = chosen_mixtures(search, space)
    written = discretize(*search.standing()[:2], space, search.standing()[2])
    source, node = space.edges[edge]
    operation = next(e.operation for e in written.normal.nodes[node - 1] if e.source == source)
    assert operation == space.operations[best]
    assert experts["normal"][edge].argmax() == none
    assert cell["normal"][edge].argmax() == best  # its module is still there
    assert discretization_gap(search).cell is not None
    delete_wiped(search)
    assert chosen_mixtures(search, space)[1] is None
    gap = discretization_gap(search)
    assert gap.cell is None
    assert 0 <= gap.experts <= 1
