"""Records of evaluations: sums, the best so far, repeated cells."""

from xnas.runs.sampling.loop import Evaluated
from xnas.runs.sampling.records import records_of
from xnas.samplers import Result, Trial
from xnas.space import Genotype
from xnas.space.network_size import NetworkSize

CELLS = [Genotype.random("nasbench201", seed) for seed in range(3)]


def evaluated(number, cell, value, *, at=10, parent=None, refused=False, budget=None):
    trial = Trial(number=number, genotype=CELLS[cell], parent=parent, budget=budget)
    state = "refused" if refused else "failed" if value is None else "done"
    return Evaluated(trial, Result(number=number, value=value, state=state, at=at))


def test_sums_and_the_best_so_far():
    told = [
        evaluated(0, 0, 0.5, at=3),
        evaluated(1, 1, None, at=None),
        evaluated(2, 2, None, refused=True),
        evaluated(3, 0, 0.7, at=9, parent=0),  # resumed: six epochs more
        evaluated(4, 1, 0.6, at=3, parent=0),  # another cell
    ]
    records = records_of(told, lambda _: NetworkSize(5, 7), {0: 1.5, 1: 0.5, 3: 2.0})
    assert [r.number for r in records] == [0, 1, 3, 4]
    assert [r.best for r in records] == [0.5, 0.5, 0.7, 0.7]
    assert [r.epochs for r in records] == [3, 3, 9, 12]
    assert [r.seconds for r in records] == [1.5, 2.0, 4.0, None]
    assert [r.same_as for r in records] == [None, None, 0, 1]
    assert (records[0].parameters, records[0].macs) == (5, 7)
    assert records_of([evaluated(0, 0, None)], lambda _: NetworkSize(1, 1), {})[0].best is None


def test_the_best_so_far_is_of_the_highest_rung():
    told = [
        evaluated(0, 0, 0.9, budget=3),
        evaluated(1, 0, 0.5, budget=9, parent=0),
        evaluated(2, 1, 0.95, budget=3),
        evaluated(3, 1, 0.6, budget=9, parent=2),
        evaluated(4, 2, None, budget=9),
    ]
    records = records_of(told, lambda _: NetworkSize(5, 7), {})
    assert [r.best for r in records] == [0.9, 0.5, 0.5, 0.6, 0.6]
    assert [r.budget for r in records] == [3, 9, 3, 9, 9]
