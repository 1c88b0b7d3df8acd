"""Whole searches by every method: they learn, and a stopped one resumes bit for bit. All are slow."""

from functools import partial

import pytest
import torch
from searching import stripes, tiny

from xnas import SearchConfig, search
from xnas.engine import captured_round, end_epoch, play_round, restore_search, search_state
from xnas.engine.capture import copied
from xnas.methods import METHODS
from xnas.runs.prepare import prepare

pytestmark = pytest.mark.slow

CHANCE = 0.1
"""Of ten digits."""


def prepared(name, **arguments):
    arguments = {"backend": "reference"} | arguments
    if METHODS[name].recipe_on("darts").partial_channels:
        arguments["channels"] = 12
    return prepare(tiny(method=name, **arguments), stripes())


def play_to(job, rounds):
    """Play until so many rounds are behind, closing epochs and entering stages on the way."""
    while job.search.rounds < rounds:
        if job.search.round_in_epoch == 0:
            job = job.following() or job
            job.search.begin_epoch()
        play_round(job.search)
        if job.search.round_in_epoch == job.search.settings.rounds_per_epoch:
            end_epoch(job.search)
    return job


def same(one, other):
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.mark.parametrize("name", list(METHODS))
def test_a_stopped_search_resumes_inside_an_epoch_bit_for_bit(name):
    staged = {"epochs": 6} if METHODS[name].stages_on("darts") else {}
    whole = prepared(name, **staged)
    rounds = whole.search.settings.rounds_per_epoch
    stop = (4 if staged else 1) * rounds + 2
    whole = play_to(whole, stop)
    saved = copied(search_state(whole.search))
    whole = play_to(whole, stop + rounds)
    resumed = prepared(name, **staged).resumed(saved)
    restore_search(resumed.search, saved)
    resumed = play_to(resumed, stop + rounds)
    one, other = search_state(whole.search), search_state(resumed.search)
    for part in ("supernet", "method", "weight_optimizer", "tally", "dropout", "deleted"):
        assert same(one[part], other[part]), part


@pytest.mark.parametrize("name", list(METHODS))
def test_on_digits_every_method_beats_chance(name, tmp_path):
    config = SearchConfig(
        method=name,
        space="darts" if name == "pdarts" else "nasbench201",
        out=tmp_path / "run",
        epochs=6,
        batch_size=32,
        cells=3 if name == "pdarts" else 1,
        channels=8,
        device="cpu",
        seed=1,
        gap_every=100,
    )
    result = search(config, "digits")
    last = result.epochs[-1]
    assert last.train_accuracy > 2 * CHANCE
    assert last.valid_accuracy > 1.5 * CHANCE
    assert result.genotype is not None


STAGED = [("pdarts", "darts"), ("darts-pt", "nasbench201"), ("drnas-progressive", "nasbench201")]


def play_all(name, space, *, epochs=6, capture):
    """A whole search, captured anew in every stage and after every deletion; and when these were."""
    job, play_one, deleted = prepared(name, space=space, epochs=epochs), None, []
    for epoch in range(epochs):
        following = job.following()
        if following is not None:
            job, play_one = following, None
        job.search.begin_epoch()
        if play_one is None:
            play_one = captured_round(job.search) if capture else partial(play_round, job.search)
        for _ in range(job.search.settings.rounds_per_epoch):
            play_one()
        if end_epoch(job.search).deleted:
            deleted.append(epoch)
            play_one = None
    return job.search, deleted


@pytest.mark.parametrize(("name", "space"), STAGED)
def test_captured_rounds_are_the_eager_ones_in_later_stages_and_after_deletions(
    name, space, without_graphs
):
    eager, _ = play_all(name, space, capture=False)
    captured, deleted = play_all(name, space, capture=True)
    assert captured.settings.stage == len(METHODS[name].stages_on(space)[1:])
    assert len(without_graphs) > 1
    if name == "darts-pt":
        assert min(deleted) < 5  # rounds after it were captured anew
    assert same(search_state(captured), search_state(eager))


def mixtures_after_an_epoch(name, *, capture, **arguments):
    """The second of three, in which every method learns: 5 rounds, of which one is the tenth."""
    found = prepared(name, **arguments).search
    found.epoch = 1
    found.begin_epoch()
    play_one = captured_round(found) if capture else lambda: play_round(found)
    for _ in range(found.settings.rounds_per_epoch):
        play_one()
    found.method.check()
    return {kind: m.detach().clone() for kind, m in found.mixtures.items()}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", [n for n in METHODS if not METHODS[n].stages_on("darts")])
def test_captured_rounds_are_the_eager_ones(name, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    eager, captured = (
        mixtures_after_an_epoch(name, capture=capture, device="cuda") for capture in (False, True)
    )
    for kind, mixture in eager.items():
        torch.testing.assert_close(captured[kind], mixture, rtol=1e-3, atol=1e-4)
