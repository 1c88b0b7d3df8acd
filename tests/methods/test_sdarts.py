"""SDARTS: mixtures disturbed at random or by an attack."""

import pytest
import torch
from method_games import COMMON, FakePasses, edges_of, near, one_edge, row

from xnas.methods.passes import Seen
from xnas.methods.sdarts import RandomDisturbance, disturbed, radius

ALIVE = torch.ones(1, 3, dtype=torch.bool)
U = row(*COMMON["logits"]).softmax(-1)


def test_a_disturbed_mixture_is_clamped_and_divided():
    assert near(disturbed(U, row(0.1, -0.15, 0.05), ALIVE), 0.437585, 0.100089, 0.462327)
    found = disturbed(row(0.02, 0.9, 0.08), row(-0.1, 0.05, 0.05), ALIVE)
    assert near(found, 0, 0.879630, 0.120370)


def test_where_nothing_is_left_the_strongest_stays():
    assert disturbed(row(0.1, 0.2, 0.15), row(-1, -1, -1), ALIVE).tolist() == [[0, 1, 0]]


def test_the_radius_grows():
    assert radius(50)(25) == pytest.approx(0.165)


def test_noise_stays_within_the_radius_and_spares_the_architecture_step():
    relaxation = RandomDisturbance()
    noise = relaxation.draw(edges_of(), torch.Generator().manual_seed(0))
    assert noise.abs().max() <= 1
    edges = edges_of(level=0.165, noise=noise.tolist())
    torch.testing.assert_close(relaxation.weights(edges, "weights"), disturbed(U, 0.165 * noise, ALIVE))
    torch.testing.assert_close(relaxation.weights(edges, "rewards"), U)


class Bowl(FakePasses):
    """A loss that is not linear, (w - c)² summed."""

    def see(self, half, weights=None, *, by="mixtures"):  # noqa: ARG002
        assert half == "train"
        w = (self.mixtures if weights is None else weights)["normal"].detach()
        off = w - row(0.4, 0.2, 0.4)
        return Seen(loss=(off**2).sum(), accuracy=torch.tensor(0.0), mixtures={"normal": 2 * off[None]})


class Slope(FakePasses):
    """A loss with the gradient of the examples everywhere; keeps what it has seen."""

    def __init__(self):
        super().__init__({"normal": row(*COMMON["gradient"])})
        self.seen = []

    def see(self, half, weights=None, *, by="mixtures"):
        if weights is not None:
            self.seen.append(weights["normal"].clone())
        return super().see(half, weights, by=by)


def test_an_attack_climbs_in_seven_steps_that_are_held_within_the_radius(monkeypatch):
    mixture, method = one_edge("sdarts-adv", epochs=50, replications={"normal": 6})
    monkeypatch.setattr(method.relaxation, "draw", lambda edges, _: torch.zeros_like(edges.noise))
    method.begin_epoch(25)  # a radius of 0.165
    passes = Slope()
    passes.mixtures = {"normal": mixture}
    attacked = method.weights("weights", passes)["normal"]
    start, first, *_, last = passes.seen
    torch.testing.assert_close(start, U)
    assert near(first, 0.367407, 0.193809, 0.438784)  # one step of 2 · 0.165/7 = 0.047143
    assert len(passes.seen) == 8  # at the start and after each of 7 steps
    corner = disturbed(U, 0.165 * row(*COMMON["gradient"]).sign(), ALIVE)
    torch.testing.assert_close(attacked, corner)
    torch.testing.assert_close(last, corner)


def test_an_attack_never_lowers_the_loss_and_stays_within_its_radius():
    mixture, method = one_edge("sdarts-adv", epochs=50)
    for seed, epoch in enumerate((0, 25, 49)):
        method.begin_epoch(epoch)
        passes = Bowl({}, seed)
        passes.mixtures = {"normal": mixture}
        attacked = method.weights("weights", passes)
        before, after = passes.see("train").loss, passes.see("train", attacked).loss
        assert after >= before
        assert after > before + 1e-4
        assert attacked["normal"].sum() == pytest.approx(1)
        assert method.weights("rewards", passes) is None


def test_an_attack_that_lowered_the_loss_is_dropped():
    class Falling(Bowl):
        calls = 0

        def see(self, half, weights=None, *, by="mixtures"):
            self.calls += 1
            seen = super().see(half, weights, by=by)
            return Seen(
                loss=torch.tensor(-float(self.calls)), accuracy=seen.accuracy, mixtures=seen.mixtures
            )

    mixture, method = one_edge("sdarts-adv")
    passes = Falling({})
    passes.mixtures = {"normal": mixture}
    torch.testing.assert_close(method.weights("weights", passes)["normal"], mixture.detach())
    assert passes.calls == 9
