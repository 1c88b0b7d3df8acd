"""`evaluate_run`: a trained run, or the authors' weights, on its own data and on others."""

import json
from dataclasses import replace

import pytest
import torch
from PIL import Image
from trained import edited, network, saved_run

from xnas import ConfigError, DatasetError, ImageData
from xnas.data import StreamedImages, load_data, standardize
from xnas.model.evaluation_files import read_evaluation
from xnas.runs.evaluate import evaluate_run
from xnas.runs.model_options import EvaluateConfig

CPU = EvaluateConfig(device="cpu")


@pytest.fixture(autouse=True)
def _pictures(request, monkeypatch):
    """Most tests are not about pictures, which take half a second each."""

    def blank(_, folder, name):
        folder.mkdir(exist_ok=True)
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
    assert (run / "evaluation-turned-round.json").exists()  # next to the run's own
    assert (run / "figures" / "confusion-turned-round.png").exists()
    assert read_evaluation(run / "evaluation.json") == own.evaluation


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


def test_fields_of_newer_versions_are_reported(run):
    edited(run, licence="none")
    notes = evaluate_run(run, config=CPU).notes
    assert any("has the field 'licence', which this version does not know" in note for note in notes)


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


def test_results_do_not_go_into_the_folder_of_the_images(run, tmp_path):
    out = tmp_path / "photos" / "results"
    with pytest.raises(ConfigError, match=r"lies in the data folder .*photos, where results would look"):
        evaluate_run(run, str(tmp_path / "photos"), replace(CPU, out=out))
    assert not out.exists()


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(ConfigError, match="no trained model in"):
        evaluate_run(tmp_path, config=CPU)


def test_settings_out_of_range_are_named():
    with pytest.raises(ConfigError, match="batch-size must be at least 1, got 0"):
        EvaluateConfig(batch_size=0)


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
