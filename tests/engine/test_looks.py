"""What a method may measure when an epoch ends: with any weights, and without a trace."""

import copy

import pytest
import torch
from hooked import Plain, hooked, odd_weights
from torch.nn.functional import cross_entropy, one_hot

from xnas.engine import end_epoch, play_round, restore_search, search_state
from xnas.engine.gap import accuracy
from xnas.engine.looks import SearchLooks


def played(method=Plain, **arguments):
    search = hooked(method, **arguments)
    for _ in range(search.settings.rounds_per_epoch):
        play_round(search)
    return search


def test_the_whole_half_is_seen_with_batch_statistics_and_nothing_moves():
    search = played()
    looks, weights = SearchLooks(search), odd_weights(search)
    before = {name: t.clone() for name, t in search.supernet.state_dict().items()}
    draws = search.dropout.get_state()
    total, right = 0.0, 0
    with torch.no_grad():
        for images, labels in search.valid.whole():
            logits = copy.deepcopy(search.supernet)(images, weights)
            total += cross_entropy(logits, labels, reduction="sum").item()
            right += int((logits.argmax(-1) == labels).sum())
    assert looks.loss(weights) == pytest.approx(total / 40)
    assert looks.accuracy(weights) == right / 40
    for name, tensor in search.supernet.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    assert torch.equal(search.dropout.get_state(), draws)


def test_without_weights_the_mixtures_are_measured_and_batches_may_be_fewer():
    search = played()
    looks = SearchLooks(search)
    assert looks.accuracy(None) == accuracy(search, search.supernet.spread())
    assert looks.loss(None) == looks.loss(search.supernet.mixtures)
    assert looks.loss(None, 2) == looks.loss(None, 2) != looks.loss(None)


class Projected(Plain):
    """At the end of each epoch keeps on the next edge the operation whose absence hurts most."""

    def __init__(self, mixtures, game):
        super().__init__(mixtures, game)
        self.edge = torch.zeros((), dtype=torch.int64)

    @torch.no_grad()
    def close_epoch(self, looks):
        edge, losses = int(self.edge), []
        mixture = self.mixtures["normal"]
        for expert in range(mixture.shape[1]):
            weights = mixture.clone()
            weights[edge, expert] = 0
            losses.append(looks.loss({"normal": weights}))
        kept = one_hot(torch.tensor(losses).argmax(), mixture.shape[1]).bool()
        self.dead["normal"][edge] = ~kept
        self.edge += 1
        self.write()

    def state_dict(self):
        return super().state_dict() | {"edge": self.edge}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.edge.copy_(state["edge"])


def test_what_a_method_decides_at_the_end_of_an_epoch_leaves_the_network():
    search = played(Projected)
    record = end_epoch(search)
    assert len(record.deleted) == 3
    assert {d.forecaster for d in record.deleted} == {0}
    left = list(search.supernet.forecasters_of("normal", 0)[0].experts)
    assert len(left) == 1
    assert (search.mixtures["normal"][0] == 1).sum() == 1


def test_a_search_resumes_inside_a_projection():
    search = played(Projected)
    end_epoch(search)
    search.begin_epoch()
    play_round(search)
    again = hooked(Projected)
    restore_search(again, copy.deepcopy(search_state(search)))
    records = []
    for twin in (search, again):
        for _ in range(twin.settings.rounds_per_epoch - 1):
            play_round(twin)
        records.append(end_epoch(twin))
    assert records[0] == records[1]
    assert records[0].deleted[0].forecaster == 1


def test_a_method_does_not_decide_while_the_weights_warm_up():
    search = played(Projected, epochs=2, warmup=0.5)
    assert end_epoch(search).deleted == ()
