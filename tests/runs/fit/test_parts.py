"""The settings and images of the runs that a fit consists of."""

import torch
from fits import SMALL_PLAN, pictures

from xnas import FitConfig
from xnas.data import held_out, stream_seed
from xnas.runs.fit.parts import FitData, facts_of, search_settings, train_settings
from xnas.runs.prepare_training import prepare_training
from xnas.space import find_architecture

CONFIG = FitConfig(device="cpu", seed=3, backend="reference", balance=True, checkpoint_minutes=2)


def keys(images):
    return {image.numpy().tobytes() for image in images}


def test_the_search_sees_no_validation_image_of_the_trainings():
    data = FitData(pictures(), CONFIG, 0.2)
    settings = train_settings(CONFIG, "xnas", share=0.2, epochs=1, cells=3, channels=2)
    prepared = prepare_training(settings, data.trained, find_architecture("xnas"))
    assert len(prepared.valid.indices) == data.held == 16
    held = keys(data.images.images[prepared.valid.indices.cpu()])
    searched = data.searched(1000)
    assert len(searched.labels) == 64
    assert not keys(searched.images) & held
    assert len(data.searched(20).labels) == 20
    assert keys(data.searched(20).images) < keys(searched.images)


def test_the_validation_part_follows_the_seed():
    labels = pictures().labels
    parts = [held_out(labels, share=0.2, seed=stream_seed(seed, "validation"))[1] for seed in (3, 4)]
    assert not torch.equal(*parts)


def test_no_run_gets_test_images():
    data = FitData(pictures(), CONFIG, 0.2)
    assert data.trained.test_images is None
    assert data.searched(20).test_images is None


def test_every_run_has_the_settings_of_the_fit(tmp_path):
    search = search_settings(CONFIG, SMALL_PLAN.search, tmp_path)
    train = train_settings(CONFIG, "resnet-8", share=0.2, epochs=7, out=tmp_path)
    for settings in (search, train):
        for name in ("device", "seed", "backend", "balance", "checkpoint_minutes"):
            assert getattr(settings, name) == getattr(CONFIG, name)
        assert settings.out == tmp_path
    assert (search.epochs, search.batch_size, search.cells, search.channels) == (2, 8, 3, 2)
    assert (train.epochs, train.validation, train.recipe) == (7, 0.2, "quick")


def test_the_class_with_the_fewest_images_is_named():
    facts = facts_of(pictures(21))
    assert (facts.images, facts.fewest, facts.fewest_name) == (21, 10, "horizontal")
