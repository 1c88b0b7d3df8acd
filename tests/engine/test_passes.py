"""More passes in a round: they give the gradients of autograd, and leave no trace."""

import copy

import pytest
import torch
from hooked import SPACES, Corrected, Plain, SecondOrder, hooked, odd_weights
from torch.nn.functional import cross_entropy

from xnas.engine import end_epoch, play_round, restore_search, search_state
from xnas.engine.search import descend_train_loss, draw_batches
from xnas.methods.darts2 import ahead_gradients

DARTS, BENCHMARK = SPACES
EXACT = {"rtol": 1e-4, "atol": 1e-7}  # in float64, but logits are float32


class ByHand(Plain):
    """What `step` does, as one pass of its own."""

    def learn(self, passes):
        seen = passes.see("valid")
        self.descend({kind: g.sum(0) for kind, g in seen.mixtures.items()})


def begun(method=Plain, rounds=1, **arguments):
    """A search after its first rounds, with new batches."""
    search = hooked(method, **arguments)
    for _ in range(rounds):
        play_round(search)
    draw_batches(search)
    return search


def traces(search):
    """Everything that passes must leave alone, copied."""
    state = search.weight_optimizer.state
    return {
        "weights": [p.detach().clone() for p in search.supernet.parameters()],
        "packed": [leaf.detach().clone() for leaf in search.leaves],
        "buffers": [b.clone() for b in search.supernet.buffers()],
        "momenta": [state[p]["momentum_buffer"].clone() for p in search.weights],
        "gradients": [None if p.grad is None else p.grad.clone() for p in search.weights],
    }


def same(first, second):
    for name, tensors in first.items():
        for one, other in zip(tensors, second[name], strict=True):
            assert (one is other is None) or torch.equal(one, other), name


@pytest.mark.parametrize(
    ("half", "space", "fused"),
    [
        ("train", DARTS, False),
        pytest.param("valid", DARTS, True, marks=pytest.mark.slow),
        ("train", BENCHMARK, True),
    ],
)
def test_gradients_are_those_of_autograd_for_any_weights(half, space, fused):
    search = begun(double=True, fused=fused, **space)
    plain = begun(double=True, **space)
    plain.supernet.load_state_dict(search.supernet.state_dict())
    plain.weight_optimizer.zero_grad()
    images, labels = search.train_batch if half == "train" else search.valid_batch
    weights = {kind: w.requires_grad_() for kind, w in odd_weights(search).items()}
    logits = plain.supernet(images, weights)
    loss = cross_entropy(logits, labels)
    loss.backward()
    before = traces(search)
    both = search.passes.see(half, odd_weights(search), by="both")
    alone = [search.passes.see(half, odd_weights(search), by=by) for by in ("mixtures", "weights")]
    nothing = search.passes.see(half, odd_weights(search), by="nothing")
    same(traces(search), before)
    for kind, w in weights.items():
        torch.testing.assert_close(both.mixtures[kind], w.grad, **EXACT)
        torch.testing.assert_close(alone[0].mixtures[kind], both.mixtures[kind], **EXACT)
    expected = [p.grad for p in plain.weights]
    for joint, one, true in zip(both.weights, alone[1].weights, expected, strict=True):
        torch.testing.assert_close(joint, true, **EXACT)
        torch.testing.assert_close(one, joint, **EXACT)
    assert (alone[0].weights, alone[1].mixtures, nothing.mixtures) == ([], {}, {})
    for seen in (both, *alone, nothing):
        assert float(seen.loss) == pytest.approx(loss.item(), rel=1e-5)
        assert float(seen.accuracy) == (logits.argmax(-1) == labels).double().mean()


@pytest.mark.parametrize("fused", [False, True])
def test_moved_weights_are_put_back_bit_for_bit_even_after_an_error(fused):
    search = begun(fused=fused, space="darts", cells=3)
    passes = search.passes
    gradient = passes.see("train", by="weights").weights
    before, rate = traces(search), float(search.rate)
    with passes.at(gradient, torch.tensor(0.1)):
        for p, old, g in zip(search.weights, before["packed"], gradient, strict=False):
            torch.testing.assert_close(p.detach(), old + 0.1 * g)
        passes.see("valid", by="both")
    same(traces(search), before)
    with passes.ahead(gradient), passes.at(gradient, -3.0):
        steps = zip(search.weights, before["packed"], gradient, before["momenta"], strict=False)
        for p, old, g, momentum in steps:
            expected = old - rate * (0.9 * momentum + g + 3e-4 * old) - 3 * g
            torch.testing.assert_close(p.detach(), expected)
    same(traces(search), before)

    def fail():
        with passes.at(gradient, 1.0):
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    same(traces(search), before)


def test_before_the_first_round_there_is_no_momentum_to_go_on_with():
    search = begun(rounds=0)
    gradient = search.passes.see("train", by="weights").weights
    before = [p.detach().clone() for p in search.weights]
    with search.passes.ahead(gradient):
        for p, old, g in zip(search.weights, before, gradient, strict=True):
            torch.testing.assert_close(p.detach(), old - 0.025 * (g + 3e-4 * old))


def test_a_method_that_learns_by_one_pass_of_its_own_is_the_same_method():
    plain, by_hand = (hooked(method) for method in (Plain, ByHand))
    for search in (plain, by_hand):
        for _ in range(3):
            play_round(search)
    for kind, mixture in plain.mixtures.items():
        assert torch.equal(mixture, by_hand.mixtures[kind])
    states = [search_state(search) for search in (plain, by_hand)]
    for part in ("supernet", "tally"):
        for name, tensor in states[0][part].items():
            assert torch.equal(states[1][part][name], tensor), name


@pytest.mark.parametrize("method", [SecondOrder, Corrected])
def test_running_statistics_move_once_for_each_half_and_round(method):
    search, plain = hooked(method), hooked(Plain)
    for each in (search, plain):
        for _ in range(3):
            play_round(each)
    counts = [
        {int(b) for name, b in s.supernet.named_buffers() if "num_batches" in name}
        for s in (search, plain)
    ]
    assert counts[0] == counts[1] == {6}
    assert torch.equal(search.tally.valid[2], plain.tally.valid[2])
    assert int(search.tally.rounds) == 3


def test_the_validation_loss_is_measured_even_if_a_method_does_not_ask_for_it():
    class Blind(Plain):
        def learn(self, passes):
            passes.see("train")

    search = hooked(Blind)
    play_round(search)
    assert int(search.tally.valid[2]) == 8
    assert end_epoch(search).rewards == {"normal": {}}


def test_a_correction_sees_the_gradients_of_all_cells_and_changes_those_of_the_weights():
    seen = []

    class Still(Plain):
        def correct(self, found, passes):
            seen.append(found)
            for p in passes.weights:
                p.grad.zero_()

    search = hooked(Still)
    draw_batches(search)
    images, labels = search.train_batch
    weights = {k: u.clone().requires_grad_() for k, u in search.supernet.spread().items()}
    twin = copy.deepcopy(search.supernet)
    cross_entropy(twin(images, weights), labels).backward()
    before = [p.detach().clone() for p in search.weights]
    descend_train_loss(search)
    for kind, w in weights.items():
        torch.testing.assert_close(seen[0].mixtures[kind], w.grad, rtol=1e-4, atol=1e-6)
    for p, old in zip(search.weights, before, strict=True):
        torch.testing.assert_close(p.detach(), old * (1 - 0.025 * 3e-4))  # weight decay is left


@pytest.mark.parametrize("space", SPACES)
def test_every_weight_of_an_expert_is_told_where_it_belongs(space):
    search = hooked(Plain, **space)
    places = search.passes.places
    names = {id(p): name for name, p in search.supernet.named_parameters()}
    for p, place in zip(search.passes.weights, places, strict=True):
        assert (place is None) == ("experts" not in names[id(p)])
        if place is not None:
            kind, cell, forecaster, expert = place
            operation = search.supernet.space.operations[expert]
            assert f"forecasters.{forecaster}.experts.{operation}." in names[id(p)]
            assert cell < search.supernet.replications[kind]
    assert len({place for place in places if place}) > 3


@pytest.mark.parametrize(("space", "fused"), [(BENCHMARK, False), (BENCHMARK, True), (DARTS, False)])
def test_second_order_darts_has_the_gradient_of_autograd_through_the_step(monkeypatch, space, fused):
    """In float64 and in small steps, as the kinks of these small networks are near."""
    monkeypatch.setattr("xnas.engine.passes.forward", lambda s, x, weights: s.supernet(x, weights))
    monkeypatch.setattr("xnas.methods.darts2.DIFFERENCE", 1e-5)
    search = begun(double=True, fused=fused, **space)
    twin = copy.deepcopy(begun(double=True, **space).supernet)
    twin.load_state_dict(search.supernet.state_dict())
    before = traces(search)
    found = ahead_gradients(search.passes)
    same(traces(search), before)
    own = {id(m) for m in twin.mixtures.values()}
    named = {name: p for name, p in twin.named_parameters() if id(p) not in own}
    mixtures = {kind: u.clone().requires_grad_() for kind, u in twin.spread().items()}
    images, labels = search.train_batch
    loss = cross_entropy(twin(images, mixtures), labels)
    gradients = torch.autograd.grad(loss, list(named.values()), create_graph=True)
    momenta = [search.weight_optimizer.state[p]["momentum_buffer"] for p in search.weights]
    ahead = {
        name: p - search.rate * (0.9 * m + g + 3e-4 * p)
        for (name, p), m, g in zip(named.items(), momenta, gradients, strict=True)
    }
    images, labels = search.valid_batch
    logits = torch.func.functional_call(twin, ahead, (images, mixtures))
    cross_entropy(logits, labels).backward()
    first_order = search.passes.see("valid").mixtures
    for kind, u in mixtures.items():
        torch.testing.assert_close(found[kind], u.grad.sum(0), rtol=1e-6, atol=1e-7)
        assert (found[kind] - first_order[kind].sum(0)).abs().max() > 1e-4


@pytest.mark.parametrize("method", [SecondOrder, Corrected])
def test_a_search_by_passes_resumes_inside_an_epoch(method):
    search, again = hooked(method), hooked(method)
    for _ in range(2):
        play_round(search)
    restore_search(again, copy.deepcopy(search_state(search)))
    for twin in (search, again):
        play_round(twin)
    states = [search_state(twin) for twin in (search, again)]
    for name, tensor in states[0]["supernet"].items():
        assert torch.equal(states[1]["supernet"][name], tensor), name
