"""Every method keeps the contract that the search relies on; each keeps its own protocol."""

import copy
import math

import pytest
import torch
from method_games import ROUNDS, SPACE, Player, build, noise, play
from torch.utils._python_dispatch import TorchDispatchMode

from xnas import ConfigError, RoundError
from xnas.methods import METHODS, EpochAware, EpochClosing, ExpertAdvice
from xnas.methods.logits import Logits

GAINS = torch.tensor([0.0, 0.1, 0.0, -0.2, 0.0])
"""∂ℓ/∂w in every round: the expert in column 3 earns most."""
CONTROLS = ("random", "darts-pt-blank")
"""They learn nothing, on purpose."""
SAMPLED = ("enas", "proxyless-rl")
"""They learn from the accuracy of sampled cells, too slowly for these tests; they have their own."""
LATE = 9
"""An epoch in which every method learns: some rest at first, of 20 epochs for 8."""


DRAWN_OTHERWISE = ("enas", "random")
"""They draw cells decision by decision, so that other draws would come to experts in another order."""


def same_draws(method, other, order):
    """Let `other` draw what `method` drew, and begin with its logits, in another order of experts."""
    inner, its = (getattr(each, "inner", each) for each in (method, other))
    if not isinstance(inner, Logits):
        return
    draw, drawn = inner.relaxation.draw, []

    def noted(edges, generator):
        drawn.append(draw(edges, generator))
        return drawn[-1]

    inner.relaxation.draw = noted
    its.relaxation.draw = lambda *_: drawn.pop(0)[..., order]
    with torch.no_grad():
        for mine, theirs in zip(inner.logits, its.logits, strict=True):
            theirs.copy_(mine[:, order])
    its.write_beliefs()


def permuted_rounds(player, other, order):
    """Play rounds with gradients, and with the same ones in another order of experts, and compare."""
    generator = torch.Generator().manual_seed(2)
    for _ in range(2 * ROUNDS):
        gradients = noise(player.mixtures, generator)
        player.play(gradients)
        other.play({kind: gradient[:, order] for kind, gradient in gradients.items()})
    moved = False
    for kind, mixture in player.mixtures.items():
        its = other.mixtures[kind]
        torch.testing.assert_close(its, mixture[:, order])
        assert torch.equal(other.method.alive(its), player.method.alive(mixture)[:, order])
        torch.testing.assert_close(
            other.method.strengths(its), player.method.strengths(mixture)[:, order]
        )
        moved |= not torch.allclose(its, mixture)
    assert moved
    for mine, its in zip(player.seen, other.seen, strict=True):
        for kind, weights in mine.items():
            torch.testing.assert_close(its[kind], weights[..., order])


class OnTheHost(TorchDispatchMode):
    """Refuses operations that read a number on the host, or copy an index to the device."""

    refused = ("_local_scalar_dense", "nonzero", "multinomial", "index.Tensor", "masked_select", "item")

    def __init__(self):
        super().__init__()
        self.spared = False

    def sparing(self, step):
        def spared_step():
            self.spared = True
            step()
            self.spared = False

        return spared_step

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = str(func)
        if not self.spared and any(word in name for word in self.refused):
            raise AssertionError(f"a captured hook calls {name}")
        return func(*args, **(kwargs or {}))


class Looks:
    """Measures that all weights are equally accurate, and counts how often."""

    def __init__(self):
        self.draw, self.measured = torch.Generator().manual_seed(0), 0

    def accuracy(self, weights, batches=None):  # noqa: ARG002 - as the protocol has it
        self.measured += 1
        return 0.5


def snapshot(mixtures):
    return {kind: m.detach().clone() for kind, m in mixtures.items()}


@pytest.mark.parametrize("name", list(METHODS))
class TestEveryMethod:
    def test_keeps_mixtures_on_the_simplex_and_weights_finite(self, name):
        mixtures, method = build(name)
        player = Player(mixtures, method, epoch=LATE)
        generator = torch.Generator().manual_seed(0)
        for _ in range(2 * ROUNDS):
            player.play(noise(mixtures, generator))
            for kind, mixture in mixtures.items():
                torch.testing.assert_close(mixture.sum(-1), torch.ones(4))
                dead = ~method.alive(mixture)
                assert (mixture >= 0).all()
                assert (mixture[dead] == 0).all()
                assert not dead.all(-1).any()
                for weights in player.seen:
                    assert weights[kind].isfinite().all()
                    assert (weights[kind] >= 0).all()
                player.seen.clear()

    def test_prefers_the_expert_that_earns_more(self, name):
        if name in CONTROLS + SAMPLED:
            pytest.skip("does not learn from gradients")
        mixtures, method = build(name)
        # The penalty of β-DARTS grows until it outweighs rewards as small as these.
        player = Player(mixtures, method, epoch=0 if name == "beta" else LATE)
        for _ in range(100):
            player.play({kind: GAINS.expand(4, 5) for kind in mixtures})
        for mixture in mixtures.values():
            assert (method.strengths(mixture).argmax(-1) == 3).all()
            assert (method.comparable_sums(mixture).argmax(-1) == 3).all()
            assert method.alive(mixture)[:, 3].all()

    def test_resumes_exactly_in_the_middle_of_an_epoch(self, name):
        mixtures, method = build(name)
        player = play(mixtures, method, ROUNDS + 3, epoch=LATE)
        saved = copy.deepcopy(method.state_dict())
        values, draws = snapshot(mixtures), player.passes.draw.get_state()
        others, other = build(name)
        with torch.no_grad():
            for kind, mixture in others.items():
                mixture.copy_(values[kind])
        other.load_state_dict(saved)
        resumed = Player(others, other)
        resumed.round = player.round
        resumed.passes.draw.set_state(draws)
        resumed.begin()
        for each in (player, resumed):
            generator = torch.Generator().manual_seed(1)
            for _ in range(ROUNDS):
                each.play(noise(mixtures, generator))
        for kind, mixture in mixtures.items():
            assert torch.equal(mixture, others[kind])
            assert torch.equal(method.strengths(mixture), other.strengths(others[kind]))
            assert torch.equal(method.alive(mixture), other.alive(others[kind]))

    def test_draws_from_the_search_alone(self, name):
        results = []
        own = torch.get_rng_state()
        for seed in (0, 0, 1):
            mixtures, method = build(name)
            player = Player(mixtures, method, seed=seed, epoch=LATE)
            generator = torch.Generator().manual_seed(5)
            for _ in range(ROUNDS):
                player.play(noise(mixtures, generator))
            results.append((snapshot(mixtures)["normal"], player.passes.draw.get_state(), player.seen))
        assert torch.equal(torch.get_rng_state(), own)
        first, again, other = results
        assert torch.equal(first[0], again[0])
        assert all(
            torch.equal(a["normal"], b["normal"]) for a, b in zip(first[2], again[2], strict=True)
        )
        fresh = torch.Generator().manual_seed(0).get_state()
        # An attack on a loss that is linear in the mixture ends in the same corner wherever it starts.
        if name != "sdarts-adv" and not torch.equal(first[1], fresh):  # it draws
            assert any(
                not torch.equal(a["normal"], b["normal"])
                for a, b in zip(first[2], other[2], strict=True)
            )

    def test_nothing_is_read_on_the_host_in_the_hooks_that_are_captured(self, name):
        mixtures, method = build(name)
        if isinstance(method, ExpertAdvice):
            pytest.skip("reads unless it is captured; has a test of its own")
        player = Player(mixtures, method, epoch=LATE)
        player.begin()
        spared = OnTheHost()
        adam = getattr(getattr(method, "inner", method), "adam", None)
        if adam is not None:  # on a GPU it is capturable, and does not do this either
            adam.step = spared.sparing(adam.step)
        generator = torch.Generator().manual_seed(0)
        gradients = [noise(mixtures, generator) for _ in range(ROUNDS)]
        player.round += 1  # the epoch has begun
        with spared:
            for gradient in gradients[1:]:
                player.play(gradient)

    def test_numbers_that_are_not_finite_are_reported(self, name):
        if name in CONTROLS:
            pytest.skip("learns nothing")
        mixtures, method = build(name)
        player = Player(mixtures, method, epoch=LATE)

        def play_and_check():
            for _ in range(ROUNDS):
                player.play({kind: torch.full((4, 5), math.nan) for kind in mixtures})
            method.check()

        with pytest.raises(RoundError, match=r"not finite|is nan"):
            play_and_check()

    def test_refuses_to_observe_one_mixture_unless_it_counts_feedbacks(self, name):
        mixtures, method = build(name)
        if isinstance(method, ExpertAdvice):
            pytest.skip("plays any number of rounds")
        before = snapshot(mixtures)
        with pytest.raises(ConfigError, match=f"method {name} cannot observe .* got 2 round"):
            method.observe(mixtures["normal"], torch.ones(2, 4, 5))
        with pytest.raises(ConfigError, match=f"the method {name} .* not accounting 'sample'"):
            build(name, accounting="sample")
        assert all(torch.equal(m, before[kind]) for kind, m in mixtures.items())

    def test_a_state_of_another_space_is_refused(self, name):
        mixtures, method = build(name)
        if isinstance(method, ExpertAdvice):
            pytest.skip("has tests of its own")
        play(mixtures, method, 2, epoch=LATE)
        smaller = {kind: torch.nn.Parameter(torch.full((3, 5), 0.2)) for kind in mixtures}
        from method_games import game  # noqa: PLC0415

        other = METHODS[name](smaller, game(**SPACE | {"edges": ((0, 2), (1, 2), (0, 3))}))
        with pytest.raises(ConfigError, match="saved for another mixture"):
            other.load_state_dict(copy.deepcopy(method.state_dict()))

    def test_begins_with_the_experts_that_the_game_leaves(self, name):
        mask = torch.ones(4, 5, dtype=torch.bool)
        mask[1, 2] = mask[3, 4] = False
        mixtures, method = build(name, alive={"normal": mask, "reduction": mask})
        if isinstance(method, ExpertAdvice):
            pytest.skip("has one stage")
        player = play(mixtures, method, ROUNDS, epoch=LATE)
        for kind, mixture in mixtures.items():
            assert torch.equal(method.alive(mixture) | mask, mask)
            assert (mixture[~mask] == 0).all()
            assert all((weights[kind][..., ~mask] == 0).all() for weights in player.seen)

    def test_says_whether_measurements_decide(self, name):
        looks = Looks()
        _, method = build(name)
        if isinstance(method, EpochAware):
            method.begin_epoch(19)
        if isinstance(method, EpochClosing):
            method.close_epoch(looks)
        assert (looks.measured > 0) == METHODS[name].measures

    def test_permuting_experts_permutes_what_it_computes(self, name):
        order = torch.tensor([3, 0, 4, 1, 2])
        names = SPACE["operations"]
        mixtures, method = build(name)
        others, other = build(name, operations=tuple(names[i] for i in order))
        if name in DRAWN_OTHERWISE:
            pytest.skip("draws cells decision by decision")
        same_draws(method, other, order)
        permuted_rounds(Player(mixtures, method, epoch=LATE), Player(others, other, epoch=LATE), order)
