"""PNAS: sizes of levels, what is kept and ranked, and what a resumed search need not repeat."""

from itertools import islice

import pytest
from sampling_games import done, failed, planted, play, replay

from xnas.errors import ConfigError
from xnas.samplers import SAMPLERS, Remarks
from xnas.samplers.growth import GROWTHS
from xnas.samplers.protocol import Trial
from xnas.space import encoding_of
from xnas.space.limited_encoding import LimitedEncoding

QUICK = {"steps": 3, "members": 2}


def progressive(space="nasbench201", seed=0, **settings):
    return SAMPLERS["progressive"](encoding_of(space), seed, QUICK | settings)


def sizes(sampler, limit=5000):
    """Cells of each level of a search in which every level is accepted as it comes, unranked."""
    found = []
    while not sampler.finished:
        level = sampler._level
        found.append(level.size)
        cells = list(islice(sampler._candidates(level.number, level.parents), level.size))
        for cell in cells:
            number = sampler.book.asked
            sampler.accept(Trial(number=number, genotype=sampler.growth.genotype(cell)))
            sampler.tell(done(number, 0.5))
        assert sum(found) <= limit
    return found


def test_levels_have_their_published_sizes():
    assert sizes(progressive("nasnet")) == [136, 256, 256, 256, 256]  # 1,160 in all
    assert sizes(progressive("nasnet", evaluations=1160)) == [136, 256, 256, 256, 256]
    assert sizes(progressive("darts", beam=100)) == [49, 100, 100, 100]


def test_fewer_evaluations_are_divided_over_the_levels():
    assert sizes(progressive("nasnet", evaluations=100)) == [20] * 5
    assert sizes(progressive("darts", evaluations=101)) == [25, 25, 25, 26]
    assert sizes(progressive("nasbench201", evaluations=100)) == [5, 47, 48]
    # All 125 cells of level 2 but the five known ones, whose new edges are all `none`.
    assert sizes(progressive("nasbench201", beam=500, evaluations=500)) == [5, 120, 375]
    assert sizes(progressive("nasnet", evaluations=3)) == [1, 1, 1]


def test_cells_of_a_level_extend_the_trained_ones_of_the_level_before():
    sampler = progressive("darts", evaluations=24)
    played = [trial.genotype.normal.nodes for trial, _ in play(sampler, planted, 24)]
    assert [len(nodes) for nodes in played] == [1] * 6 + [2] * 6 + [3] * 6 + [4] * 6
    assert {nodes[:2] for nodes in played[12:18]} <= set(played[6:12])
    assert {nodes[:3] for nodes in played[18:]} <= set(played[12:18])
    assert len(set(played)) == 24
    assert sampler.finished


def test_a_level_asks_the_cells_that_the_surrogate_ranks_first():
    sampler = progressive(evaluations=40, steps=20)
    play(sampler, planted, 5)
    level = sampler._level
    sampler.ask()
    everything = list(sampler._scored(sampler._candidates(2, level.parents)))
    assert len(everything) == 120
    scores = {cell: score for score, cell in everything}
    chosen = [scores[cell] for cell in level.chosen]
    assert chosen == sorted(scores.values(), reverse=True)[: level.size]


def test_failed_cells_are_not_extended():
    sampler = progressive("darts", evaluations=16)
    played = play(sampler, planted, 16, fails=lambda number: number in {0, 5})
    bad = {t.genotype.normal.nodes for t, value in played if value is None}
    assert len(bad) == 2
    for trial, _ in played:
        nodes = trial.genotype.normal.nodes
        assert not any(nodes[: len(b)] == b for b in bad if len(b) < len(nodes))


def test_the_search_ends_if_nothing_is_left_to_extend():
    sampler = progressive("darts", evaluations=12)
    played = play(sampler, planted, 12, fails=lambda number: number >= 3)
    assert len(played) == 6  # a level whose cells failed has no children
    assert sampler.finished


def test_remarks_give_a_rank_correlation_per_level():
    sampler = progressive(evaluations=40, steps=60)
    assert isinstance(sampler, Remarks)
    assert sampler.remarks() == {}
    play(sampler, planted, 40)
    remarks = sampler.remarks()
    assert list(remarks) == ["rank_correlation_2", "rank_correlation_3"]
    assert remarks["rank_correlation_2"] > 0.5
    flat = progressive(evaluations=40)
    play(flat, lambda _: 0.5, 40)
    assert set(flat.remarks().values()) == {None}  # equal values have no order


@pytest.mark.parametrize("cut", [3, 10, 25, 50, 79])
def test_accepted_trials_are_as_good_as_asked_ones(cut):
    events = []
    whole = progressive(evaluations=40)
    play(whole, planted, 40, events=events)
    resumed = progressive(evaluations=40)
    for event, content in events[:cut]:
        resumed.tell(content) if event == "tell" else resumed.accept(content)
    replay(resumed, events[cut:])
    assert resumed.remarks() == whole.remarks()


def test_accepting_computes_nothing_and_only_in_turn():
    events = []
    play(progressive(evaluations=12), planted, 12, events=events)
    sampler = progressive(evaluations=12)
    for event, content in events:
        sampler.tell(content) if event == "tell" else sampler.accept(content)
    assert sampler.finished
    assert sampler._fitted == 0
    with pytest.raises(ConfigError, match="trial 12 cannot be accepted: nothing is to be asked now"):
        sampler.accept(Trial(number=12, genotype=events[0][1].genotype))


def test_other_spaces_are_refused_by_name():
    encoding = encoding_of("darts")
    encoding.space = "mine"
    with pytest.raises(ConfigError, match="darts or nasnet or nasbench201, not of mine"):
        SAMPLERS["progressive"](encoding, 0, {})
    assert set(GROWTHS) == {"darts", "nasnet", "nasbench201"}


@pytest.mark.slow
@pytest.mark.parametrize("targets", ["ranks", "accuracy"])
def test_published_levels_on_nasnet_find_cells_of_convolutions(targets):
    """With a beam of 64, and values like those of trainings; random cells hold 1.25 of 10 on average."""
    sampler = progressive("nasnet", beam=64, steps=100, members=5, targets=targets)
    played = play(sampler, lambda cell: 0.8 + planted(cell) / 10, 400)
    assert len(played) == 136 + 4 * 64
    assert max(value for _, value in played) >= 0.8 + 0.09


def test_cells_beyond_the_limits_come_last():
    encoding = encoding_of("nasbench201")
    limited = LimitedEncoding(encoding, lambda cell: planted(cell) <= 1 / 3, (0,) * 6)
    sampler = SAMPLERS["progressive"](limited, 0, QUICK | {"evaluations": 30, "steps": 60})
    values = [value for _, value in play(sampler, planted, 30)]
    assert max(values) <= 1 / 3 < max(v for _, v in play(progressive(evaluations=30), planted, 30))
    nothing = LimitedEncoding(encoding, lambda _: False, (0,) * 6)
    sampler = SAMPLERS["progressive"](nothing, 0, QUICK | {"evaluations": 30})
    assert len(play(sampler, planted, 30)) == 30


def test_a_cell_beyond_the_limits_takes_no_evaluation_from_later_levels():
    encoding = encoding_of("nasbench201")
    limited = LimitedEncoding(encoding, lambda cell: planted(cell) == 0, (0,) * 6)
    sampler = SAMPLERS["progressive"](limited, 0, QUICK | {"evaluations": 30})
    evaluated = refused = 0
    while (trial := sampler.ask()) is not None:
        beyond = not limited.allows_cell(trial.genotype)
        refused, evaluated = refused + beyond, evaluated + (not beyond)
        sampler.tell(failed(trial.number) if beyond else done(trial.number, 0.5))
    assert (evaluated, refused) == (30, 1)  # one of the five cells of level 1 is a 3x3 convolution
