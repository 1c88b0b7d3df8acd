"""A plan decides everything that the options leave open."""

from dataclasses import fields, replace

import pytest
import torch

from xnas import ConfigError, SearchConfig
from xnas.methods import METHODS, Darts, Recipe, RegisteredMethod
from xnas.runs.search_plan import resolve
from xnas.space.guards import ALL_GUARDS, OVERFITS_BELOW, SKIPS_DROPPED, UNGUARDED, Guards

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def planned(examples=1000, device=CPU, **options):
    return resolve(SearchConfig(**options), examples=examples, device=device)


@pytest.mark.parametrize("device", [CPU, GPU])
def test_nothing_is_left_open(device):
    plan = planned(device=device)
    assert [f.name for f in fields(plan) if getattr(plan, f.name) is None] == []
    for name in ("epochs", "cells", "relaxation", "backend", "precision"):
        assert getattr(plan.config, name) == getattr(plan, name)
    for guard in fields(plan.guards):
        assert getattr(plan.config, guard.name) == getattr(plan.guards, guard.name)


@pytest.mark.parametrize(
    ("examples", "batch", "epochs"),
    [(25_000, 96, 20), (1000, 48, 50), (100, 8, 84)],  # 20 and 12 rounds per epoch give 1000
)
def test_batches_give_twenty_rounds_per_epoch_and_epochs_a_thousand_rounds(examples, batch, epochs):
    plan = planned(examples)
    assert (plan.batch_size, plan.epochs) == (batch, epochs)


def test_a_gpu_has_more_cells_and_the_fused_backend():
    for device, *expected in ((CPU, 5, 8, "reference", "fp32"), (GPU, 8, 16, "fused", "bf16")):
        plan = planned(device=device)
        assert [plan.cells, plan.channels, plan.backend, plan.precision] == expected
    assert planned(device=GPU, backend="reference").precision == "fp32"
    assert planned(device=GPU, space="nasbench201").cells == 5


@pytest.mark.parametrize(
    ("options", "skip_dropout", "include_none"),
    [
        ({}, "0.5", False),
        ({"method": "darts"}, "0", True),
        ({"faithful": True}, "0", False),
        ({"faithful": True, "space": "nasbench201"}, "0", True),
        ({"skip_dropout": "0.6:0", "include_none": True}, "0.6:0", True),
    ],
)
def test_guards_follow_from_the_method(options, skip_dropout, include_none):
    plan = planned(**options)
    assert (plan.guards.skip_dropout, plan.include_none) == (skip_dropout, include_none)


def test_a_space_has_its_own_guards_and_epochs():
    darts, benchmark = planned(25_000), planned(25_000, space="nasbench201")
    assert (darts.guards, darts.epochs, darts.warmup_epochs) == (ALL_GUARDS, 20, 4)
    assert (benchmark.guards, benchmark.epochs) == (SKIPS_DROPPED, 50)


def test_a_projection_of_xnas_has_its_guards_and_epochs_but_chooses_edges_itself():
    for space in ("darts", "nasbench201"):
        for examples in (25_000, 1000):
            inner = planned(examples, space=space)
            plan = planned(examples, space=space, method="xnas-pt")
            assert plan.guards == replace(inner.guards, edges="share")
            assert (plan.epochs, plan.warmup_epochs) == (inner.epochs, inner.warmup_epochs)
    assert planned(25_000, method="xnas-pt", faithful=True).guards == UNGUARDED


def test_guards_belong_to_methods_that_are_registered_with_them(monkeypatch):
    assert {name for name in METHODS if METHODS[name].guarded} == {"xnas", "xnas-pt"}
    monkeypatch.setitem(METHODS._entries, "mine", RegisteredMethod(factory=Darts, guarded=True))
    assert planned(25_000, method="mine").guards == ALL_GUARDS


@pytest.mark.parametrize("method", ["xnas-pt", "darts-pt", "random", "enas"])
def test_methods_that_measure_refuse_to_have_edges_chosen_by_absence(method):
    with pytest.raises(ConfigError, match=f"method {method} chooses edges by measurements of its own"):
        planned(method=method, edges="absence")
    assert planned(method="gaea", edges="absence").guards.edges == "absence"


def test_with_few_images_every_space_pays_at_the_best_temperature():
    few, many = (planned(count, space="nasbench201") for count in (OVERFITS_BELOW - 1, OVERFITS_BELOW))
    assert few.guards == replace(SKIPS_DROPPED, best_temperature=True)
    assert many.guards == SKIPS_DROPPED
    assert any("best temperature, as 4999 images are few" in note for note in few.notes)
    assert not any("temperature" in note for note in many.notes)
    off = planned(1000, space="nasbench201", best_temperature=False)
    assert off.guards == SKIPS_DROPPED
    assert not any("temperature" in note for note in off.notes)
    assert planned(1000, space="nasbench201", faithful=True).guards == UNGUARDED
    assert not planned(1000, space="nasbench201", method="gaea").guards.best_temperature


@pytest.mark.parametrize("options", [{"faithful": True}, {"method": "darts"}])
def test_the_papers_protocol_and_rivals_have_no_guard_and_fifty_epochs(options):
    plan = planned(25_000, **options)
    assert (plan.guards, plan.epochs) == (UNGUARDED, 50)


def test_a_guard_that_the_user_sets_leaves_the_others_as_they_are():
    plan = planned(edges="share", best_temperature=False, warmup=0.0)
    assert plan.guards == Guards(skip_dropout="0.5", expert_dropout=0.5)
    assert planned(faithful=True, expert_dropout=0.2).guards == Guards(expert_dropout=0.2)


def test_skip_dropout_is_a_number_or_a_fall():
    assert planned().skip_dropout_range == (0.5, 0.5)
    assert planned(skip_dropout="0.6:0").skip_dropout_range == (0.6, 0.0)


def test_what_the_user_says_is_kept_and_needs_no_note():
    plan = planned(epochs=3, batch_size=8, cells=4, channels=6, relaxation=0.5, experts_lr=0.1)
    assert (plan.epochs, plan.batch_size, plan.cells, plan.channels) == (3, 8, 4, 6)
    assert (plan.relaxation, plan.experts_lr, plan.notes) == (0.5, 0.1, ())


def test_a_batch_larger_than_a_half_is_refused():
    with pytest.raises(ConfigError, match="batch of 64, but only 40 images in a half; use a smaller"):
        planned(40, batch_size=64)


@pytest.fixture
def published(monkeypatch):
    """A method with a recipe, under the name `published`."""

    def add(**recipe):
        entry = RegisteredMethod(factory=Darts, recipe=Recipe(**recipe))
        monkeypatch.setitem(METHODS._entries, "published", entry)

    return add


def test_a_number_is_the_user_s_else_the_method_s_else_ours(published):
    published(epochs=7, batch_size=16, weights_lr=0.1, cells=4, skip_dropout="0.3", include_none=True)
    names = ("epochs", "batch_size", "weights_lr", "cells", "channels", "skip_dropout", "include_none")
    ours, methods = planned(method="darts"), planned(method="published")
    users = planned(method="published", epochs=3, batch_size=8, weights_lr=0.025, include_none=False)
    plans = [[getattr(plan.config, name) for name in names] for plan in (ours, methods, users)]
    assert plans[0] == [50, 48, 0.025, 5, 8, "0", True]
    assert plans[1] == [7, 16, 0.1, 4, 8, "0.3", True]
    assert plans[2] == [3, 8, 0.025, 4, 8, "0.3", False]
    assert "7 epochs: 434 rounds (the method's)" in methods.notes
    assert "4 cells of 8 channels, of the method published" in methods.notes


def test_a_recipe_s_batch_leaves_twenty_rounds_to_few_images(published):
    published(batch_size=256)
    assert planned(25_000, method="published").batch_size == 256
    assert planned(1000, method="published").batch_size == 48


def test_a_recipe_may_have_both_learn_from_all_images_and_the_user_decides(published):
    published(halves=1, joint=True)
    assert planned(method="published").single_level
    assert not planned(method="published", single_level=False).single_level
    assert planned(single_level=True).single_level
    assert not planned().single_level


def test_a_method_of_differences_needs_float32(published):
    published(least_precision="fp32")
    assert planned(method="published", device=GPU).precision == "fp32"
    assert planned(device=GPU).precision == "bf16"
    with pytest.raises(ConfigError, match=r"method published takes differences .* --precision fp32"):
        planned(method="published", precision="bf16")


@pytest.mark.parametrize("name", ["darts2", "lambda"])
def test_second_order_and_lambda_are_methods_of_differences(name):
    assert planned(method=name, device=GPU).precision == "fp32"
    with pytest.raises(ConfigError, match=rf"method {name} takes differences .* --precision fp32"):
        planned(method=name, precision="bf16")
