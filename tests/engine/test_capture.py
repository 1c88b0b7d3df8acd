"""What surrounds a captured round, without a GPU: warming up leaves no trace, replays need no host.

A stand-in warms up as a capture does and then "replays" by playing the step again. Real graphs are in
`test_cuda.py`.
"""

import pytest
import torch
from hooked import Corrected, Sampled, SecondOrder, hooked
from searching import small_engine

from xnas.engine import captured_round, end_epoch, play_round, search_state
from xnas.engine.capture import copied, put_back

pytestmark = pytest.mark.usefixtures("small_space")


def tensors(state):
    """Tensors of a nested state, by where they stand."""
    if isinstance(state, torch.Tensor):
        return {"": state}
    items = state.items() if isinstance(state, dict) else enumerate(state)
    return {
        f"{key}/{inner}": tensor
        for key, value in items
        if isinstance(value, torch.Tensor | dict | list)
        for inner, tensor in tensors(value).items()
    }


def same(first, second):
    first, second = tensors(first), tensors(second)
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name


def play(search, epochs, *, capture):
    """Epochs of a search, captured anew after experts were deleted."""
    play_one = None
    for _ in range(epochs):
        search.begin_epoch()
        if play_one is None:
            play_one = captured_round(search) if capture else lambda: play_round(search)
        for _ in range(search.settings.rounds_per_epoch):
            play_one()
        if end_epoch(search, seconds=1.0, memory_bytes=0, gap=None).deleted:
            play_one = None
    return search


def test_tensors_are_put_back_where_they_are_and_new_ones_become_zero():
    live = {"old": torch.ones(2), "list": [torch.ones(1), 3], "number": 4}
    before = copied(live)
    place = live["old"].data_ptr()
    live["old"].mul_(7)
    live["list"][0].mul_(7)
    live["new"] = {"momentum": torch.ones(2)}
    put_back(live, before)
    assert live["old"].data_ptr() == place
    assert [t.tolist() for t in tensors(live).values()] == [[1, 1], [1], [0, 0]]
    assert before["old"].data_ptr() != place


@pytest.mark.usefixtures("without_graphs")
@pytest.mark.parametrize("method", ["xnas", "darts"])
def test_a_capture_in_the_middle_of_an_epoch_leaves_the_search_as_it_was(method):
    search = small_engine(method=method, skip_dropout="0.5")
    play_round(search)
    live = search_state(search)
    before, places = copied(live), {n: t.data_ptr() for n, t in tensors(live["supernet"]).items()}
    captured_round(search)
    after = search_state(search)
    same(after, before)
    assert (after["round_in_epoch"], after["train"]["position"]) == (1, 1)
    assert places == {n: t.data_ptr() for n, t in tensors(after["supernet"]).items()}
    assert all(p.grad is None for p in search.supernet.parameters())


@pytest.mark.usefixtures("without_graphs")
def test_a_capture_before_the_first_round_leaves_momenta_of_zero():
    search = small_engine()
    before = copied(search.supernet.state_dict())
    captured_round(search)
    same(search.supernet.state_dict(), before)
    momenta = [s["momentum_buffer"] for s in search.weight_optimizer.state.values()]
    assert len(momenta) == len(search.weights)
    assert not any(m.any() for m in momenta)
    assert search.method.ledger(search.mixtures["normal"]).rounds == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {"skip_dropout": "0.6:0"},
        pytest.param({"relaxation": 0.05}, marks=pytest.mark.slow),
        pytest.param({"method": "darts"}, marks=pytest.mark.slow),
        pytest.param({"accounting": "sample"}, marks=pytest.mark.slow),
    ],
)
def test_captured_rounds_are_the_plain_ones_with_deletions_between(arguments, without_graphs):
    epochs = 3 if "relaxation" in arguments else 2
    plain = play(small_engine(**arguments), epochs, capture=False)
    captured = play(small_engine(**arguments), epochs, capture=True)
    same(search_state(captured), search_state(plain))
    assert (captured.epoch, captured.rounds) == (epochs, 5 * epochs)
    assert captured.deleted == plain.deleted
    if "relaxation" in arguments:
        assert len(without_graphs) > 1


@pytest.mark.usefixtures("without_graphs")
def test_the_last_round_of_a_search_can_be_captured():
    search = small_engine(epochs=1)
    for _ in range(4):
        play_round(search)
    captured_round(search)()
    assert search.round_in_epoch == 5
    assert search.method.ledger(search.mixtures["normal"]).rounds == 5


def test_batches_from_the_host_are_drawn_before_each_replay(without_graphs, monkeypatch):
    plain, streamed = small_engine(), small_engine()
    for source in (streamed.train, streamed.valid):
        source.capturable = False
    drawn = []
    fill = streamed.train.fill
    monkeypatch.setattr(streamed.train, "fill", lambda *batch: (drawn.append(1), fill(*batch)))
    play_one = captured_round(streamed)
    assert not drawn
    assert without_graphs == [[streamed.dropout]]
    for _ in range(3):
        play_one()
        play_round(plain)
    assert len(drawn) == 3
    same(search_state(streamed), search_state(plain))


class Restless(Sampled):
    """Learns in every other round."""

    def learns(self, _, round_in_epoch):
        return round_in_epoch % 2 == 0


@pytest.mark.parametrize("method", [Sampled, Restless])
def test_rounds_of_a_method_with_hooks_are_captured_and_each_kind_once(method, without_graphs):
    plain = play(hooked(method), 2, capture=False)
    captured = play(hooked(method), 2, capture=True)
    same(search_state(captured), search_state(plain))
    assert len(without_graphs) == (2 if method is Restless else 1)


@pytest.mark.usefixtures("without_graphs")
@pytest.mark.parametrize("method", [SecondOrder, Corrected])
def test_rounds_of_several_passes_are_captured(method):
    plain = play(hooked(method), 2, capture=False)
    captured = play(hooked(method), 2, capture=True)
    same(search_state(captured), search_state(plain))


def pruned(method):
    """The same method, whose first expert dies in the second epoch and is deleted at its end."""

    class Pruned(method):
        def begin_epoch(self, epoch):
            if method is Sampled:
                super().begin_epoch(epoch)
            if epoch == 1:
                for kind, dead in self.dead.items():
                    dead[:, 0] = True
                    self.logits[kind][:, 0] = -1e9  # no sample has it
                self.write()

    return Pruned


@pytest.mark.parametrize(
    "method", [Sampled, *(pytest.param(m, marks=pytest.mark.slow) for m in (SecondOrder, Corrected))]
)
def test_hooks_are_captured_anew_after_a_deletion(method, without_graphs):
    plain = play(hooked(pruned(method)), 3, capture=False)
    captured = play(hooked(pruned(method)), 3, capture=True)
    assert len(captured.deleted) == 6  # one on each edge
    assert len(without_graphs) == 2
    same(search_state(captured), search_state(plain))
