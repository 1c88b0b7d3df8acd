"""What cutting an edge costs, against a network that is cut by hand."""

from dataclasses import replace

import pytest
import torch
from searching import small_engine
from torch.nn.functional import cross_entropy

from xnas.engine import end_epoch, play_round
from xnas.engine.absence import absence_costs

pytestmark = pytest.mark.usefixtures("small_space")


def test_a_cost_is_the_difference_of_two_losses():
    search = small_engine()
    for _ in range(3):
        play_round(search)
    before = {name: value.clone() for name, value in search.supernet.state_dict().items()}
    batches = list(search.valid.whole(1))
    costs = absence_costs(search, batches)
    assert {kind: values.shape for kind, values in costs.items()} == {
        "normal": (5,),
        "reduction": (5,),
    }
    assert all(torch.equal(before[name], v) for name, v in search.supernet.state_dict().items())

    mixtures = {kind: torch.zeros_like(u) for kind, u in search.supernet.spread().items()}
    for kind, u in search.mixtures.items():
        best = search.method.comparable_sums(u).argmax(-1)
        mixtures[kind][:, torch.arange(5), best] = 1

    def loss():
        losses = [cross_entropy(search.supernet(x, mixtures), y, reduction="sum") for x, y in batches]
        return sum(losses).item() / sum(len(y) for _, y in batches)

    with torch.no_grad():
        whole = loss()
        mixtures["reduction"][:, 4] = 0
        assert costs["reduction"][4].item() == pytest.approx(loss() - whole, abs=1e-5)
    assert max(values.abs().max() for values in costs.values()) > 1e-4


def test_costs_of_all_epochs_but_those_of_the_warm_up_are_added_up():
    search = small_engine()
    search.settings = replace(search.settings, warmup_epochs=1, absence_batches=1)
    added = {kind: torch.zeros(5, dtype=torch.float64) for kind in search.mixtures}
    for epoch in range(3):
        search.begin_epoch()
        play_round(search)
        if epoch > 0:
            batches = list(search.valid.whole(1, skip=epoch))
            for kind, cost in absence_costs(search, batches).items():
                added[kind] += cost
        end_epoch(search)
        assert all(torch.equal(search.edge_costs[kind], added[kind]) for kind in added)
    assert all(search.standing().edge_costs[kind] is search.edge_costs[kind] for kind in added)
