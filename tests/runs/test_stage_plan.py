"""Stages as they will be played."""

import pytest

from xnas import ConfigError
from xnas.methods import Stage
from xnas.runs.stage_plan import plan_stages

DEEPER = [Stage(epochs=25, cells=5), Stage(epochs=25, cells=11), Stage(epochs=25, cells=17, experts=3)]
TUNED = [
    Stage(epochs=100),
    Stage(
        epochs=25, weights_lr=0.0025, final_weights_lr=0.0025, fresh_weights=False, fresh_method=False
    ),
]


def planned(stages, epochs, **settings):
    usual = {"cells": 8, "channels": 16, "partial_channels": 1}
    rates = {"weights_lr": 0.025, "final_weights_lr": None}
    return plan_stages(stages, epochs=epochs, **usual | rates | settings)


def spans(plans, name="span"):
    return [(getattr(p, name).first, getattr(p, name).epochs) for p in plans]


def test_without_stages_the_search_is_one():
    (only,) = planned([], 50)
    assert (only.number, only.cells, only.channels, only.weights_lr) == (0, 8, 16, 0.025)
    assert spans([only]) == spans([only], "rates") == spans([only], "game") == [(0, 50)]


def test_every_fresh_stage_has_a_schedule_and_a_game_of_its_own():
    plans = planned(DEEPER, 75)
    assert spans(plans) == [(0, 25), (25, 25), (50, 25)]
    assert spans(plans, "rates") == spans(plans, "game") == spans(plans)
    assert [p.cells for p in plans] == [5, 11, 17]
    assert [p.game_stage for p in plans] == [0, 1, 2]
    assert [p.experts for p in plans] == [None, None, 3]


def test_a_stage_that_keeps_weights_and_method_has_the_rate_that_it_names():
    plans = planned(TUNED, 125, weights_lr=0.1)
    assert spans(plans, "rates") == [(0, 100), (100, 25)]
    assert spans(plans, "game") == [(0, 125), (0, 125)]
    assert [p.weights_lr for p in plans] == [0.1, 0.0025]
    assert [p.game_stage for p in plans] == [0, 0]
    through = [Stage(epochs=2), Stage(epochs=2, fresh_weights=False)]
    assert spans(planned(through, 4), "rates") == [(0, 4), (0, 4)]


@pytest.mark.parametrize(
    ("epochs", "expected"), [(6, [2, 2, 2]), (10, [3, 4, 3]), (3, [1, 1, 1]), (4, [1, 2, 1])]
)
def test_other_epochs_scale_the_stages(epochs, expected):
    assert [p.span.epochs for p in planned(DEEPER, epochs)] == expected


def test_a_short_stage_keeps_an_epoch():
    assert [p.span.epochs for p in planned([Stage(epochs=1), Stage(epochs=99)], 5)] == [1, 4]
    assert [p.span.epochs for p in planned([Stage(epochs=99), Stage(epochs=1)], 5)] == [4, 1]


def test_a_size_that_the_user_gave_holds_for_all_stages():
    assert [p.cells for p in planned(DEEPER, 75, cells=7, given=["cells"])] == [7, 7, 7]


def test_fewer_epochs_than_stages_are_refused():
    with pytest.raises(ConfigError, match="in 3 stages needs an epoch for each, got 2; use more"):
        planned(DEEPER, 2)


def test_sizes_that_a_later_stage_cannot_have_are_refused_before_the_first():
    stages = [Stage(epochs=2, partial_channels=6), Stage(epochs=2, partial_channels=4)]
    assert [p.partial_channels for p in planned(stages, 4, channels=36)] == [6, 4]  # DrNAS
    with pytest.raises(ConfigError, match="1/4 need channels in multiples of 4, got 18"):
        planned(stages, 4, channels=18)
