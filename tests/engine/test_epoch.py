"""Between epochs: deletion, records, the discretization gap, worries."""

import json
import math
from dataclasses import asdict

import pytest
import torch
from searching import close, engine, settle, wipe_out

from xnas import RoundError
from xnas.engine import (
    delete_wiped,
    end_epoch,
    play_round,
)
from xnas.records import EpochCost, SearchEpoch


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
    choices = search.standing().choices(search.supernet.space)
    assert [choice.lead for choice in choices] == [20.0] * 6
