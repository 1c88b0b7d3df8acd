"""The loop: windows, order, refusals, stops, and what is in the ledger when."""

from contextlib import nullcontext

import pytest
from sampling_games import done, planted, play

from xnas.errors import ConfigError
from xnas.runs.sampling.loop import SampleLoop
from xnas.runs.sampling.trial_ledger import TrialLedger, replay
from xnas.samplers import SAMPLERS, Result
from xnas.space import encoding_of


class Pool:
    """Evaluates the planted value; `first` chooses which result comes first if any may."""

    def __init__(self, first=lambda numbers: numbers[0], ledger=None):
        self.first, self.ledger = first, ledger
        self.open, self.submitted = {}, []

    def submit(self, trial):
        if self.ledger is not None:  # written before anything happens outside
            assert f'"ask", "number": {trial.number},' in self.ledger.path.read_text()
        self.open[trial.number] = trial
        self.submitted.append(trial.number)

    def result(self, number=None):
        trial = self.open.pop(self.first(list(self.open)) if number is None else number)
        return done(trial.number, planted(trial.genotype))


def evolution(seed=0):
    settings = {"population": 5, "sample": 2}
    return SAMPLERS["evolution"](encoding_of("nasbench201"), seed, settings)


def loop_on(path, *, sampler=None, beyond=lambda _: None, **settings):
    sampler, ledger = sampler or evolution(), TrialLedger(path, nullcontext)
    replay(ledger.events, sampler, path, "xnas")
    return SampleLoop(sampler, ledger, beyond, **{"evaluations": 20} | settings)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.jsonl"


@pytest.mark.parametrize("window", [1, 3])
def test_in_order_it_asks_what_a_plain_loop_asks(path, window):
    loop = loop_on(path, at_once=window)
    assert loop.play(Pool(ledger=loop.ledger))
    expected = [trial for trial, _ in play(evolution(), planted, 20, window=window)]
    assert [one.trial for one in loop.told] == expected
    assert (loop.evaluated, loop.complete) == (20, True)


@pytest.mark.parametrize(("window", "ordered"), [(1, True), (3, True), (3, False)])
def test_a_search_that_was_stopped_anywhere_continues_in_its_ledger(tmp_path, window, ordered):
    def last(numbers):
        return numbers[-1]

    whole = tmp_path / "whole.jsonl"
    loop_on(whole, at_once=window, ordered=ordered).play(Pool(last))
    for stop in (0, 1, 7, 19):
        path, passed = tmp_path / f"{stop}.jsonl", []
        loop = loop_on(path, at_once=window, ordered=ordered)
        assert not loop.play(
            Pool(last), stopped=lambda n=stop, p=passed: len(p) == n, after=passed.append
        )
        assert loop.evaluated == stop
        again = loop_on(path, at_once=window, ordered=ordered)
        assert again.play(Pool(last))
        assert again.evaluated == 20
        if ordered:
            assert path.read_bytes() == whole.read_bytes()


def test_a_killed_search_submits_its_open_trials_again(path):
    class Killed(Pool):
        def result(self, number=None):
            if len(self.submitted) == 9:
                raise RuntimeError("killed")
            return super().result(number)

    with pytest.raises(RuntimeError, match="killed"):
        loop_on(path, at_once=3).play(Killed())
    pool = Pool()
    assert loop_on(path, at_once=3).play(pool)
    assert pool.submitted == list(range(6, 20))


def test_cells_beyond_the_limits_are_refused_and_do_not_count(path):
    def beyond(genotype):
        return "too large" if planted(genotype) > 0.4 else None

    pool, loop = Pool(), loop_on(path, beyond=beyond, at_once=2)
    assert loop.play(pool)
    refused = [one for one in loop.told if one.refused]
    assert refused
    assert {one.result.reason for one in refused} == {"too large"}
    assert loop.evaluated == 20 == len(loop.told) - len(refused)
    assert not {one.trial.number for one in refused} & set(pool.submitted)
    assert planted(loop.sampler.best().genotype) <= 0.4
    again = loop_on(path, beyond=beyond, at_once=2)
    assert (again.evaluated, again.complete) == (20, True)


def test_limits_that_the_sampler_never_obeys_end_the_search(path, monkeypatch):
    monkeypatch.setattr("xnas.runs.sampling.loop.MOST_REFUSED", 10)
    with pytest.raises(ConfigError, match=r"10 cells in a row .* the last because too large; raise"):
        loop_on(path, beyond=lambda _: "too large").play(Pool())


def test_a_sampler_that_is_finished_ends_the_search(path):
    class Short:
        def __init__(self):
            self.inner = evolution()
            self.finished = False

        def ask(self):
            if self.inner.book.asked == 4:
                self.finished = True
                return None
            return self.inner.ask()

        def tell(self, result):
            self.inner.tell(result)

    loop = loop_on(path, sampler=Short(), at_once=3)
    assert loop.play(Pool())
    assert (loop.evaluated, loop.complete) == (4, False)


def test_without_order_results_are_told_as_they_come(path):
    loop = loop_on(path, at_once=3, ordered=False)
    loop.play(Pool(first=max))
    numbers = [one.trial.number for one in loop.told]
    assert numbers[:3] == [2, 3, 4]
    assert sorted(numbers) == list(range(20))
    assert isinstance(loop.told[0].result, Result)
