"""A search is made of its options and images, every random choice from a stream of the seed."""

import pytest
import torch
from searching import stripes, tiny

from xnas.errors import ConfigError
from xnas.methods import METHODS, Darts, Recipe, RegisteredMethod
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


def test_a_method_is_told_the_shape_of_the_cell_and_the_length_of_an_epoch():
    game = prepare(tiny(), stripes()).game
    assert game.rounds_per_epoch * game.epochs == game.updates == 15
    assert len(game.edges) == 14
    assert game.edges[:3] == ((0, 2), (1, 2), (0, 3))
    assert (len(game.operations), game.kept_edges) == (7, 2)
    skip = game.operations.index("skip_connect")
    strides = game.identities["reduction"][:, skip]
    assert strides.sum() == 6  # of 14 edges 8 leave the inputs, at stride 2
    assert game.identities["normal"].sum() == 14


def test_numbers_of_a_recipe_that_no_option_sets_reach_the_engine(monkeypatch):
    recipe = Recipe(momentum=0.5, nesterov=True, weight_decay=0.01, gradient_clip=1.0)
    entry = RegisteredMethod(factory=Darts, recipe=recipe)
    monkeypatch.setitem(METHODS._entries, "published", entry)
    search = prepare(tiny(method="published"), stripes()).search
    group = search.weight_optimizer.param_groups[0]
    assert (group["momentum"], group["nesterov"], group["weight_decay"]) == (0.5, True, 0.01)
    assert search.settings.gradient_clip == 1.0
    assert search.settings.final_learning_rate == 0.001


@pytest.mark.parametrize("options", [{"method": "published"}, {"single_level": True}])
def test_single_level_shows_both_steps_every_training_image_and_no_test_image(monkeypatch, options):
    entry = RegisteredMethod(factory=Darts, recipe=Recipe(halves=1))
    monkeypatch.setitem(METHODS._entries, "published", entry)
    images = stripes(test=torch.full((8, 1, 8, 8), 255, dtype=torch.uint8))
    prepared = prepare(tiny(space="nasbench201", cells=1, **options), images)
    search = prepared.search
    assert (prepared.game.examples, search.settings.rounds_per_epoch) == (80, 10)
    search.begin_epoch()
    for source in (search.train, search.valid):
        assert torch.equal(source.order.flatten().sort().values, torch.arange(80))
        assert len(source.images) == 80  # the test images are others
    assert not torch.equal(search.train.order, search.valid.order)


def test_a_joint_gradient_is_taken_where_the_recipe_and_the_user_agree(monkeypatch):
    entry = RegisteredMethod(factory=Darts, recipe=Recipe(halves=1, joint=True))
    monkeypatch.setitem(METHODS._entries, "published", entry)
    for single_level, joint in ((None, True), (True, True), (False, False)):
        config = tiny(space="nasbench201", cells=1, method="published", single_level=single_level)
        assert prepare(config, stripes()).search.settings.joint is joint
