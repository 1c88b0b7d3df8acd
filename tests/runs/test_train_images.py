"""What a training does to its images, whether they are in memory or in files."""

import pytest
import torch
from datasets_made import make_freiburg
from PIL import Image
from training import Listening, read, same_runs, tiny

import xnas
from xnas.data import load_data, standardize
from xnas.model.export import metadata
from xnas.model.model_card import read_card
from xnas.process.interrupt import Interrupted
from xnas.runs.evaluate import evaluate_run
from xnas.runs.export import export_run
from xnas.runs.model_options import EvaluateConfig, ExportConfig
from xnas.runs.prepare_training import prepare_training
from xnas.runs.train import resume_training, train
from xnas.space import count_macs, create_model, find_genotype


@pytest.fixture(autouse=True)
def _no_pictures(monkeypatch):
    """Evaluations draw, which takes half a second each."""
    monkeypatch.setattr("xnas.report.figures.save_figure", lambda *_: ())


def coloured(folder, count=24, side=64):
    """Two classes of images whose colours run over their sides, so that crops differ."""
    ramp = torch.arange(side, dtype=torch.uint8) * (255 // side)
    for part, images in (("train", count), ("test", 8)):
        for number in range(images):
            picture = torch.stack(
                [
                    ramp.expand(side, side),
                    ramp[:, None].expand(side, side),
                    torch.full((side, side), 90 * (number % 2) + number),
                ],
                dim=-1,
            )
            path = folder / part / f"class {number % 2}" / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture.to(torch.uint8).numpy()).save(path)
    return folder


CROPPED = {"recipe": "imagenet-250", "image_size": 64, "epochs": 1, "batch_size": 8}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same training with images in memory and in files."""
    root = tmp_path_factory.mktemp("crops")
    data = str(coloured(root / "data"))
    display = Listening()
    for name, stream in (("held", False), ("streamed", True)):
        out = root / name
        settings = {**CROPPED, "stream": stream, "validation": 0.25}
        train(tiny(out=out, **settings), data, display=display)
    return root, display


def test_streamed_images_give_the_training_that_images_in_memory_give(runs):
    root, _ = runs
    same_runs(root / "held", root / "streamed")


def test_the_share_of_the_crop_applies_and_is_told(runs):
    root, display = runs
    told = "images of 64 x 64: training sees random crops, resized, of 56 x 56, a test their middle"
    assert told in display.lines
    card, _ = read_card(root / "held")
    assert (card.size, card.centre, card.input_size) == ((64, 64), (56, 56), (56, 56))
    with torch.device("meta"):
        model = create_model("xnas", network="imagenet", channels=2, cells=3, num_classes=2)
    macs = count_macs(model, (3, 56, 56)) / 1e6
    assert any(f"{macs:,.1f} M multiply-accumulates" in line for line in display.lines)


def test_a_batch_is_crops_and_what_is_held_back_the_middle(runs):
    root, _ = runs
    images = load_data(root / "data", image_size=64)
    config = tiny(**CROPPED, validation=0.25)
    prepared = prepare_training(config, images, find_genotype("xnas"))
    training = prepared.training
    training.begin_epoch()
    training.batches.fill(*training.batch)
    assert training.batch[0].shape == (8, 3, 56, 56)
    (batch, _), *_ = prepared.valid.whole()
    middle = standardize(images.images[:1, :, 4:60, 4:60], images.mean, images.std)[:, :2]
    assert torch.allclose(batch[:1, :2], middle, atol=1e-5)  # red and green are those of every image


def test_all_ways_of_asking_see_the_middle(runs):
    root, _ = runs
    out = root / "held"
    said = read(out / "test.json")
    config = EvaluateConfig(device="cpu", out=root / "evaluated")
    assert evaluate_run(out, config=config).evaluation.top1 == said["top1"]
    other = EvaluateConfig(device="cpu", out=root / "evaluated-folder")
    done = evaluate_run(out, str(root / "data"), other).evaluation
    assert done.loss == pytest.approx(said["loss"], rel=1e-6)
    streamed = load_data(root / "data", image_size=64, stream=True)
    other = EvaluateConfig(device="cpu", out=root / "evaluated-stream")
    assert evaluate_run(out, streamed, other).evaluation.loss == pytest.approx(said["loss"], rel=1e-6)
    classifier = xnas.load(out, "cpu")
    path = root / "data" / "test" / "class 1" / "3.png"
    image = load_data(root / "data", image_size=64).test_images[4:5]
    framed = torch.zeros_like(image)
    framed[..., 4:60, 4:60] = image[..., 4:60, 4:60]
    assert torch.equal(classifier.logits(image), classifier.logits(framed))
    assert classifier.logits(path).shape == (1, 2)


def test_an_export_takes_what_the_network_sees(runs, monkeypatch):
    root, _ = runs
    given = []

    def note(_folder, _model, _card, images, **_):
        given.append(images.shape[1:])
        return {}, ()

    monkeypatch.setattr("xnas.runs.export.write_exports", note)
    export_run(root / "held", ExportConfig(out=root / "exported", onnx=False, torch_export=False))
    assert given == [(3, 56, 56)]
    (root / "data").rename(root / "away")  # then it is checked on generated images
    export_run(root / "held", ExportConfig(out=root / "again", onnx=False, torch_export=False))
    (root / "away").rename(root / "data")
    assert given[1] == (3, 56, 56)
    assert metadata(read_card(root / "held")[0])["xnas.centre"] == "[56, 56]"


@pytest.mark.parametrize(("recipe", "stream"), [("xnas-1500", True), ("quick", False)])
def test_the_card_has_the_rule_by_which_images_got_their_size(tmp_path, recipe, stream):
    """Freiburg's is pad, whoever says so: the recipe, or the dataset itself."""
    make_freiburg(tmp_path / "freiburg_groceries_dataset")
    out = tmp_path / "run"
    settings = {"recipe": recipe, "image_size": 16, "epochs": 1, "auxiliary_weight": 0.0}
    train(tiny(out=out, data_dir=tmp_path, stream=stream, **settings), "freiburg")
    assert read_card(out)[0].resize == "pad"
    done = evaluate_run(out, config=EvaluateConfig(device="cpu", out=tmp_path / "evaluated"))
    assert done.evaluation.top1 == read(out / "test.json")["top1"]


def test_an_interrupted_training_on_a_folder_goes_on_from_the_command_it_gives(tmp_path):
    data = coloured(tmp_path / "data", side=16)
    out = tmp_path / "a run"
    settings = {"stream": True, "balance": True, "epochs": 2}
    with pytest.raises(Interrupted, match=r"resume with: xnas train --resume '.*a run'"):
        train(tiny(out=out, **settings), str(data), display=Listening(stop_after=2))
    resume_training(out)
    train(tiny(out=tmp_path / "whole", **settings), str(data))
    same_runs(tmp_path / "whole", out)
