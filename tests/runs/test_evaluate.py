"""`evaluate_run`: a trained run, or the authors' weights, on its own data and on others."""

import json
from dataclasses import replace

import pytest
import torch
from PIL import Image
from trained import edited, network, saved_run

from xnas import ConfigError, DatasetError, ImageData
from xnas.data import StreamedImages, load_data, standardize
from xnas.data.cifar import MEAN, STD
from xnas.model.image_inputs import ImageReader
from xnas.records import CalibrationBin, Evaluation
from xnas.runs.evaluate import (
    RELEASED,
    EvaluateConfig,
    evaluate_run,
    read_evaluation,
    write_evaluation,
)
from xnas.runs.plain_batches import Preparation, plain_batches
from xnas.runs.run_data import CHANGED
from xnas.space.authors_weights import to_authors_layout

CPU = EvaluateConfig(device="cpu")


@pytest.fixture(autouse=True)
def _pictures(request, monkeypatch):
    """Most tests are not about pictures, which take half a second each."""

    def blank(_, folder, name):
        files = folder / f"{name}.svg", folder / f"{name}.png"
        for file in files:
            file.touch()
        return files

    if "drawn" not in request.fixturenames:
        monkeypatch.setattr("xnas.report.figures.save_figure", blank)


@pytest.fixture
def drawn():
    """For tests whose pictures are drawn."""


@pytest.fixture(scope="module")
def digits():
    return load_data("digits")


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    saved_run(folder)
    return folder


def accuracy(model, images, labels, mean, std):
    """The plain way: all images at once."""
    with torch.no_grad():
        return float((model(standardize(images, mean, std)).argmax(-1) == labels).double().mean())


@pytest.mark.usefixtures("drawn")
def test_a_run_is_tested_on_the_test_images_of_its_data(run, digits):
    done = evaluate_run(run, config=CPU)
    expected = accuracy(network(digits), digits.test_images, digits.test_labels, digits.mean, digits.std)
    assert done.evaluation.top1 == expected
    assert done.evaluation.images == len(digits.test_labels)
    assert done.data == "digits"
    assert done.notes == (digits.note,)
    for name in ("evaluation.json", "evaluation.md", "figures/confusion.svg", "figures/reliability.png"):
        assert (run / name).stat().st_size > 100
    assert {path.name for path in done.files} >= {"evaluation.json", "confusion.png"}
    assert read_evaluation(run / "evaluation.json") == done.evaluation
    assert not list(run.rglob(".*"))


def test_evaluating_twice_replaces_what_was_there(run):
    first = evaluate_run(run, config=CPU)
    assert evaluate_run(run, config=replace(CPU, batch_size=7)).evaluation.confusion == (
        first.evaluation.confusion
    )


def test_other_data_are_matched_by_the_names_of_their_classes(run, digits):
    count = len(digits.classes)
    turned = ImageData(
        name="turned round",
        images=digits.images,
        labels=count - 1 - digits.labels,
        classes=digits.classes[::-1],
        test_images=digits.test_images,
        test_labels=count - 1 - digits.test_labels,
    )
    own, other = evaluate_run(run, config=CPU), evaluate_run(run, turned, CPU)
    assert other.evaluation.confusion == own.evaluation.confusion
    assert (run / "evaluation-turned-round.json").exists()  # beside the run's own
    assert (run / "figures" / "confusion-turned-round.png").exists()
    assert read_evaluation(run / "evaluation.json") == own.evaluation


def test_images_of_another_shape_are_brought_to_the_networks(run, digits):
    colour = replace(
        digits,
        images=digits.images.expand(-1, 3, -1, -1),
        test_images=digits.test_images.expand(-1, 3, -1, -1),
        mean=(),
        std=(),
    )
    assert evaluate_run(run, colour, CPU).evaluation.confusion == (
        evaluate_run(run, config=CPU).evaluation.confusion
    )


def unseen(data):
    """Images that no run was trained on."""
    return replace(data, images=255 - data.images, test_images=255 - data.test_images)


def test_every_image_takes_those_for_training_too(run, digits):
    done = evaluate_run(run, unseen(digits), replace(CPU, every_image=True))
    assert done.evaluation.images == len(digits.labels) + len(digits.test_labels)
    assert done.notes == ("scikit-learn's digits",)  # none is held out as test


def test_every_image_is_refused_of_the_images_of_the_training(run, digits, photos, tmp_path):
    every = replace(CPU, every_image=True)
    with pytest.raises(ConfigError, match="--every-image would test on the images that the run was"):
        evaluate_run(run, config=every)
    own = load_data(photos)
    saved_run(tmp_path / "other", own)
    renamed = photos.rename(tmp_path / "moved")
    for folder, data in ((run, "digits"), (run, digits), (tmp_path / "other", str(renamed))):
        with pytest.raises(ConfigError, match="that the run was trained on; give other DATA"):
            evaluate_run(folder, data, every)
    config = json.loads((run / "config.json").read_text(encoding="utf8"))
    changed = config | {"data": str(renamed), "data_fingerprint": "other"}
    (run / "config.json").write_text(json.dumps(changed), encoding="utf8")
    with pytest.raises(ConfigError, match="that the run was trained on; give other DATA"):
        evaluate_run(run, str(renamed), every)  # some of them may have been among those


def test_changed_training_images_are_told(run):
    config = json.loads((run / "config.json").read_text(encoding="utf8"))
    (run / "config.json").write_text(json.dumps(config | {"data_fingerprint": "other"}), encoding="utf8")
    assert CHANGED in evaluate_run(run, config=CPU).notes


def test_fields_of_newer_versions_are_told(run):
    edited(run, licence="none")
    notes = evaluate_run(run, config=CPU).notes
    assert any("has the field 'licence', which this version does not know" in note for note in notes)


def test_a_model_without_its_config_is_tested_on_a_dataset_of_its_name(run):
    (run / "config.json").unlink()
    assert evaluate_run(run, config=CPU).data == "digits"
    edited(run, trained_on="my photos")
    with pytest.raises(ConfigError, match=r"does not say where its images are \(my photos\); give DATA"):
        evaluate_run(run, config=CPU)


def _renamed(data, **names):
    return replace(data, classes=tuple(names.get(f"c{name}", name) for name in data.classes))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: _renamed(d, c3="three"), "digits lacks '3', and the run does not know 'three'"),
        (lambda d: replace(d, classes=(*d.classes, "x"), images=torch.cat([d.images, d.images[:1]]),
                           labels=torch.cat([d.labels, torch.tensor([10])])),
         "are not those of the run: the run does not know 'x'; name"),
        (lambda d: _renamed(d, **{f"c{k}": f"n{k}" for k in range(10)}), "'4' and 5 more"),
    ],
)  # fmt: skip
def test_classes_that_differ_are_named_and_nothing_is_written(run, digits, change, words):
    with pytest.raises(ConfigError, match=words):
        evaluate_run(run, change(digits), CPU)
    assert not list(run.glob("evaluation*"))


def test_data_without_test_images_are_refused(run, digits):
    untested = replace(unseen(digits), test_images=None, test_labels=None)
    with pytest.raises(DatasetError, match="digits has no test images; add a folder test"):
        evaluate_run(run, untested, CPU)
    done = evaluate_run(run, untested, replace(CPU, every_image=True))
    assert done.evaluation.images == len(digits.labels)


def test_out_is_another_folder_new_or_empty(run, tmp_path):
    out = tmp_path / "elsewhere"
    evaluate_run(run, config=replace(CPU, out=out))
    assert (out / "evaluation.json").exists()
    assert not (run / "evaluation.json").exists()
    with pytest.raises(ConfigError, match="elsewhere is not empty; choose another folder with --out"):
        evaluate_run(run, config=replace(CPU, out=out))
    with pytest.raises(ConfigError, match=r"evaluation\.json is a file; choose a folder"):
        evaluate_run(run, config=replace(CPU, out=out / "evaluation.json"))


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(ConfigError, match="no trained model in"):
        evaluate_run(tmp_path, config=CPU)


def test_settings_out_of_range_are_named():
    with pytest.raises(ConfigError, match="batch_size must be at least 1, got 0"):
        EvaluateConfig(batch_size=0)


# The authors' weights.


def coloured(count=20, side=8, classes=2):
    images = torch.randint(256, (count, 3, side, side), generator=torch.Generator().manual_seed(5))
    labels = torch.arange(count) % classes
    return ImageData(
        name="coloured",
        images=images.to(torch.uint8),
        labels=labels,
        classes=tuple(f"c{k}" for k in range(classes)),
        test_images=images.to(torch.uint8).flip(0),
        test_labels=labels.flip(0),
    )


def released(tmp_path, data, **arguments):
    model = network(data, **arguments)
    torch.save(to_authors_layout(model), tmp_path / "released.pt")
    return model, tmp_path / "released.pt"


def test_the_authors_weights_are_tested_with_their_normalisation(tmp_path):
    data = coloured()
    model, path = released(tmp_path, data)
    done = evaluate_run(path, data, replace(CPU, cell="xnas", channels=2, cells=3))
    with torch.no_grad():
        logits = model(standardize(data.test_images, MEAN, STD))
    assert done.evaluation.loss == pytest.approx(
        float(torch.nn.functional.cross_entropy(logits, data.test_labels)), rel=1e-5
    )
    assert done.notes[0] == "standardised with the authors' mean and deviation of cifar10"
    assert done.files == ()  # there is no run folder
    assert list(tmp_path.iterdir()) == [path]
    out = evaluate_run(path, data, replace(CPU, cell="xnas", channels=2, cells=3, out=tmp_path / "o"))
    assert (tmp_path / "o" / "evaluation.json") in out.files


def test_weights_for_imagenet_see_the_middle_of_larger_images(tmp_path):
    data = coloured(count=4, side=256)
    model, path = released(tmp_path, data, network="imagenet")
    config = replace(CPU, cell="xnas", network="imagenet", channels=2, cells=3)
    kind = RELEASED["imagenet"]
    middle = data.test_images[..., 16:240, 16:240]  # 224 of 256
    with torch.no_grad():
        logits = model(standardize(middle, kind.mean, kind.std))
    assert kind.mean == (0.485, 0.456, 0.406)
    assert evaluate_run(path, data, config).evaluation.loss == pytest.approx(
        float(torch.nn.functional.cross_entropy(logits, data.test_labels)), rel=1e-4
    )


def test_grey_images_have_a_mean_of_their_own(tmp_path, digits):
    model, path = released(tmp_path, digits)
    done = evaluate_run(path, "digits", replace(CPU, cell="xnas", channels=2, cells=3))
    assert done.notes[0] == "standardised with mean and deviation of digits itself"
    assert done.evaluation.top1 == accuracy(
        model, digits.test_images, digits.test_labels, digits.mean, digits.std
    )


def test_a_file_needs_a_cell_and_the_right_sizes(tmp_path):
    _, path = released(tmp_path, coloured())
    with pytest.raises(ConfigError, match=r"released\.pt is a file; .* with --cell xnas"):
        evaluate_run(path, coloured(), CPU)
    with pytest.raises(ConfigError, match="build it with channels=2"):
        evaluate_run(path, coloured(), replace(CPU, cell="xnas", channels=4, cells=3))
    with pytest.raises(ConfigError, match="no cell"):
        evaluate_run(path, coloured(), replace(CPU, cell="nonesuch"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"channels": 3}, "--channels can be said of a file of weights, but .* is a folder; give the"),
        ({"cell": "xnas", "cells": 3}, "--cell and --cells can be said of a file of weights"),
        ({"network": "imagenet"}, "--network can be said"),
    ],
)
def test_a_run_is_not_told_what_its_network_is(tmp_path, arguments, words):
    with pytest.raises(ConfigError, match=words):
        evaluate_run(tmp_path, None, replace(CPU, **arguments))


# The pieces.


def test_plain_batches_hold_every_image_once_and_in_order():
    data = coloured(count=7)
    plain = Preparation(mean=data.mean, std=data.std, batch_size=3)
    parts = list(plain_batches(data.images, data.labels, plain))
    assert [len(labels) for _, labels in parts] == [3, 3, 1]
    torch.testing.assert_close(
        torch.cat([images for images, _ in parts]), standardize(data.images, data.mean, data.std)
    )
    assert torch.equal(torch.cat([labels for _, labels in parts]), data.labels)


def test_plain_batches_of_another_shape_are_fitted():
    data = coloured(count=2, side=16)
    reader = ImageReader(channels=1, size=(8, 8), resize="crop", example="x")
    plain = Preparation(mean=(0.0,), std=(1.0,), reader=reader)
    ((images, _),) = plain_batches(data.images, data.labels, plain)
    assert images.shape == (2, 1, 8, 8)


@pytest.fixture
def photos(tmp_path, digits):
    """Test digits in files, in folders by class."""
    for part, images, labels in (
        ("train", digits.images, digits.labels),
        ("test", digits.test_images, digits.test_labels),
    ):
        for index in range(60):
            folder = tmp_path / "photos" / part / digits.classes[labels[index]]
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(images[index, 0].numpy()).save(folder / f"{index}.png")
    return tmp_path / "photos"


def test_images_that_stay_in_files_are_tested_alike(run, photos, monkeypatch):
    in_memory = load_data(photos)
    monkeypatch.setattr("xnas.data.streaming.default_workers", lambda **_: 0)
    in_files = load_data(photos, stream=True)
    assert isinstance(in_files, StreamedImages)
    first, second = (
        evaluate_run(run, data, replace(CPU, batch_size=7)).evaluation for data in (in_memory, in_files)
    )
    assert first.images == 60
    assert second.confusion == first.confusion
    assert second.loss == pytest.approx(first.loss, rel=1e-6)
    with pytest.raises(ConfigError, match="joins images in memory, and those of photos stay in files"):
        evaluate_run(run, in_files, replace(CPU, every_image=True))


def test_files_of_another_shape_are_refused(run, photos, monkeypatch):
    monkeypatch.setattr("xnas.data.streaming.default_workers", lambda **_: 0)
    larger = load_data(photos, stream=True, image_size=16)
    with pytest.raises(ConfigError, match=r"are read as \(1, 16, 16\) .* the network takes \(1, 8, 8\)"):
        evaluate_run(run, larger, CPU)


def test_the_best_weights_in_a_run_find_the_data_of_the_run(run):
    best = run / "best"
    saved_run(best, config=False)
    edited(best, trained_on="my photos")
    assert evaluate_run(best, config=CPU).data == "digits"


@pytest.mark.usefixtures("drawn")
def test_names_that_no_font_can_write_are_no_obstacle(tmp_path, run):
    done = evaluate_run(run, config=CPU).evaluation
    named = replace(done, classes=tuple(f"猫{k}$" for k in range(10)))
    files = write_evaluation(tmp_path / "out", named, data="猫")
    assert read_evaluation(files[0]) == named


def test_a_damaged_evaluation_is_named(tmp_path):
    (tmp_path / "e.json").write_text("{}", encoding="utf8")
    with pytest.raises(ConfigError, match=r"cannot read the evaluation .*e\.json"):
        read_evaluation(tmp_path / "e.json")
    (tmp_path / "e.json").write_text('{"format": "xnas-evaluation", "version": 2}', encoding="utf8")
    with pytest.raises(ConfigError, match="of version 2; this xnas reads"):
        read_evaluation(tmp_path / "e.json")


def test_the_confusions_of_many_classes_are_not_drawn(tmp_path):
    count = 101
    done = Evaluation(
        images=count,
        classes=tuple(map(str, range(count))),
        top1=1.0,
        top5=1.0,
        loss=0.0,
        counts=(1,) * count,
        accuracies=(1.0,) * count,
        confusion=tuple((0,) * k + (1,) + (0,) * (count - 1 - k) for k in range(count)),
        calibration_error=0.0,
        calibration=(CalibrationBin(lower=0.0, upper=1.0, images=count, confidence=1.0, accuracy=1.0),),
    )
    names = [path.name for path in write_evaluation(tmp_path / "out", done)]
    assert "reliability.png" in names
    assert "confusion.png" not in names


def test_a_run_on_images_in_files_finds_them_again_unchanged(tmp_path, photos, monkeypatch):
    monkeypatch.setattr("xnas.data.streaming.default_workers", lambda **_: 0)
    streamed = load_data(photos, stream=True)
    saved_run(tmp_path / "run", streamed)
    path = tmp_path / "run" / "config.json"
    config = json.loads(path.read_text(encoding="utf8"))
    for recorded, changed in ((True, False), (False, True)):
        config |= {"data": str(photos), "config": {"stream": recorded}}
        path.write_text(json.dumps(config), encoding="utf8")
        assert (CHANGED in evaluate_run(tmp_path / "run", config=CPU).notes) == changed
