"""Forecasts of wipeouts, and warnings while a search runs."""

from dataclasses import replace

import pytest
import torch
from searching import close, small_engine

from xnas.engine import impossible, outlook, play_round, worries
from xnas.methods import Game
from xnas.theory import expected_wipeout

pytestmark = pytest.mark.usefixtures("small_space")


@pytest.mark.parametrize(
    ("gap", "relaxation", "share"),
    [(2.0, 1.0, 0.5), (0.1, 1.0, 2 / 2.1), (0.05, 0.1, 0.2 / 0.25), (0.0, 1.0, 1.0)],
)
def test_wipeouts_are_expected_when_the_gap_outgrows_the_reach(gap, relaxation, share):
    found = expected_wipeout(torch.tensor(gap), reward_bound=1.0, relaxation=relaxation).item()
    assert found == pytest.approx(share)


@pytest.mark.parametrize(("accounting", "rounds"), [("update", 1), ("sample", 8 * 2)])
def test_the_outlook_is_that_of_steady_gaps(accounting, rounds):
    search = small_engine(epochs=10)
    for _ in range(5):
        play_round(search)
    game = Game(
        updates=50,
        examples=40,
        epochs=10,
        batch_size=8,
        replications=dict.fromkeys(search.mixtures, 2),
        accounting=accounting,
    )
    for mixture in search.mixtures.values():  # everybody but expert 0 falls behind by 0.5 a round
        table = search.method.state[mixture]["cumulative_rewards"]
        table.fill_(-2.5 * rounds)
        table[:, 0] = 0
    search.round_in_epoch = 5
    found = outlook(search, game)
    assert found.first == found.median == pytest.approx(10 * 2 / 2.5)
    assert "first expected in epoch 8 of 10" in found.line()
    assert "--relaxation 0.25 would bring the second to half-time" in found.line()


def test_settings_that_allow_no_wipeout_are_reported_before_the_start():
    assert "no expert can be wiped out before the last of 1 epochs" in impossible(1, 1.0, wipeout=True)
    assert impossible(10, 1.0, wipeout=True) is None
    assert impossible(1, 1.0, wipeout=False) is None
    assert "the last of 2 epochs (not before epoch 1.5" in impossible(2, 1.0, wipeout=True, warmup=1)
    assert impossible(10, 1.0, wipeout=True, warmup=2) is None


def test_skips_that_take_over_and_early_decisions_are_reported_once():
    search = small_engine(epochs=9)
    for _ in range(5):
        play_round(search)
    record = close(search)
    told = set()
    bad = replace(
        record, skip_share={"normal": 0.6, "reduction": 0.0}, entropy={"normal": 0.3, "reduction": 0.9}
    )
    lines = worries(bad, epochs=9, seen=told)
    assert "skip connections lead 60 % of the normal cell's edges" in lines[0]
    assert "a higher --skip-dropout" in lines[0]
    assert "entropy is down to 0.30 in epoch 1 of 9" in lines[1]
    assert worries(bad, epochs=9, seen=told) == []
    assert worries(record, epochs=9, seen=set()) == []
