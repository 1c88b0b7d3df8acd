"""The pretrained model of a fit: from a file or a cache, checked first, and never from the network."""

import socket
import sys
from dataclasses import replace

import pytest
import torch
from fitting import SMALL_PLAN, Watching, pictures
from huggingface_hub import constants
from safetensors.torch import load_file, save_file
from training import read

import xnas
from xnas import ConfigError, FitConfig, ImageData
from xnas.records import PlannedTraining, Settled
from xnas.runs.fit import concluding
from xnas.runs.fit import fit as module
from xnas.runs.fit.fit import fit, resume_fit
from xnas.runs.fit.parts import FitData, train_settings
from xnas.runs.fit.plan_file import plan_text
from xnas.runs.fit.pretrained import cached_weights, find_pretrained
from xnas.runs.fit.stages import Stages
from xnas.runs.run_folder import RunFolder
from xnas.space import find_architecture

timm = pytest.importorskip("timm")

SMALL = "test_resnet.r160_in1k"  # of timm's own tests: 0.5 million parameters


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "small.safetensors"
    torch.manual_seed(0)
    save_file(timm.create_model(SMALL, pretrained=False).state_dict(), path)
    return path


@pytest.fixture(autouse=True)
def _no_cache_and_no_network(tmp_path, monkeypatch):
    """An empty cache; any connection is an error."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("torch.hub.get_dir", lambda: str(tmp_path / "torch"))

    def refuse(*_, **__):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_a_model_with_a_file_is_found_with_what_its_images_need(weights):
    model, _ = find_pretrained(f"{SMALL}={weights}", pictures())
    assert (model.name, model.source) == (SMALL, weights)
    assert "fc.weight" not in model.weights
    mean, std = model.config["mean"], model.config["std"]
    architecture = model.architecture(96)
    grey = pictures()
    # A pixel of 0.7 is standardised by the data, and then as the model expects it.
    ours = (0.7 - grey.mean[0]) / grey.std[0]
    theirs = [(0.7 - m) / s for m, s in zip(mean, std, strict=True)]
    given = [ours * a + b for a, b in zip(architecture.scale, architecture.shift, strict=True)]
    assert given == pytest.approx(theirs)
    assert architecture.side == 96


def test_images_are_enlarged_to_a_few_sides_up_to_the_models_own(weights):
    model, _ = find_pretrained(f"{SMALL}={weights}", pictures())
    own = model.config["input_size"][-1]
    assert own == 160
    assert model.sides((8, 8)) == (64, 96, 128, 160)
    assert model.sides((96, 120)) == (128, 160)
    assert model.sides((300, 200)) == (160,)
    fixed = replace(model, config=model.config | {"fixed_input_size": True})
    assert fixed.sides((8, 8)) == (160,)
    assert fixed.architecture(160).square


@pytest.mark.parametrize(
    ("wanted", "fault"),
    [
        ("no_model_of_theirs", "--pretrained: timm has no model called 'no_model_of_theirs'"),
        ("resnet1", "timm has no model called 'resnet1'; there are resnet1"),
        ("=file.pth", "timm has no model called ''"),
        ("hf-hub:a/b", "timm has no model called 'hf-hub:a/b'"),
        ("resnet18=nowhere.pth", "there is no file nowhere.pth"),
        ("resnet18", "the weights of --pretrained resnet18 are not on this machine, and xnas downloads"),
    ],
)
def test_what_is_not_there_is_refused_in_a_line_before_anything_is_measured(wanted, fault, tmp_path):
    with pytest.raises(ConfigError, match=fault) as info:
        fit(pictures(), pretrained=wanted, out=tmp_path / "run", device="cpu", quiet=True)
    assert "\n" not in str(info.value)
    assert not (tmp_path / "run").exists()


def test_weights_of_another_model_are_refused(weights):
    with pytest.raises(ConfigError, match=r"the weights of .*small.safetensors do not fit the model"):
        find_pretrained(f"resnet18={weights}", pictures())


def test_without_timm_a_wish_is_refused_and_no_wish_gives_the_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ConfigError, match=r"--pretrained resnet18 needs timm: pip install"):
        find_pretrained("resnet18", pictures())
    assert find_pretrained(None, pictures())[1].startswith("timm is not installed")


def test_without_weights_the_reason_names_the_option_and_none_is_a_wish():
    assert find_pretrained("none", pictures()) == (None, "none was wanted")
    model, reason = find_pretrained(None, pictures())
    assert model is None
    assert reason.startswith("no weights at hand: --pretrained MODEL=FILE names")


def test_images_of_other_channels_are_refused_by_a_wish_alone():
    images, labels = pictures().images.expand(-1, 2, -1, -1), pictures().labels
    two = ImageData(name="two", images=images, labels=labels, classes=pictures().classes)
    assert "images of 2 channels" in find_pretrained(None, two)[1]
    with pytest.raises(ConfigError, match="cannot be fine-tuned on images of 2 channels"):
        find_pretrained("resnet18", two)


def in_hub(tmp_path, name):
    """A file as the Hugging Face hub caches it."""
    repository = timm.get_pretrained_cfg(name).hf_hub_id.replace("/", "--")
    folder = tmp_path / "hub" / f"models--{repository}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("abc", encoding="utf8")
    (folder / "snapshots" / "abc").mkdir(parents=True)
    return folder / "snapshots" / "abc" / "model.safetensors"


def test_weights_in_the_cache_of_the_hub_are_found_by_name_and_by_default(tmp_path):
    source = timm.create_model("resnet18", pretrained=False)
    file = in_hub(tmp_path, "resnet18")
    save_file(source.state_dict(), file)
    tag = timm.get_pretrained_cfg("resnet18").tag
    assert cached_weights("resnet18") == (f"resnet18.{tag}", file)
    model, reason = find_pretrained(None, pictures())
    assert (model.name, model.source, reason) == (f"resnet18.{tag}", file, "")
    assert torch.equal(model.weights["conv1.weight"], source.conv1.weight)


def test_weights_in_the_cache_of_torch_and_of_another_tag_are_found(tmp_path):
    name = "resnet18.tv_in1k"
    file = tmp_path / "torch" / "checkpoints" / timm.get_pretrained_cfg(name).url.rpartition("/")[2]
    file.parent.mkdir(parents=True)
    torch.save(timm.create_model("resnet18", pretrained=False).state_dict(), file)
    assert cached_weights("resnet18") == (name, file)
    assert cached_weights("resnet18.a1_in1k") is None
    assert find_pretrained("resnet18", pictures())[0].name == name


def test_damaged_weights_in_the_cache_are_a_reason_without_a_wish(tmp_path):
    in_hub(tmp_path, "resnet18").write_bytes(b"damaged")
    model, reason = find_pretrained(None, pictures())
    assert model is None
    assert "cannot be read as weights" in reason


@pytest.fixture
def _tuning(monkeypatch):
    """A plan with a pretrained model, made before; no export, and no other network."""
    planned = PlannedTraining(cell=SMALL, cells=1, channels=1, side=32, epochs=2, seconds=1.0)
    settled = (*SMALL_PLAN.settled, Settled(stage="pretrained", epochs=2, seconds=1.0))
    plan = replace(SMALL_PLAN, resnet=None, search=None, pretrained=planned, settled=settled)
    plan = replace(plan, cells=replace(plan.cells, published="xnas"))

    def made(job, folder):
        model, _ = find_pretrained(job.config.pretrained, job.images)
        model.save(folder, 32)
        folder.write_text("plan.json", plan_text(plan))
        return plan

    monkeypatch.setattr(module.FitJob, "plan", made)
    monkeypatch.setattr(concluding, "_exported", lambda *_: ())


@pytest.mark.slow
@pytest.mark.usefixtures("_tuning")
def test_a_fine_tuned_model_has_a_row_and_resumes_to_the_same_end_without_its_source(weights, tmp_path):
    source = tmp_path / "moved.safetensors"
    source.write_bytes(weights.read_bytes())
    config = FitConfig(out=tmp_path / "whole", device="cpu", pretrained=f"{SMALL}={source}")
    whole = fit(config, pictures(), display=Watching())
    assert [row.name for row in whole.summary.rows] == ["published", "random", "pretrained"]
    with pytest.raises(KeyboardInterrupt):  # in the fine-tuning: cells take 4 epochs of 4 steps each
        fit(replace(config, out=tmp_path / "stopped"), pictures(), display=Watching(2 * 16 + 3))
    source.unlink()
    resume_fit(tmp_path / "stopped", data=pictures(), display=Watching())
    one, other = (read(tmp_path / run / "fit.json")["rows"] for run in ("whole", "stopped"))
    assert [row | {"cost": 0} for row in one] == [row | {"cost": 0} for row in other]


def test_what_is_kept_in_the_folder_builds_the_same_network(weights, tmp_path):
    model, _ = find_pretrained(f"{SMALL}={weights}", pictures())
    model.save(RunFolder(tmp_path), 64)
    kept = find_architecture(tmp_path / "pretrained.json")
    assert replace(kept, weights=None) == model.architecture(64)
    assert kept.weights == str(tmp_path / "pretrained.safetensors")


def test_the_training_of_a_fit_fine_tunes_it_to_a_model_that_needs_no_other_file(weights, tmp_path):
    found, _ = find_pretrained(f"{SMALL}={weights}", pictures())
    folder, config = RunFolder(tmp_path), FitConfig(device="cpu")
    found.save(folder, 32)
    stages = Stages(config, FitData(pictures(), config, 0.2), Watching(), {})
    settings = train_settings(
        config, str(tmp_path / "pretrained.json"), share=0.2, epochs=1, out=tmp_path / "run", tuned=64
    )
    stages.train(replace(settings, report=False), tmp_path / "run")
    folder.path.joinpath("pretrained.safetensors").unlink()
    weights_now = load_file(tmp_path / "run" / "model.safetensors")
    name = next(name for name, tensor in found.weights.items() if tensor.dim() == 4)
    before, after = found.weights[name], weights_now[f"body.{name}"]
    assert 0 < (before - after).abs().max() < 0.1 * before.abs().max()  # tuned, not begun anew
    row = stages.row("pretrained", SMALL, tmp_path / "run", seconds=lambda: 1.0)
    assert (row.epochs, row.parameters) == (1, sum(t.numel() for t in trainable(found)))
    assert read(tmp_path / "run" / "model.json")["timm"]["weights"] is None
    model = xnas.load(tmp_path / "run", device="cpu")
    assert model.predict(pictures().images[:1])[0].label in {"vertical", "horizontal"}


def trainable(found):
    """The parameters of the model with a classifier of two classes."""
    return found.architecture(32).create(2).parameters()
