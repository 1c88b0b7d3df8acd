"""The trials that a sampler keeps."""

import pytest

from xnas.errors import ConfigError
from xnas.samplers import Book, Result, Trial
from xnas.space import Genotype

CELL = Genotype.random("nasbench201", 0)


def done(number, value):
    return Result(number=number, value=value, state="done")


def test_the_best_is_the_earlier_of_equals_and_never_a_failed_one():
    book = Book()
    trials = [book.ask(CELL) for _ in range(4)]
    book.tell(Result(number=0, value=None, state="failed"))
    for number, value in ((3, 0.7), (1, 0.5), (2, 0.7)):
        book.tell(done(number, value))
    assert book.best() is trials[2]
    assert (book.failed, len(book.told), book.open) == (1, 4, {})


def test_a_trial_is_told_once():
    book = Book()
    book.ask(CELL)
    book.tell(done(0, 0.1))
    with pytest.raises(ConfigError, match="trial 0 was told already"):
        book.tell(done(0, 0.1))
    with pytest.raises(ConfigError, match="trial 1 was never asked"):
        book.tell(done(1, 0.1))


def test_without_a_value_there_is_no_best():
    book = Book()
    book.ask(CELL)
    book.tell(Result(number=0, value=None, state="failed"))
    with pytest.raises(ConfigError, match="no trial has a value yet: 1 were told, of which 1 failed"):
        book.best()


def test_a_trial_of_an_earlier_process_is_accepted_in_its_turn():
    book = Book()
    book.accept(Trial(number=0, genotype=CELL))
    assert book.ask(CELL).number == 1
    with pytest.raises(ConfigError, match="trial 5 cannot be accepted: the next number is 2"):
        book.accept(Trial(number=5, genotype=CELL))
