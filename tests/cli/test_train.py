"""`xnas train` on the command line: from a cell to a network, and one line for every error."""

import json
import os
import shlex
import signal

import pytest
from commands import call as run
from datasets_made import make_image
from searching import stripes, tiny
from training import checkpoint, metrics

import xnas
from xnas.cli import main
from xnas.runs.recipes import RECIPES

TINY = ["--cells", "3", "--channels", "2", "--epochs", "2", "--batch-size", "256", "--device", "cpu"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "a run"
    main(["train", "xnas", "digits", "--out", str(out), *TINY])
    return out


def test_a_cell_becomes_a_network_and_it_says_what_to_type_next(capsys, tmp_path):
    out = tmp_path / "a run"
    status, told, err = run(capsys, "train", "darts_v2", "digits", "--out", out, *TINY)
    assert (status, err) == (0, "")
    lines = told.splitlines()
    assert lines[0].startswith("digits: scikit-learn's digits")
    assert "best weights" not in told
    assert any("recipe quick: 2 epochs of 5 steps, batch 256, fp32 on cpu" in line for line in lines)
    assert "epoch    2/2  train " in told
    said = json.loads((out / "test.json").read_text(encoding="utf8"))
    top1, top5 = (f"{100 * (1 - said[name]):.2f} %" for name in ("top1", "top5"))
    assert f"test error {top1}, top-5 error {top5} on 359 images" in told
    assert lines[-2:] == [f"report: {out / 'report.html'}", f"next: xnas export '{out}'"]
    assert xnas.load(out, "cpu").card.trained_on == "digits"


def test_a_run_folder_is_trained_on_its_own_images(capsys, tmp_path, monkeypatch):
    """A search's cell without a word about data is meant for the images of that search."""
    monkeypatch.chdir(tmp_path)
    for number in range(80):
        kind = ("cat", "dog")[number % 2]
        make_image(tmp_path / "photos" / kind / f"{number}.png", number, size=(8, 8))
    (tmp_path / "photos" / "dog" / "bad.png").write_bytes(b"no image")
    small = ("--cells", "3", "--channels", "2", "--batch-size", "16", "--device", "cpu", "--epochs", "1")
    options = ("--skip-bad-images", "--image-size", "16")
    status, told, _ = run(capsys, "search", "photos", "--out", "found", *options, *small)
    assert status == 0
    (command,) = (line for line in told.splitlines() if line.startswith("next: xnas "))
    _, _, *words = shlex.split(command)
    status, told, _ = run(capsys, *words, "--out", "trained", *small)
    assert status == 0
    assert told.startswith("photos: ")
    assert "chosen: --skip-bad-images --image-size 16, as in found\n" in told
    card = xnas.load("trained", "cpu").card
    assert (card.trained_on, card.size) == ("photos", (16, 16))
    status, _, err = run(capsys, *words, "--out", "strict", *small, "--no-skip-bad-images")
    assert status == 2
    assert "bad.png" in err
    config = xnas.TrainConfig(cell="found", cells=3, channels=2, batch_size=16, epochs=1, device="cpu")
    assert xnas.load(xnas.train(config).out, "cpu").card.trained_on == "photos"


def test_a_run_on_images_of_a_program_wants_data_to_be_named(capsys, tmp_path):
    out = tmp_path / "found"
    xnas.search(tiny(out=out, epochs=1), stripes(80), quiet=True)
    status, _, err = run(capsys, "train", out, *TINY)
    assert status == 2
    assert "does not say where its images are; name those to train on: xnas train" in err
    assert err.count("\n") == 1


def test_the_best_weights_and_the_time_left_are_reported(capsys, tmp_path):
    out = tmp_path / "run"
    status, told, _ = run(capsys, "train", "xnas", "--out", out, *TINY, "--validation", "0.5")
    assert status == 0
    answers = [line["valid_accuracy"] for line in metrics(out)]
    best = f"{out / 'best'}, of epoch {1 + answers.index(max(answers))} with {100 * max(answers):.2f} %"
    assert f"best weights by the held-out images: {best}; evaluate, predict and export also take" in told
    lines = [line for line in told.splitlines() if line.startswith("epoch ")]
    assert [line.endswith(" s left") for line in lines] == [True, False]  # nothing is left at the end


def test_quiet_prints_nothing(capsys, tmp_path):
    out = tmp_path / "run"
    assert run(capsys, "train", "xnas", "digits", "--out", out, "--quiet", *TINY) == (0, "", "")
    assert (out / "model.json").exists()


def test_ctrl_c_says_how_to_resume_and_resuming_ends_alike(capsys, tmp_path, monkeypatch, finished):
    out = tmp_path / "run"

    def interrupt(_, training):
        if training.steps == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr("xnas.runs.progress.TrainProgress.after_step", interrupt)
        status, _, err = run(capsys, "train", "xnas", "digits", "--out", out, *TINY)
    assert status == 130
    assert f"stopped after step 3; resume with: xnas train --resume {out}" in err
    status, told, err = run(capsys, "train", "--resume", out)
    assert (status, err) == (0, "")
    assert "resuming after step 3" in told
    assert metrics(out) == metrics(finished)


def test_what_is_given_anew_holds_for_one_call_and_is_reported_again(capsys, tmp_path, monkeypatch):
    out, stop = tmp_path / "run", 3

    def interrupt(_, training):
        if training.steps == stop:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr("xnas.runs.progress.TrainProgress.after_step", interrupt)
        run(capsys, "train", "xnas", "digits", "--out", out, *TINY)
        stop = 5
        again = ["train", "--resume", out, "--device", "cpu", "--no-compile"]
        status, _, err = run(capsys, *again, "--checkpoint-minutes=0")
    assert status == 130
    words = f"xnas train --resume {out} --device cpu --checkpoint-minutes 0.0 --no-compile\n"
    assert set(err[err.index("resume with: ") + 13 :].split()) == set(words.split())
    status, told, err = run(capsys, *again, "--epochs", "9")
    assert (status, told) == (2, "")
    assert "a resumed run keeps its --epochs; leave it out: only --backend, --checkpoint-mi" in err
    status, told, err = run(capsys, *again)
    assert (status, err) == (0, "")
    assert "resuming after step 5" in told


def test_a_network_within_limits_is_picked_and_reported(capsys, tmp_path):
    flags = ["--cells", "3", "--epochs", "1", "--batch-size", "512", "--max-params", "5e4"]
    status, told, _ = run(capsys, "train", "xnas", "--out", tmp_path / "run", "--device", "cpu", *flags)
    assert status == 0
    assert "channels, the most within the limits" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no cell to train; give a name of `xnas show --zoo`, a file or a run"),
        (("xnass",), "no cell, file or run folder called 'xnass'; did you mean xnas"),
        (("xnas", ""), "an argument is empty; give a value"),
        (("xnas", "nowhere"), "no dataset or folder called 'nowhere'"),
        (
            ("xnas", "digits", "--recipe", "xnas-150"),
            "no recipe called 'xnas-150'; did you mean",
        ),
        (("xnas", "digits", "--batch-size", "5000"), "batch of 5000, but only 1438 training images"),
        (("xnas", "digits", "--accumulate", "3"), "a batch of 64 cannot be cut into 3 equal parts"),
        (
            ("xnas_small", "digits", "--network", "imagnet"),
            "no network called 'imagnet'; did you mean imagenet? there are: cifar, imagenet",
        ),
        (("xnas", "digits", "--network", "imagenet"), "too small for the network's reductions"),
        (
            ("xnas", "digits", "--max-params", "10"),
            "no network of 5 cells is within --max-params 10: with 2 channels it is",
        ),
        (("xnas", "digits", "--epochs", "many"), "--epochs"),
        (("xnas", "digits", "--device", "cuda:77"), "device cuda:77 is not there"),
        (("xnas", "digits", "--fold", "2"), "only freiburg has folds"),
        (("--resume", "nowhere"), "there is no folder nowhere; give the folder of a run"),
        (("--resume", "nowhere", "--compile"), "there is no folder nowhere; give the folder of a run"),
        (
            ("xnas", "--resume", "nowhere"),
            "--resume uses the cell and the images of the run; lea",
        ),
    ],
)
def test_errors_are_one_line_and_nothing_is_written(capsys, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    status, told, err = run(capsys, "train", *arguments)
    assert (status, told) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_folders_that_are_finished_or_damaged_are_named(capsys, tmp_path, finished):
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    status, told, err = run(capsys, "train", "--resume", finished)
    assert (status, err) == (0, "")
    said = f"is finished; its network is in model.safetensors; next: xnas export '{finished}'\n"
    assert told.endswith(said)
    assert told.count("\n") == 1
    assert run(capsys, "train", "--resume", finished, "--quiet") == (0, "", "")
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before
    status, _, err = run(capsys, "train", "xnas", "digits", "--out", finished, *TINY)
    assert status == 2
    assert "is not empty: it holds config.json; choose another --out, or resume it with --res" in err
    (tmp_path / "photos" / "cat").mkdir(parents=True)
    status, _, err = run(capsys, "train", "xnas", "digits", "--out", tmp_path / "photos", *TINY)
    assert status == 2
    assert err.endswith("photos is not empty: it holds cat; choose another --out\n")
    damaged = tmp_path / "damaged"
    (damaged / "checkpoints").mkdir(parents=True)
    for name in ("config.json", "genotype.json"):
        (damaged / name).write_bytes((finished / name).read_bytes())
    name = f"000001-{0:032}.pt"
    (damaged / "checkpoints" / name).write_bytes(b"nothing")
    status, _, err = run(capsys, "train", "--resume", damaged)
    assert status == 2
    assert f"{name}: the checkpoint is damaged" in err
    assert err.count("\n") == 1
    (damaged / "config.json").write_text("{", encoding="utf8")
    status, _, err = run(capsys, "train", "--resume", damaged)
    assert status == 2
    assert "it may be damaged: restore it from a copy, or begin a run in another folder" in err


def test_a_loss_that_is_no_number_is_one_line_too(capsys, tmp_path):
    flags = [*TINY, "--learning-rate", "1e9", "--gradient-clip", "0", "--quiet"]
    status, told, err = run(capsys, "train", "xnas", "digits", "--out", tmp_path / "run", *flags)
    assert (status, told) == (2, "")
    assert "use a smaller learning rate than 1e+09, --gradient-clip 5;" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "run" / "model.json").exists()
    if (tmp_path / "run" / "checkpoints").exists():
        assert all(tensor.isfinite().all() for tensor in checkpoint(tmp_path / "run")["model"].values())


def test_help_lists_the_recipes(capsys):
    status, out, _ = run(capsys, "train", "--help")
    assert status == 0
    for word in (*RECIPES, "--resume", "--max-params", "--max-macs", "--validation", "--accumulate"):
        assert word in out, word
