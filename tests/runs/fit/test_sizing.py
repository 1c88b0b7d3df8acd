"""What fits into a time: pure functions of numbers, against made-up speeds."""

import pytest
from fitting import searching_speed, speed

from xnas.errors import DatasetError
from xnas.runs.fit.sizing import (
    GOOD_EPOCHS,
    GOOD_ROUNDS,
    LEAST_ROUNDS,
    Facts,
    best_search,
    best_size,
    epochs_within,
    larger_fits,
    larger_search_fits,
    require_enough,
    rounds_of,
    search_within,
    share_of,
    training_seconds,
)

FACTS = Facts(images=2000, fewest=180, fewest_name="cat")


@pytest.mark.parametrize("seconds", [20, 40, 80, 200, 1000])
@pytest.mark.parametrize("space", ["darts", "nasbench201"])
def test_a_search_fits_into_its_time(seconds, space):
    found = search_within(searching_speed(space=space), FACTS, seconds)
    assert found.seconds <= seconds
    assert found.images <= FACTS.kept
    assert found.space == space


def test_a_search_in_short_time_sees_a_part_of_many_images():
    many = Facts(images=45_000, fewest=4_000)
    found = search_within(searching_speed(), many, 60.0)
    assert found.images < 10_000
    assert found.epochs == 20
    assert search_within(searching_speed(), many, 2.0) is None


def test_only_a_space_with_warm_up_has_cheap_rounds():
    # Without an end of epochs and a start, 100 s of 0.05 s are 2,000 rounds, and 9 % more with warm-up.
    numbers = {"start": 0.0, "epoch_end": 0.0}
    many = Facts(images=1_000_000, fewest=1000)
    rounds = {
        space: rounds_of(search_within(searching_speed(space=space, **numbers), many, 100.0))
        for space in ("darts", "nasbench201")
    }
    assert rounds["nasbench201"] == 2000
    assert rounds["darts"] == pytest.approx(2000 / 0.91, rel=0.01)


def test_the_largest_search_with_its_rounds_is_best_and_else_the_smallest():
    speeds = [searching_speed(), searching_speed(5, 8, round=0.1)]
    long, good = best_search(speeds, FACTS, 200.0)
    assert (long.cells, good) == (5, True)
    assert rounds_of(long) >= GOOD_ROUNDS
    short, good = best_search(speeds, FACTS, 30.0)
    assert (short.cells, good) == (3, False)
    assert LEAST_ROUNDS <= rounds_of(short) < GOOD_ROUNDS
    assert best_search(speeds, FACTS, 2.0) == (None, False)


def test_few_images_have_all_that_may_help_after_fifty_epochs():
    few = Facts(images=600, fewest=60)  # 7 batches of 32 in a half of 480
    found, good = best_search([searching_speed(), searching_speed(5, 8, round=0.1)], few, 100.0)
    assert (found.epochs, rounds_of(found), found.cells, good) == (50, 350, 5, True)


def test_images_are_searchable_from_a_number_on():
    assert not Facts(images=443, fewest=30).searchable  # 354 without the validation part
    assert Facts(images=600, fewest=30).searchable
    assert not Facts(images=600, fewest=20).searchable


def test_validation_is_a_fifth_and_less_of_many_images():
    assert FACTS.validation == 0.2
    assert Facts(images=50_000, fewest=5_000).validation == 0.1
    assert FACTS.kept == 1600


def test_a_class_that_cannot_be_split_is_refused_by_name():
    with pytest.raises(DatasetError, match="class 'cat' has 4 training images; a fit needs at least 5"):
        require_enough(Facts(images=100, fewest=4, fewest_name="cat"))
    require_enough(Facts(images=100, fewest=5))


def test_whole_epochs_fit_into_the_time_of_one_or_several_trainings():
    assert epochs_within([speed()], 5.5) == 10  # 0.5 s, then 20 steps of 20 ms and 0.1 s each
    assert epochs_within([speed(), speed(step=0.03)], 1.0 + 3 * 1.2) == 3
    assert epochs_within([speed()], 0.4) == 0
    assert training_seconds(speed(), 10) == pytest.approx(5.5)


def test_the_largest_network_with_enough_epochs_is_best_and_else_the_smallest():
    speeds = [speed(), speed(cells=5, step=0.05)]
    assert best_size(speeds, training_seconds(speeds[1], GOOD_EPOCHS) + 0.1) == (speeds[1], True)
    assert best_size(speeds, training_seconds(speeds[1], GOOD_EPOCHS) - 0.1) == (speeds[0], True)
    assert best_size(speeds, 3.0) == (speeds[0], False)
    assert best_size(speeds, 3.0, good=2) == (speeds[1], True)  # 0.5 s and 2 epochs of 1.1 s


def test_a_larger_size_is_measured_only_where_it_may_fit():
    assert larger_fits(speed(), 0.5 + 45 * 0.5)
    assert not larger_fits(speed(), 0.4 + 45 * 0.5)
    assert larger_fits(speed(), 0.5 + 9 * 0.5, good=6)
    assert larger_search_fits(searching_speed(), FACTS, 200.0)  # 50 epochs take less
    assert not larger_search_fits(searching_speed(), FACTS, 20.0)
    assert not larger_search_fits(searching_speed(), FACTS, 1.0)


def test_shares_of_stages_that_there_are_make_up_the_time():
    stages = {"search": True, "cells": True, "resnet": True, "pretrained": True}
    whole = sum(share_of(stage, 100.0, search=True, pretrained=True) for stage in stages)
    assert whole == pytest.approx(100)
    two = sum(share_of(stage, 100.0, search=False, pretrained=False) for stage in ("cells", "resnet"))
    assert two == pytest.approx(100)
