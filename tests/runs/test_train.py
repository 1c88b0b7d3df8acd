"""A whole training: what it writes, that it can be stopped and go on, when it sees test images."""

import copy
import json
import shutil
from dataclasses import replace
from threading import Thread

import pytest
import torch
from datasets_made import make_image
from safetensors.torch import load_file
from searching import stripes
from training import Listening, checkpoint, curve, metrics, pictures, read, same, same_runs, tiny

import xnas
from xnas import ConfigError, DatasetError, GenotypeError, RoundError
from xnas.data import held_out, stream_seed
from xnas.engine import Checkpoints
from xnas.engine.evaluate import evaluate
from xnas.errors import FinishedError
from xnas.model.model import load_model
from xnas.model.model_card import read_card
from xnas.model.plain_batches import Preparation, plain_batches
from xnas.process.interrupt import Interrupted
from xnas.runs.cells import architecture_of
from xnas.runs.displays import Silence
from xnas.runs.evaluate import evaluate_run
from xnas.runs.model_options import EvaluateConfig
from xnas.runs.train import resume_training, train

EVERYTHING = {  # all that has a state of its own; rates by the epoch
    "recipe": "xnas-1500",
    "drop_path_rate": 0.3,
    "auxiliary_weight": 0.4,
    "average": 0.8,
    "validation": 0.2,
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("train") / "run"
    display = Listening()
    result = train(tiny(out=out, **EVERYTHING), pictures(), display=display)
    return out, result, display


def test_the_run_folder_holds_all_that_is_needed(finished):
    out, result, _ = finished
    assert {path.name for path in out.iterdir()} == {
        "config.json",
        "recipe.json",
        "genotype.json",
        "metrics.jsonl",
        "test.json",
        "mistakes.json",
        "model.json",
        "model.safetensors",
        "checkpoints",
        "best",
        "tensorboard",
    }
    lines = metrics(out)
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    assert [line["steps"] for line in lines] == [4, 8, 12]
    # One cycle an epoch, each from half the top of the one before; drop path rises by thirds of 0.3.
    assert [line["learning_rate"] for line in lines] == pytest.approx([0.025, 0.0125, 0.00625])
    assert [line["drop_path_rate"] for line in lines] == pytest.approx([0, 0.1, 0.2])
    assert result.epochs[-1].cost.seconds_per_round > 0
    assert read(out / "test.json")["top1"] == result.test.top1
    wrong = round(result.test.images * (1 - result.test.top1))
    assert len(read(out / "mistakes.json")["mistakes"]) == min(24, wrong)


def test_curves_are_written_where_tensorboard_is_installed(finished):
    out, result, _ = finished
    for name, attribute in (("loss/train", "train_loss"), ("accuracy/validation", "valid_accuracy")):
        wanted = [(e.steps, getattr(e, attribute)) for e in result.epochs]
        assert curve(out, name) == [(step, pytest.approx(value)) for step, value in wanted]


def test_settings_are_written_with_nothing_left_open(finished):
    out, _, _ = finished
    saved = read(out / "config.json")
    assert (saved["kind"], saved["data"]) == ("train", None)
    settings = saved["config"]
    assert settings["cell"] == "xnas"
    assert (settings["weight_decay"], settings["gradient_clip"]) == (3e-4, 5.0)
    assert (settings["precision"], settings["backend"]) == ("fp32", "reference")
    left_open = {name for name, value in settings.items() if value is None}
    whole_images = {"data_dir", "resize", "use_val", "fold", "image_size"}
    limits = {"max_params", "max_macs", "max_latency", "latency_device"}
    assert left_open == limits | whole_images
    recipe = read(out / "recipe.json")
    assert (recipe["cycles"], recipe["momentum"], recipe["epochs"]) == (5, 0.9, 3)


def test_the_model_answers_as_the_test_said(finished):
    out, result, _ = finished
    data = pictures()
    classifier = xnas.load(out, "cpu")
    labels = [data.classes.index(answer.label) for answer in classifier.predict(data.test_images)]
    right = sum(a == b for a, b in zip(labels, data.test_labels.tolist(), strict=True))
    assert right / len(labels) == result.test.top1
    again = evaluate_run(out, data, EvaluateConfig(device="cpu", out=out.parent / "again")).evaluation
    assert again.confusion == result.test.confusion
    assert classifier.card.figures == {"test_accuracy": result.test.top1}
    assert (classifier.card.recipe, classifier.card.centre) == ("xnas-1500", None)


def test_what_was_chosen_is_said(finished):
    _, result, display = finished
    told = "\n".join(display.lines)
    assert f"network: {result.parameters:,} parameters" in told
    assert "3 cells of 2 channels" in told
    assert "recipe xnas-1500: 3 epochs of 4 steps, batch 8, fp32 on cpu" in told
    assert "estimate: " in told


def test_the_average_is_what_is_kept_if_there_is_one_and_else_the_last_weights(finished, tmp_path):
    out, _, _ = finished
    model = load_file(out / "model.safetensors")
    state = checkpoint(out)
    assert "auxiliary_tower.classifier.weight" in state["average"]
    assert not any(name.startswith("auxiliary") for name in model)
    differ = [name for name in model if not torch.equal(model[name], state["model"][name])]
    assert "classifier.weight" in differ
    for name in state["average"].keys() & model.keys():
        assert torch.equal(model[name], state["average"][name]), name

    train(tiny(out=tmp_path / "plain", epochs=1), pictures())
    same(load_file(tmp_path / "plain" / "model.safetensors"), checkpoint(tmp_path / "plain")["model"])


def test_best_are_the_weights_that_did_best_on_the_images_held_back(tmp_path):
    data = pictures(count=80)
    out = tmp_path / "run"
    train(tiny(out=out, validation=0.3, learning_rate=0.2), data)
    answers = [line["valid_accuracy"] for line in metrics(out)]
    assert checkpoint(out)["best"]["epoch"] == 1 + answers.index(max(answers))
    model, card = load_model(out / "best")
    _, held = held_out(data.labels, share=0.3, seed=stream_seed(0, "validation"))
    batches = plain_batches(
        data.images[held], data.labels[held], Preparation(mean=card.mean, std=card.std)
    )
    assert evaluate(model, batches, data.classes).top1 == max(answers)


def test_best_is_the_average_of_its_epoch_and_so_is_what_was_validated(tmp_path, monkeypatch, finished):
    averages, validated, scores = {}, [], iter([0.2, 0.9, 0.3, 0.5])

    class Watching(Silence):
        def after_step(self, training):
            averages[training.epoch] = copy.deepcopy(training.average.state_dict())

    def score(model, *_, **__):
        validated.append(copy.deepcopy(model.state_dict()))
        return replace(finished[1].test, top1=next(scores))

    monkeypatch.setattr("xnas.runs.train.evaluate", score)
    out = tmp_path / "run"
    train(tiny(out=out, validation=0.2, average=0.8), pictures(), display=Watching())
    for epoch, mean in averages.items():
        same(mean, {name: validated[epoch][name] for name in mean})
    best = load_file(out / "best" / "model.safetensors")
    same(averages[1], {name: best[name] for name in averages[1]})
    assert not torch.equal(checkpoint(out)["model"]["classifier.weight"], best["classifier.weight"])


def test_of_equally_good_epochs_the_first_is_best_and_the_last_weights_are_kept_too(
    tmp_path, monkeypatch, finished
):
    scores, after = iter([0.2, 0.9, 0.9]), []

    def score(job):
        model = job.training.model
        after.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
        return replace(finished[1].test, top1=next(scores))

    monkeypatch.setattr("xnas.runs.train.TrainJob._validate", score)
    train(tiny(out=tmp_path / "run", validation=0.2), pictures())
    same(load_file(tmp_path / "run" / "best" / "model.safetensors"), after[1])
    same(load_file(tmp_path / "run" / "model.safetensors"), after[2])


class Guarded:
    """Test images that are hashed at the start, and used once, after the last epoch."""

    def __init__(self, images, may):
        self.images, self.may, self.touched, self.hashed = images, may, 0, 0

    def cpu(self):
        self.hashed += 1
        return self.images

    def to(self, device):
        assert self.may(), "test images were touched in the middle of the training"
        self.touched += 1
        return self.images.to(device)

    def __getattr__(self, name):
        raise AssertionError(f"test images were touched: {name}")

    def __len__(self):
        raise AssertionError("test images were counted")

    def __getitem__(self, index):
        raise AssertionError("test images were read")


@pytest.mark.parametrize("validation", [0.0, 0.2])
def test_test_images_are_used_once_and_after_the_last_epoch(tmp_path, validation):
    seen = []

    class Counting(Silence):
        def after_epoch(self, record, _):
            seen.append(record.epoch)

    data = pictures()
    guard = Guarded(data.test_images, lambda: seen == [1, 2])
    object.__setattr__(data, "test_images", guard)
    out = tmp_path / "run"
    train(tiny(out=out, epochs=2, validation=validation), data, display=Counting())
    assert (guard.touched, guard.hashed) == (1, 1)
    assert read(out / "test.json")["images"] == 20


def test_without_test_images_there_are_no_figures(tmp_path):
    result = train(tiny(out=tmp_path / "run", epochs=1), stripes(count=40))
    assert result.test is None
    assert read_card(tmp_path / "run")[0].figures == {}
    assert not (tmp_path / "run" / "test.json").exists()


def test_a_training_that_was_stopped_ends_like_one_that_was_not(tmp_path, finished):
    whole, result, _ = finished
    out = tmp_path / "parts"
    torch.manual_seed(1)
    with pytest.raises(Interrupted, match=r"stopped after step 2; resume with: xnas.resume_training"):
        train(tiny(out=out, **EVERYTHING), pictures(), display=Listening(stop_after=2))
    for seed, stop in enumerate((4, 7, 10), start=2):  # after an epoch, then inside two others
        torch.manual_seed(seed)
        with pytest.raises(Interrupted, match=f"stopped after step {stop}"):
            resume_training(out, data=pictures(), display=Listening(stop_after=stop))
    display = Listening()
    again = resume_training(out, data=pictures(), display=display)
    assert "resuming after step 10" in display.lines
    assert again.test == result.test
    same_runs(whole, out)


def test_a_training_stops_after_the_epoch_that_is_asked_for_and_resumes_bit_for_bit(tmp_path, finished):
    whole, result, _ = finished
    out, display = tmp_path / "parts", Listening()
    first = train(tiny(out=out, **EVERYTHING), pictures(), display=display, until=1)
    assert (len(first.epochs), first.test, first.finished) == (1, None, False)
    assert display.lines[-1].startswith("stopped after step 4; resume with: xnas.resume_training")
    assert not (out / "model.json").exists()
    assert not (out / "test.json").exists()
    torch.manual_seed(1)
    parts = []
    thread = Thread(target=lambda: parts.append(resume_training(out, data=pictures(), until=2)))
    thread.start()  # signals belong to the main thread; stopping by epochs needs none
    thread.join()
    again = resume_training(out, data=pictures(), until=1)  # it is there already
    assert [len(part.epochs) for part in (*parts, again)] == [2, 2]
    last = resume_training(out, data=pictures(), until=9)
    assert (last.finished, last.test) == (True, result.test)
    assert "until" not in read(out / "config.json")["config"]
    same_runs(whole, out)


@pytest.mark.parametrize("until", [0, -1, True, 1.0])
def test_an_epoch_to_stop_after_that_is_none_is_refused(until, tmp_path):
    for call in (lambda: train(tiny(), until=until), lambda: resume_training(tmp_path, until=until)):
        with pytest.raises(ConfigError, match="until must be a whole number of epochs from 1 on, got"):
            call()


def test_a_stop_in_the_last_step_stops_nothing(tmp_path, finished):
    whole, _, _ = finished
    train(tiny(out=tmp_path / "run", **EVERYTHING), pictures(), display=Listening(stop_after=12))
    same_runs(whole, tmp_path / "run")


def test_a_run_without_a_checkpoint_begins_again(tmp_path, finished):
    whole, _, _ = finished
    out = tmp_path / "killed"
    out.mkdir()
    for name in ("config.json", "genotype.json"):
        shutil.copy(whole / name, out)
    (out / "metrics.jsonl").write_text('{"half": "a line', encoding="utf8")
    resume_training(out, data=pictures())
    same_runs(whole, out)


def test_a_run_that_was_killed_while_it_tested_only_tests_again(tmp_path, finished):
    whole, result, _ = finished
    out = tmp_path / "killed"
    shutil.copytree(whole, out)
    (out / "model.json").unlink()
    steps = []

    class Counting(Silence):
        def after_step(self, training):
            steps.append(training.steps)

    assert resume_training(out, data=pictures(), display=Counting()).test == result.test
    assert steps == []
    same_runs(whole, out)


def test_a_training_neither_reads_nor_moves_everybodys_generator(tmp_path):
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        out = tmp_path / str(seed)
        train(tiny(out=out, epochs=2, drop_path_rate=0.5), pictures())
        assert torch.equal(torch.get_rng_state(), before)
        found.append(out)
    same_runs(*found)


def test_another_seed_is_another_training(tmp_path, finished):
    whole, _, _ = finished
    train(tiny(out=tmp_path / "run", **EVERYTHING, seed=1), pictures())
    assert metrics(tmp_path / "run") != metrics(whole)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    out = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.raises(Interrupted):
        train(tiny(out=out), pictures(), display=Listening(stop_after=7))
    return out


def _edit(folder, change):
    saved = read(folder / "config.json")
    change(saved)
    (folder / "config.json").write_text(json.dumps(saved), encoding="utf8")


def _damage(folder, change):
    state = change(checkpoint(folder))
    shutil.rmtree(folder / "checkpoints")
    Checkpoints(folder / "checkpoints").save(state)


def _overwrite(folder, content):
    for path in (folder / "checkpoints").iterdir():
        path.write_bytes(content)


def _without(key):
    return lambda p: _damage(p, lambda s: {k: v for k, v in s.items() if k != key})


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda p: (p / "config.json").write_text("[]"), "is damaged: it does not hold an object"),
        (lambda p: (p / "config.json").unlink(), "is no run folder: config.json is not there"),
        (lambda p: _edit(p, lambda c: c.update(kind="search")), "resume it with: xnas search --resume "),
        (
            lambda p: _edit(p, lambda c: c["config"].update(speed=3)),
            "has the setting 'speed', which this",
        ),
        (
            lambda p: _edit(p, lambda c: c["config"].update(epochs="five")),
            "config.json cannot be used: --epochs must be a whole number .* got 'five'; rest",
        ),
        (lambda p: _edit(p, lambda c: c["config"].update(epochs=0)), "epochs must be at least 1"),
        (
            lambda p: _overwrite(p, b"x"),
            r"is damaged \(its 1 bytes .*; nor can the 1 before it be used",
        ),
        (_without("best"), r"the checkpoint does not fit this training \(KeyError"),
        (_without("tally"), r"the checkpoint does not fit this training \(KeyError"),
        (_without("metrics"), "the checkpoint holds no metrics; it is damaged"),
        (_without("format"), "not a checkpoint of a training: its format is None"),
        (lambda p: _damage(p, lambda s: s | {"version": 9}), "has format version 9, this xnas reads"),
        (lambda p: _damage(p, lambda s: s | {"model": {}}), r"does not fit this training \(RuntimeErr"),
        (lambda p: _damage(p, lambda _: [1]), "not a checkpoint of a training"),
    ],
)
def test_damaged_run_folders_are_named(tmp_path, spoil, words, stopped):
    copy = tmp_path / "copy"
    shutil.copytree(stopped, copy)
    spoil(copy)
    with pytest.raises(ConfigError, match=words) as caught:
        resume_training(copy, data=pictures())
    assert "\n" not in str(caught.value)


def test_damaged_checkpoints_and_metrics_are_told_and_lead_to_the_same_end(tmp_path, finished):
    whole, _, _ = finished
    out, display = tmp_path / "run", Listening()
    display.warn = display.lines.append
    with pytest.raises(Interrupted):
        train(tiny(out=out, **EVERYTHING), pictures(), display=Listening(stop_after=10))
    Checkpoints(out / "checkpoints").files()[0].write_bytes(b"x")
    (out / "metrics.jsonl").unlink()
    resume_training(out, data=pictures(), display=display)
    same_runs(whole, out)
    assert "resuming after step 8" in display.lines
    assert any("is damaged" in line and "the one before it" in line for line in display.lines)
    assert any("is restored from there" in line for line in display.lines)


def test_a_damaged_model_is_written_again(tmp_path, finished):
    whole, _, _ = finished
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    content = bytearray((out / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (out / "model.safetensors").write_bytes(content)
    resume_training(out, data=pictures())
    same_runs(whole, out)


def test_a_training_that_was_killed_before_it_began_is_begun_again(tmp_path, finished):
    whole, _, _ = finished
    out = tmp_path / "run"
    out.mkdir()
    for name in ("recipe.json", "genotype.json"):
        shutil.copy(whole / name, out)
    train(tiny(out=out, **EVERYTHING), pictures())
    same_runs(whole, out)
    other = tmp_path / "other"
    other.mkdir()
    for name in ("recipe.json", "genotype.json"):  # not what this training would write
        shutil.copy(whole / name, other)
        with pytest.raises(ConfigError, match=r"is not empty: it holds recipe.json; choose another"):
            train(tiny(out=other), pictures())
        assert (other / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize(
    ("left", "told"),
    [
        (("metrics.jsonl", "model.safetensors"), "metrics.jsonl has 3 epochs"),
        (("model.safetensors",), "model.safetensors is there"),
    ],
)
def test_what_a_training_found_is_not_replaced_if_its_checkpoints_are_lost(
    tmp_path, finished, left, told
):
    whole, _, _ = finished
    out = tmp_path / "run"
    out.mkdir()
    for name in ("config.json", "genotype.json", *left):
        shutil.copy(whole / name, out)
    with pytest.raises(ConfigError, match=f"no checkpoint is left in .*, though {told}; restore one"):
        resume_training(out, data=pictures())
    assert (out / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_a_checkpoint_of_another_cell_is_refused_by_name(tmp_path, stopped):
    """Of the same shapes: a pooling instead of another."""
    out = shutil.copytree(stopped, tmp_path / "run")
    text = (out / "genotype.json").read_text(encoding="utf8")
    assert "skip_connect" in text
    changed = text.replace("skip_connect", "max_pool_3x3", 1)
    (out / "genotype.json").write_text(changed, encoding="utf8")
    with pytest.raises(ConfigError, match=r"of a run with other settings \(genotype\)"):
        resume_training(out, data=pictures())


def test_a_checkpoint_that_does_not_fit_is_passed_over(tmp_path, stopped):
    out, display = shutil.copytree(stopped, tmp_path / "run"), Listening()
    display.warn = display.lines.append
    state = checkpoint(out)
    del state["tally"]
    path = Checkpoints(out / "checkpoints").save(state)
    resume_training(out, data=pictures(), display=display)
    assert any(line.startswith(f"{path}: the checkpoint does not fit") for line in display.lines)
    train(tiny(out=tmp_path / "whole"), pictures())
    same_runs(tmp_path / "whole", out)


def test_finished_and_foreign_folders_are_left_alone(tmp_path, finished, stopped):
    out, _, _ = finished
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    with pytest.raises(ConfigError, match="is finished; its network is in model"):
        resume_training(out, data=pictures())
    with pytest.raises(ConfigError, match=r"is not empty: it holds config.json; .*resume it with --"):
        train(tiny(out=out), pictures())
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    with pytest.raises(ConfigError, match="was given its images in memory; resume it with"):
        resume_training(stopped)
    other = replace(pictures(), images=pictures().images.flip(0), mean=(), std=())
    with pytest.raises(ConfigError, match=r"are not those that the training in .* began with"):
        resume_training(stopped, data=other)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="is a file; choose a folder with --out"):
        train(tiny(out=tmp_path / "file"), pictures())


@pytest.mark.parametrize("stop", [pytest.param(None, marks=pytest.mark.slow), 7])
def test_a_loss_that_is_no_number_stops_and_the_last_good_checkpoint_stays(tmp_path, stop):
    """Also where Ctrl-C comes right after: what is broken is not saved."""
    out = tmp_path / "run"
    spoiler = Listening(spoil_after=7, stop_after=stop)
    remedies = r"use a smaller learning rate than 0\.0093[78], a smaller --gradient-clip than 5"
    words = rf"in epoch 2; {remedies}; the last good state is saved in .*\.pt$"
    with pytest.raises(RoundError, match=words):
        train(tiny(out=out), pictures(), display=spoiler)
    state = checkpoint(out)
    assert state["epoch"] == 1
    assert all(tensor.isfinite().all() for tensor in state["model"].values())
    assert len(metrics(out)) == 1
    resume_training(out, data=pictures())
    train(tiny(out=tmp_path / "whole"), pictures())
    same_runs(tmp_path / "whole", out)


def test_weights_that_break_in_the_last_step_of_an_epoch_are_noticed(tmp_path):
    with pytest.raises(RoundError, match=r"weights are no longer finite numbers in epoch 1; .* nothing"):
        train(tiny(out=tmp_path / "run"), pictures(), display=Listening(spoil_after=5))


def test_a_rate_that_is_far_too_high_is_told(tmp_path):
    with pytest.raises(
        RoundError, match=r"use a smaller learning rate than 1e\+09, --gradient-clip 5; "
    ):
        train(tiny(out=tmp_path / "run", learning_rate=1e9, gradient_clip=0.0, epochs=2), pictures())


def test_the_only_step_of_a_training_has_a_rate(tmp_path):
    out, display = tmp_path / "run", Listening()
    display.warn = display.lines.append
    train(tiny(out=out, epochs=1, batch_size=2, validation=0.95), pictures(), display=display)
    assert [line["learning_rate"] for line in metrics(out)] == pytest.approx([0.3 * 2 / 256])
    told = "--validation 0.95 leaves 1 image of class 'vertical' to train on; use a smaller share"
    assert told in display.lines
    assert any("recipe quick: 1 epoch of 1 step, batch 2" in line for line in display.lines)


def test_no_fewer_cells_are_asked_for_than_are_needed():
    for cells in (0, 2):
        with pytest.raises(ConfigError, match=f"cells must be at least 3, got {cells}"):
            train(tiny(cells=cells), pictures())
    string = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"
    with pytest.raises(ConfigError, match="cells must be at least 1, got 0"):
        train(tiny(cells=0, cell=string), pictures())


def test_a_batch_in_parts_is_told(tmp_path):
    display = Listening()
    train(tiny(out=tmp_path / "run", accumulate=4, epochs=1), pictures(), display=display)
    told = "a batch is computed in 4 parts; batch statistics are those of the parts"
    assert told in display.lines


def _small(folder, side=4):
    for number in range(16):
        make_image(
            folder / f"class {number % 2}" / f"{number}.png", (9 * number, 5, 0), size=(side, side)
        )


def _other_classes(folder):
    for part, names in (("train", ("cats", "dogs")), ("test", ("cats", "owls"))):
        for name in names:
            for number in range(8):
                make_image(folder / part / name / f"{number}.png", (number, 0, 0))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"batch_size": 64}, "batch of 64, but only 40 training images; use a smaller --batch-size"),
        ({"accumulate": 3}, "a batch of 8 cannot be cut into 3 equal parts; use a --batch-size that"),
        ({"accumulate": 8}, "a batch of 8 in 8 parts leaves 1 image per part, .* use fewer parts"),
        ({"recipe": "imagenet-250"}, "images of 7 x 7 pixels are too small .* they need 32 a side"),
        ({"network": "imagenet"}, "images of 8 x 8 pixels are too small .* they need 32 a side"),
        ({"image_size": 16}, "image-size is 16, but the images that were given are 8 x 8; give them"),
        ({"resize": "pad"}, "resize is pad, but the images that were given came by crop"),
        ({"backend": "fused"}, "backend fused needs a GPU; use --backend reference or auto"),
        ({"cell": "xnass"}, "no cell, file or run folder called 'xnass'; did you mean xnas"),
        ({"device": "toaster"}, "no such device: 'toaster'"),
    ],
)
def test_what_cannot_be_trained_is_told_before_anything_is_written(tmp_path, settings, words):
    with pytest.raises(ConfigError, match=words) as caught:
        train(tiny(out=tmp_path / "run", **settings), pictures())
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_small, r"is 4 x 4 pixels; images need at least 8 per side.* --image-size"),
        (_other_classes, r"owls"),
    ],
)
def test_folders_that_cannot_be_trained_on_are_told_before_anything_is_written(tmp_path, make, words):
    make(tmp_path / "data")
    with pytest.raises(DatasetError, match=words):
        train(tiny(out=tmp_path / "run"), str(tmp_path / "data"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("words", ["xnas version 2", pytest.param("run", marks=pytest.mark.slow)])
def test_a_damaged_model_is_told_by_its_error_not_by_the_name_of_its_folder(tmp_path, finished, words):
    whole, _, _ = finished
    out, display = tmp_path / words, Listening()
    display.warn = display.lines.append
    shutil.copytree(whole, out)
    (out / "model.json").write_text("{", encoding="utf8")
    resume_training(out, data=pictures(), display=display)
    assert any("the end of the training is written again" in line for line in display.lines)
    same_runs(whole, out)


def test_a_model_of_another_version_is_named_and_kept(tmp_path, finished):
    whole, _, _ = finished
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    card = read(out / "model.json") | {"version": 9}
    (out / "model.json").write_text(json.dumps(card), encoding="utf8")
    with pytest.raises(ConfigError, match=r"is finished; .* has version 9, and this xnas reads"):
        resume_training(out, data=pictures())
    assert read(out / "model.json") == card


def test_a_damaged_model_without_a_checkpoint_begins_no_training_anew(tmp_path, finished):
    whole, _, _ = finished
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    shutil.rmtree(out / "checkpoints")
    (out / "model.json").write_text("{", encoding="utf8")
    with pytest.raises(ConfigError, match=r"the model is damaged .* holds nothing to write it again"):
        resume_training(out, data=pictures())
    assert metrics(out) == metrics(whole)


def test_a_damaged_genotype_of_a_finished_training_is_written_again(tmp_path, finished):
    whole, _, _ = finished
    out, display = tmp_path / "run", Listening()
    display.warn = display.say
    shutil.copytree(whole, out)
    (out / "genotype.json").write_text("{", encoding="utf8")
    with pytest.raises(GenotypeError, match=r"; xnas train --resume .* that of a finished training"):
        architecture_of(out)
    with pytest.raises(FinishedError, match="is finished"):
        resume_training(out, data=pictures(), display=display)
    assert any("is damaged" in line and "again from model.json" in line for line in display.lines)
    assert (out / "genotype.json").read_bytes() == (whole / "genotype.json").read_bytes()


def test_a_training_without_its_cell_says_which_it_was(tmp_path, stopped):
    out = tmp_path / "run"
    shutil.copytree(stopped, out)
    (out / "genotype.json").write_text("{", encoding="utf8")
    with pytest.raises(GenotypeError, match="was given the cell xnas: restore the file from there"):
        resume_training(out, data=pictures())


def test_a_cell_without_a_name_is_recorded_as_the_file_of_the_run(tmp_path, stopped):
    cell = xnas.Genotype.load(stopped / "genotype.json")
    out = tmp_path / "run"
    train(tiny(out=out, cell=cell, epochs=2), pictures(), until=1)
    assert read(out / "config.json")["config"]["cell"] == "genotype.json"
    (out / "genotype.json").write_text("{", encoding="utf8")
    with pytest.raises(GenotypeError, match=r"genotype\.json: .*; restore it from a copy"):
        resume_training(out, data=pictures())


def test_other_test_images_are_not_resumed_on(tmp_path):
    out, images = tmp_path / "run", pictures()
    with pytest.raises(Interrupted):
        train(tiny(out=out, epochs=1), images, display=Listening(stop_after=2))
    swapped = replace(images, test_labels=1 - images.test_labels)
    with pytest.raises(ConfigError, match=r"the test images are not those that the training in "):
        resume_training(out, data=swapped)
    saved = read(out / "config.json")
    del saved["test_fingerprint"]  # as of a run that was begun before it was kept
    (out / "config.json").write_text(json.dumps(saved), encoding="utf8")
    assert resume_training(out, data=swapped).test is not None
