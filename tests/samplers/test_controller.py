"""The controller: minibatches, baselines, and its plain twin against plain loops."""

import pytest
from oracles.reinforce import reinforce
from sampling_games import done, failed, planted, play

from xnas.errors import ConfigError
from xnas.samplers import SAMPLERS, Remarks
from xnas.space import encoding_of


def controller(seed=0, **settings):
    return SAMPLERS["controller"](encoding_of("nasbench201"), seed, settings)


def test_logits_ask_what_plain_loops_ask():
    encoding = encoding_of("nasbench201")
    expected = reinforce(
        encoding.cardinalities, lambda choices: planted(encoding.decode(choices)), 60, seed=5
    )
    asked = play(controller(5, controller="logits"), planted, 60)
    assert [encoding.encode(trial.genotype) for trial, _ in asked] == list(expected)


def test_lstm_waits_for_its_minibatch_and_logits_never_do():
    sampler = controller(minibatch=3, hidden=8)
    numbers = [sampler.ask().number for _ in range(3)]
    assert sampler.ask() is None
    for number in numbers[:2]:
        sampler.tell(done(number, 0.5))
        assert sampler.ask() is None
    sampler.tell(failed(2))  # it counts, and teaches nothing
    assert sampler.ask().number == 3
    twin = controller(controller="logits")
    assert [twin.ask().number for _ in range(30)] == list(range(30))


def test_the_published_search_changes_the_policy_after_twenty_results():
    sampler = controller(minibatch=20, learning_rate=0.00035)
    before = [p.detach().clone() for p in sampler.policy.parameters()]

    def moved():
        pairs = zip(sampler.policy.parameters(), before, strict=True)
        return max((now - then).abs().max().item() for now, then in pairs)

    play(sampler, planted, 19)
    assert moved() == 0
    sampler.tell(done(sampler.ask().number, 1.0))
    assert moved() == pytest.approx(0.00035, rel=0.01)  # the first step of Adam


def test_a_minibatch_of_failures_teaches_nothing():
    sampler = controller(minibatch=2, hidden=8)
    before = sampler.policy.state_dict()["first_input"].clone()
    play(sampler, planted, 4, fails=lambda _: True)
    assert (sampler.policy.state_dict()["first_input"] == before).all()


def test_a_collapsed_controller_says_so():
    sampler = controller(controller="logits", learning_rate=0.5)
    assert isinstance(sampler, Remarks)
    assert sampler.remarks() == {"recently_asked": 0, "distinct": 0}
    play(sampler, planted, 300)
    assert "of the last 50 cells only" in sampler.remarks()["warning"]
    healthy = controller(controller="logits", learning_rate=0.001)
    play(healthy, planted, 60)
    assert healthy.remarks() == {"recently_asked": 50, "distinct": 50}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"controller": "gru"},
            "the setting controller of --settings must be lstm or logits, got 'gru'",
        ),
        ({"minibatch": 0}, "minibatch of --settings must be at least 1"),
        ({"learning_rate": 0.0}, "learning_rate of --settings must be positive"),
        ({"clip": 1.0}, r"clip of --settings must lie in \[0, 1\)"),
    ],
)
def test_settings_out_of_bounds_are_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        controller(**settings)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lstm", "logits"])
def test_defaults_find_the_planted_cell_within_300_evaluations(name):
    found = [
        max(v for _, v in play(controller(seed, controller=name), planted, 300)) for seed in range(10)
    ]
    assert sum(found) / 10 >= 0.95  # random search finds it in 1.9 % of all seeds
