"""What cutting an edge costs, against a network that is cut by hand."""

import pytest
import torch
from searching import engine
from torch.nn.functional import cross_entropy

from xnas.engine import play_round
from xnas.engine.absence import absence_costs


@pytest.mark.parametrize("alone", [False, True])
def test_a_cost_is_the_difference_of_two_losses(alone):
    search = engine()
    for _ in range(3):
        play_round(search)
    before = {name: value.clone() for name, value in search.supernet.state_dict().items()}
    costs = absence_costs(search, batches=1, alone=alone)
    assert {kind: len(values) for kind, values in costs.items()} == {"normal": 14, "reduction": 14}
    assert all(torch.equal(before[name], v) for name, v in search.supernet.state_dict().items())

    mixtures = {kind: u.clone() for kind, u in search.supernet.spread().items()}
    if alone:
        for kind, u in search.mixtures.items():
            best = search.method.comparable_sums(u).argmax(-1)
            mixtures[kind] = torch.zeros_like(mixtures[kind])
            mixtures[kind][:, torch.arange(14), best] = 1

    def loss():
        batches = list(search.valid.whole(1))
        losses = [cross_entropy(search.supernet(x, mixtures), y, reduction="sum") for x, y in batches]
        return sum(losses).item() / sum(len(y) for _, y in batches)

    with torch.no_grad():
        whole = loss()
        mixtures["reduction"][:, 5] = 0
        assert costs["reduction"][5] == pytest.approx(loss() - whole, abs=1e-5)
    assert max(abs(cost) for values in costs.values() for cost in values) > 1e-4
