"""A search is made of its options and images, every random choice from a stream of the seed."""

import pytest
import torch
from searching import stripes, tiny

from xnas.errors import ConfigError
from xnas.runs.prepare import prepare


def weights(prepared):
    return torch.cat([p.detach().flatten() for p in prepared.search.weights])


def test_the_plan_reaches_engine_and_method():
    prepared = prepare(tiny(epochs=3, relaxation=0.5, skip_dropout="0.6:0"), stripes())
    plan, settings, game = prepared.plan, prepared.search.settings, prepared.game
    assert (settings.epochs, game.epochs, plan.epochs) == (3, 3, 3)
    assert (game.relaxation, settings.skip_dropout) == (0.5, (0.6, 0.0))
    assert game.updates == 3 * settings.rounds_per_epoch
    assert not settings.autocast
    assert prepared.config == plan.config


@pytest.mark.parametrize(("images", "batches"), [(80, 1), (640, 2), (1600, 4)])
def test_short_epochs_measure_absences_on_fewer_batches(images, batches):
    search = prepare(tiny(edges="absence"), stripes(images)).search
    assert search.settings.absence_batches == batches


@pytest.mark.parametrize("options", [{}, {"edges": "absence", "space": "nasbench201", "cells": 1}])
def test_absences_are_not_measured_where_edges_are_not_chosen_by_them(options):
    assert prepare(tiny(**options), stripes()).search.settings.absence_batches == 0


def test_one_seed_makes_one_search_and_another_seed_another():
    first, again, other = (prepare(tiny(seed=seed), stripes()) for seed in (1, 1, 2))
    assert torch.equal(weights(first), weights(again))
    assert not torch.equal(weights(first), weights(other))


def test_preparing_leaves_the_users_random_numbers_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    prepare(tiny(), stripes())
    assert torch.equal(torch.rand(3), expected)


def test_none_is_in_the_space_if_the_plan_says_so():
    for include_none in (True, False):
        prepared = prepare(tiny(include_none=include_none), stripes())
        assert ("none" in prepared.search.supernet.space.operations) is include_none


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match="no such device: 'toaster'"):
        prepare(tiny(device="toaster"), stripes())
