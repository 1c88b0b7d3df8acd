"""Projection: operations and edges go by what accuracy loses without them."""

import pytest
import torch
from method_games import SPACE, build, game

from xnas import uniform_mixture
from xnas.methods.logits import PrunedLogits
from xnas.methods.projection import Projected, decision_epochs

DARTS_EDGES = tuple((source, node) for node in range(2, 6) for source in range(node))


class Looks:
    """Accuracy is what the useful operations still weigh; weights that were seen are kept."""

    def __init__(self, useful):
        self.useful, self.draw = useful, torch.Generator().manual_seed(0)
        self.seen = []

    def accuracy(self, weights, batches=None):
        self.seen.append(({k: w.clone() for k, w in weights.items()}, batches))
        return float(sum((w * self.useful[kind]).sum() for kind, w in weights.items()))


def projected(edges=DARTS_EDGES, experts=5, **arguments):
    names = ("skip_connect", "sep_conv_3x3", "none", "avg_pool_3x3", "sep_conv_5x5")[:experts]
    space = {"operations": names, "edges": edges, "kept_edges": 2, "replications": {"normal": 1}}
    mixtures = {"normal": uniform_mixture(len(edges), experts)}
    played = game(**space | arguments)
    return mixtures["normal"], Projected(PrunedLogits("pt", mixtures, played), mixtures, played)


def test_the_operation_whose_absence_hurts_most_is_kept():
    class Three(Looks):
        def accuracy(self, weights, batches=None):
            self.seen.append(({"normal": weights["normal"].clone()}, batches))
            absent = (weights["normal"][0] == 0).nonzero().flatten().tolist()
            return [0.81, 0.79, 0.80][absent[0]]

    mixture, method = projected(edges=((0, 2),), experts=3, operations=("a", "b", "c"))
    method.inner.logits[0].data.copy_(torch.tensor([[0.2, -0.1, 0.4]]))
    method.inner.write_beliefs()
    looks = Three({})
    method.decide_edge("normal", 0, looks)
    assert method.alive(mixture).tolist() == [[False, True, False]]
    assert mixture.tolist() == [[0, 1, 0]]
    assert looks.seen[1][0]["normal"][0].tolist() == pytest.approx([0.337585, 0, 0.412327], abs=6e-7)
    assert looks.seen[1][1] == 20


def test_planted_operations_and_edges_stay_and_the_useless_go():
    mixture, method = projected()
    useful = torch.rand(14, 5, generator=torch.Generator().manual_seed(1)) / 10
    useful[:, 4] = 1.0
    useful[:, 2] = 9.0  # `none` is never kept, whatever it is worth
    best = [0, 1, 2, 4, 6, 8, 9, 13]
    useful[best] *= 2
    method.begin_epoch(19)
    method.close_epoch(Looks({"normal": useful}))
    strengths = method.strengths(mixture)
    assert strengths.nonzero().tolist() == [[row, 4] for row in best]
    assert (strengths[strengths > 0] == 1).all()
    weights = method.weights("weights", None)["normal"]
    assert torch.equal(weights.double(), strengths)
    assert mixture.sum(-1).tolist() == [1] * 14


def test_nothing_is_decided_before_the_last_epoch():
    mixture, method = projected()
    method.begin_epoch(18)
    method.close_epoch(None)
    assert method.alive(mixture).all()


def test_decisions_of_the_published_forms_come_every_five_epochs():
    assert decision_epochs(17, 81) == list(range(0, 81, 5))
    assert decision_epochs(6, 25) == [0, 5, 10, 15, 20, 24]  # on NAS-Bench-201
    assert decision_epochs(17, 2) == [0] + [1] * 16


def test_with_a_second_stage_decisions_are_spread_over_it():
    _, method = projected(stages=(50, 81), epochs=131)
    due = [method.due(epoch) for epoch in range(131)]
    assert sum(due) == 17
    assert [epoch for epoch, count in enumerate(due) if count] == list(range(49, 130, 5))


def test_epochs_of_a_warm_up_are_not_counted_as_the_method_does_not_see_them():
    _, method = projected(stages=(50, 81), epochs=131 - 40)
    due = [method.due(epoch) for epoch in range(91)]
    assert [epoch for epoch, count in enumerate(due) if count] == list(range(9, 90, 5))


@pytest.mark.parametrize("learning", [1, 2, 5, 81, 82])
def test_no_decision_is_lost_if_the_warm_up_takes_the_first_stage(learning):
    _, method = projected(stages=(50, 81), epochs=learning)
    assert sum(method.due(epoch) for epoch in range(learning)) == 17


def test_a_search_that_was_stopped_between_decisions_resumes_with_them():
    mixture, method = projected()
    useful = torch.rand(14, 5, generator=torch.Generator().manual_seed(1))
    looks = Looks({"normal": useful})
    for _ in range(15):
        method.decide("normal", looks)
    other_mixture, other = projected()
    other.load_state_dict(method.state_dict())
    assert torch.equal(other.alive(other_mixture), method.alive(mixture))
    assert torch.equal(other.strengths(other_mixture), method.strengths(mixture))
    assert torch.equal(other_mixture, mixture)


def test_on_top_of_xnas_losers_are_wiped_out():
    mixtures, method = build("xnas-pt")
    useful = {kind: torch.zeros(4, 5) for kind in mixtures}
    for table in useful.values():
        table[:, 1] = 1
    method.begin_epoch(19)
    method.close_epoch(Looks(useful))
    for mixture in mixtures.values():
        assert (method.alive(mixture).sum(-1) == 1).all()
        assert method.alive(mixture)[:, 1].all()
    assert method.ledger(mixtures["normal"]).horizon == 200


def test_the_control_never_learns():
    assert not build("darts-pt-blank")[1].learns(3, 3)
    assert build("darts-pt-quick")[1].learns(3, 3)
    assert SPACE["kept_edges"] == 1
