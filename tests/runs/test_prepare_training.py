"""A training is made of its options, images and a cell."""

from dataclasses import replace

import pytest
import torch
from training import pictures, tiny

from xnas.engine.distributed import Ranks
from xnas.errors import ConfigError
from xnas.runs.prepare_training import hole_side, prepare_training, require_nothing_to_load
from xnas.runs.recipes import recipe_for
from xnas.space import count_parameters, find_genotype


def prepared(**options):
    return prepare_training(tiny(**options), pictures(), find_genotype("xnas"))


def test_the_plan_reaches_network_and_engine():
    made = prepared(drop_path_rate=0.3, auxiliary_weight=0.2, weight_decay=0.01)
    assert made.training.settings == made.plan.settings
    assert made.training.model.spec == made.plan.network
    assert made.training.optimizer.param_groups[0]["weight_decay"] == 0.01
    assert made.parameters < count_parameters(made.training.model)  # which has an auxiliary tower
    assert made.config == made.plan.config


def test_held_out_images_are_a_share_and_none_by_default():
    assert prepared().valid is None
    held = prepared(validation=0.5).valid
    assert sum(len(labels) for _, labels in held.whole()) == len(pictures().labels) // 2


def test_the_benchmarks_recipe_holds_a_fifth_out_and_mixes():
    made = prepared(recipe="nasbench301")
    count = len(pictures().labels)
    assert sum(len(labels) for _, labels in made.valid.whole()) == count // 5
    assert made.training.batches.examples == count - count // 5
    assert made.training.mixing.alpha == 0.2
    assert made.training.mixing.partners.shape[1] == len(made.training.batch[1])
    assert (made.config.mixup, made.config.validation) == (0.2, 0.2)


def test_of_several_processes_each_mixes_its_own_part_with_the_same_share():
    first, second = (
        prepare_training(tiny(mixup=1), pictures(), find_genotype("xnas"), Ranks(rank=rank, size=2))
        for rank in (0, 1)
    )
    for made in (first, second):
        made.training.begin_epoch()
        train_batch, mixing = made.training.batch, made.training.mixing
        assert mixing.partners.shape[1] == len(train_batch[1]) == made.plan.recipe.batch_size // 2
    assert torch.equal(first.training.mixing.shares, second.training.mixing.shares)


def test_what_a_recipe_mixes_and_holds_out_can_be_turned_off():
    made = prepared(recipe="nasbench301", mixup=0.0, validation=0.0)
    assert made.training.mixing is made.valid is None
    assert (made.config.mixup, made.config.validation) == (0.0, 0.0)
    assert prepared().training.mixing is None
    assert prepared(mixup=1).training.mixing.alpha == 1


def test_a_class_with_hardly_any_images_left_gives_a_warning():
    assert prepared(validation=0.5).cautions == []
    (line,) = prepared(validation=0.95, batch_size=2).cautions
    assert "--validation 0.95 leaves 1 image of class" in line


def test_notes_on_earlier_choices_come_first():
    made = prepare_training(tiny(), pictures(), find_genotype("xnas"), notes=["--fold 1, as in run"])
    assert made.plan.notes[0] == "--fold 1, as in run"


def test_preparing_leaves_the_users_random_numbers_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    prepared()
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"image_size": 16}, "image-size is 16, but the images that were given are 8 x 8; give them"),
        ({"resize": "pad"}, "resize is pad, but the images that were given came by crop"),
    ],
)
def test_images_in_memory_stay_as_they_are(options, words):
    require_nothing_to_load(tiny(), pictures())
    with pytest.raises(ConfigError, match=words):
        require_nothing_to_load(tiny(**options), pictures())


@pytest.mark.parametrize(
    ("size", "side"), [((32, 32), 16), ((28, 28), 14), ((96, 96), 48), ((8, 16), 4)]
)
def test_the_hole_of_cutout_is_half_of_the_smaller_side_on_all_images(size, side):
    how = recipe_for("xnas-1500", "").images
    assert hole_side(how, size) == side
    assert hole_side(replace(how, cutout=0), size) == 0
