"""NAO: the shares of its rounds, what it asks in them, and what a resumed search need not fit."""

import pytest
from sampling_games import done, planted, play, replay

from xnas.errors import ConfigError
from xnas.samplers import SAMPLERS, LatentSettings, Remarks
from xnas.samplers.latent import round_sizes
from xnas.samplers.protocol import Trial
from xnas.space import encoding_of
from xnas.space.limited_encoding import LimitedEncoding

QUICK = {"epochs": 20, "hidden": 16, "embedding": 8}


def latent(space="nasbench201", seed=0, **settings):
    return SAMPLERS["latent"](encoding_of(space), seed, QUICK | settings)


def test_rounds_keep_the_published_shares():
    assert round_sizes(LatentSettings()) == [600, 200, 200]
    assert round_sizes(LatentSettings(evaluations=100)) == [60, 20, 20]
    assert round_sizes(LatentSettings(evaluations=101, rounds=3)) == [61, 13, 14, 13]
    for evaluations in range(1, 12):
        sizes = round_sizes(LatentSettings(evaluations=evaluations))
        assert sum(sizes) == evaluations
        assert min(sizes) > 0


def test_a_round_waits_for_all_before_it():
    sampler = latent(evaluations=10)
    trials = [sampler.ask() for _ in range(6)]
    assert sampler.ask() is None
    for trial in trials:
        sampler.tell(done(trial.number, planted(trial.genotype)))
    assert sampler.ask().number == 6
    assert not sampler.finished


def test_no_cell_is_asked_twice():
    sampler = latent(evaluations=60)
    played = play(sampler, planted, 100)
    assert len({trial.genotype for trial, _ in played}) == len(played) == 60
    assert sampler.finished


def test_new_cells_are_better_than_the_pool_they_come_from():
    sampler = latent(evaluations=100, epochs=100, hidden=32)
    values = [value for _, value in play(sampler, planted, 100)]
    assert sum(values[60:]) / 40 > sum(values[:60]) / 60 + 1 / 12  # half an edge on average


def test_remarks_judge_the_fits():
    sampler = latent(evaluations=20)
    assert isinstance(sampler, Remarks)
    assert sampler.remarks() == {}
    play(sampler, planted, 20)
    remarks = sampler.remarks()
    for number in (1, 2):
        assert 0 <= remarks[f"pairwise_accuracy_{number}"] <= 1
        assert 0 <= remarks[f"reconstructed_{number}"] <= 1


def test_what_the_decoder_does_not_find_is_drawn_at_random(monkeypatch):
    sampler = latent(evaluations=20)
    monkeypatch.setattr(sampler, "_decoded", lambda: iter([next(iter(sampler._known))]))
    played = play(sampler, planted, 20)
    assert sampler.remarks() == {"random_1": 4, "random_2": 4}
    assert len({trial.genotype for trial, _ in played}) == 20


def test_a_space_whose_cells_are_all_known_is_asked_again():
    sampler = latent(evaluations=20)
    cell = (0, 0, 0, 0, 0, 0)
    sampler.encoding.draw = lambda _: cell
    sampler._decoded = lambda: iter(())
    assert len(play(sampler, planted, 20)) == 20


@pytest.mark.parametrize("cut", [5, 13, 25, 33, 39])
def test_accepted_trials_are_as_good_as_asked_ones(cut):
    events = []
    play(latent(evaluations=20), planted, 20, events=events)
    resumed = latent(evaluations=20)
    for event, content in events[:cut]:
        resumed.tell(content) if event == "tell" else resumed.accept(content)
    assert resumed.model is None  # nothing was fitted
    replay(resumed, events[cut:])


def test_a_trial_is_accepted_only_in_turn():
    sampler = latent(evaluations=2)
    play(sampler, planted, 2)
    genotype = encoding_of("nasbench201").decode((0,) * 6)
    with pytest.raises(ConfigError, match="trial 2 cannot be accepted: nothing is to be asked now"):
        sampler.accept(Trial(number=2, genotype=genotype))


def test_short_searches_fit_for_a_tenth_of_the_epochs_at_ten_times_the_rate(monkeypatch):
    seen = []
    monkeypatch.setattr("xnas.samplers.latent.fit", lambda *given, **_: seen.append(given[3]))
    for evaluations in (20, 1000):
        sampler = SAMPLERS["latent"](encoding_of("nasbench201"), 0, {"evaluations": evaluations})
        first = sampler.sizes[0]
        play(sampler, planted, first)
        sampler.ask()
    assert [(how.epochs, how.learning_rate) for how in seen] == [(100, 0.01), (1000, 0.001)]


def test_no_cell_beyond_the_limits_is_asked():
    limited = LimitedEncoding(encoding_of("nasbench201"), lambda cell: planted(cell) <= 1 / 3, (0,) * 6)
    sampler = SAMPLERS["latent"](limited, 0, QUICK | {"evaluations": 40, "epochs": 60})
    assert max(value for _, value in play(sampler, planted, 40)) <= 1 / 3
