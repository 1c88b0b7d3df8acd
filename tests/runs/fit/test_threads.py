"""The number of threads: the fastest of a few, and as before afterwards."""

import pytest
import torch

from xnas.runs.fit.threads import TURNS, candidates, computing_with, fastest_threads


class Fake:
    """Takes the seconds of the present number of threads for a step."""

    def __init__(self, **seconds):
        self.seconds = {int(name[1:]): value for name, value in seconds.items()}
        self.times, self.asked = [], []

    def time_step(self):
        number = torch.get_num_threads()
        self.asked.append(number)
        self.times.append(self.seconds[number])
        return self.times[-1]


@pytest.mark.parametrize(
    ("most", "tried"), [(1, (1,)), (2, (1, 2)), (3, (1, 3)), (6, (1, 3, 6)), (32, (1, 8, 16, 32))]
)
def test_few_numbers_are_tried(most, tried):
    assert candidates(most) == tried


def test_the_number_with_the_fastest_steps_of_all_is_taken():
    probes = [Fake(t1=1.0, t2=0.5, t4=0.6), Fake(t1=1.0, t2=0.9, t4=0.4)]
    before = torch.get_num_threads()
    assert fastest_threads(probes, 4) == 4
    assert torch.get_num_threads() == before
    assert probes[0].times == []
    assert probes[0].asked.count(4) == TURNS


def test_more_threads_have_to_be_worth_it():
    assert fastest_threads([Fake(t1=1.0, t2=0.95)], 2) == 1


def test_a_hopeless_number_is_tried_once():
    slow, never = Fake(t1=1.0, t2=50.0), Fake(t1=1.0, t2=50.0)
    assert fastest_threads([slow, never], 2) == 1
    assert (slow.asked.count(2), never.asked.count(2)) == (1, 0)


def test_one_core_needs_no_trial():
    probe = Fake()
    assert fastest_threads([probe], 1) == 1
    assert probe.asked == []


def test_none_changes_nothing():
    before = torch.get_num_threads()
    with computing_with(None):
        assert torch.get_num_threads() == before
    with computing_with(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
