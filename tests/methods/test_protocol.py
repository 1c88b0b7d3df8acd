"""Every method keeps the contract that the search relies on; each keeps its own protocol."""

import copy
import math

import pytest
import torch
from method_games import build, play

from xnas import ConfigError, RoundError
from xnas.methods import METHODS, ledgers


@pytest.mark.parametrize("name", list(METHODS))
class TestEveryMethod:
    def test_keeps_mixtures_on_the_simplex_and_moves_them(self, name):
        mixtures, method = build(name)
        before = {kind: m.detach().clone() for kind, m in mixtures.items()}
        play(mixtures, method, 50)
        for kind, mixture in mixtures.items():
            torch.testing.assert_close(mixture.sum(-1), torch.ones(4))
            assert (mixture >= 0).all()
            assert (mixture - before[kind]).abs().max() > 1e-4

    def test_prefers_the_expert_that_earns_more(self, name):
        mixtures, method = build(name)
        for _ in range(100):
            for mixture in mixtures.values():
                mixture.grad = -torch.tensor([0.0, -0.1, 0.0, 0.2, 0.0]).expand(4, 5)
            method.step()
        for mixture in mixtures.values():
            assert (method.strengths(mixture).argmax(-1) == 3).all()
            assert (method.comparable_sums(mixture).argmax(-1) == 3).all()
            assert method.alive(mixture)[:, 3].all()

    def test_goes_on_exactly_where_its_state_was_taken(self, name):
        mixtures, method = build(name)
        play(mixtures, method, 30)
        saved = copy.deepcopy(method.state_dict())
        values = {kind: m.detach().clone() for kind, m in mixtures.items()}
        play(mixtures, method, 30, seed=1)
        others, other = build(name)
        with torch.no_grad():
            for kind, mixture in others.items():
                mixture.copy_(values[kind])
        other.load_state_dict(saved)
        play(others, other, 30, seed=1)
        for kind, mixture in mixtures.items():
            assert torch.equal(mixture, others[kind])

    def test_the_same_seed_gives_the_same_numbers(self, name):
        one, other = build(name), build(name)
        for mixtures, method in (one, other):
            play(mixtures, method, 10)
        assert torch.equal(one[0]["normal"], other[0]["normal"])

    def test_numbers_that_are_not_finite_are_reported(self, name):
        mixtures, method = build(name)
        for mixture in mixtures.values():
            mixture.grad = torch.full((4, 5), math.nan)

        def step_and_check():
            method.step()
            method.check()

        with pytest.raises(RoundError, match=r"not finite|is nan"):
            step_and_check()


def test_unknown_methods_are_named():
    with pytest.raises(ConfigError, match="no method called 'magic'; there are: "):
        METHODS["magic"]


def test_ledgers_are_kept_by_methods_of_expert_advice_alone():
    mixtures, xnas = build("xnas")
    assert set(ledgers(xnas, mixtures)) == {"normal", "reduction"}
    mixtures, darts = build("darts")
    assert ledgers(darts, mixtures) == {}
