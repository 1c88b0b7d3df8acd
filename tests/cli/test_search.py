"""`xnas search` on the command line: from images to a cell, and one line for every error."""

import json
import re
import shlex
from types import SimpleNamespace

import pytest
from commands import call as run
from PIL import Image

from xnas import Genotype
from xnas.cli.search import farewell

TINY = ["--cells", "3", "--channels", "2", "--epochs", "1", "--batch-size", "8", "--device", "cpu"]


@pytest.fixture
def photos(tmp_path):
    """A folder of class folders: dark and bright images, 12 each."""
    for name, level in (("dark ones", 40), ("helle Bilder", 200)):
        folder = tmp_path / "photos" / name
        folder.mkdir(parents=True)
        for i in range(12):
            Image.new("RGB", (10, 10), (level + i, level, level)).save(folder / f"{i}.png")
    return tmp_path / "photos"


def test_a_folder_of_images_gives_a_cell_and_says_what_to_type_next(capsys, tmp_path, photos):
    out = tmp_path / "run"
    flags = TINY
    status, told, warned = run(capsys, "search", photos, "--out", out, "--relaxation", "0.1", *flags)
    assert status == 0, warned
    assert "epoch   1/1" in told
    assert "normal cell" in told
    assert f"run folder: {out}" in told
    assert f"report: {out / 'report.html'}" in told.splitlines()[-3:]
    assert "images are few for a search" in warned
    following = shlex.split(re.search(r"next: xnas (.*)", told).group(1))
    assert following == ["train", str(out), str(photos)]
    status, told, err = run(capsys, *following, *TINY, "--out", tmp_path / "trained")
    assert (status, err) == (0, "")
    assert f"next: xnas export {tmp_path / 'trained'}" in told
    assert (tmp_path / "trained" / "model.safetensors").exists()
    status, _, _ = run(capsys, "show", out, "--svg", tmp_path / "cell.svg")
    assert status == 0
    assert (tmp_path / "cell.svg").exists()
    assert json.loads((out / "config.json").read_text(encoding="utf8"))["data"] == str(photos)
    (out / "genotype.json").unlink()
    status, told, err = run(capsys, "search", "--resume", out, "--seed", "7")
    assert (status, told) == (2, "")
    assert "a resumed run keeps its --seed; leave it out: only --backend" in err
    status, told, err = run(capsys, "search", "--resume", out, "--backend", "fused")
    assert status == 0, err
    assert "1 round on cpu (fused, fp32)" in told
    saved = json.loads((out / "config.json").read_text(encoding="utf8"))
    saved["config"]["device"] = "cuda:77"  # as if the run had been begun on another machine
    (out / "config.json").write_text(json.dumps(saved), encoding="utf8")
    (out / "genotype.json").unlink()
    assert run(capsys, "search", "--resume", out)[0] == 2
    assert run(capsys, "search", "--resume", out, "--device=auto")[0] == 0


def test_the_end_says_what_wiping_out_saved():
    def epoch(number, deleted, alive, seconds):
        cost = SimpleNamespace(seconds_per_round=seconds)
        return SimpleNamespace(epoch=number, deleted=["x"] * deleted, experts_alive=alive, cost=cost)

    alive = [{"normal": n, "reduction": 98} for n in (70, 60, 14)]
    epochs = [epoch(1, 28, alive[0], 3.0), epoch(2, 10, alive[1], 2.0), epoch(3, 46, alive[2], 1.5)]
    cell = Genotype.random("darts", 0)
    told = farewell(SimpleNamespace(epochs=epochs, genotype=cell, out="run"), "digits")
    assert (
        "84 experts were deleted, first after epoch 1 of 3; the last epoch's rounds, with 158 of 196 "
        "experts, were 2.0 times as fast as those of epoch 1"
    ) in told


def test_quiet_prints_warnings_only(capsys, tmp_path, photos):
    flags = [*TINY, "--quiet"]
    status, told, warned = run(capsys, "search", photos, "--out", tmp_path / "run", *flags)
    assert (status, told) == (0, "")
    assert all(line.startswith("warning: ") for line in warned.splitlines())


def test_settings_that_allow_no_wipeout_are_warned_of(capsys, tmp_path, photos):
    flags = TINY
    _, _, warned = run(capsys, "search", photos, "--out", tmp_path / "run", *flags)
    assert "no expert can be wiped out before the last of 1 epochs" in warned


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere",), "nowhere"),
        (("digits", "--batch-size", "5000"), "batch of 5000, but only"),
        (("digits", "--device", "cuda:77"), "device cuda:77 is not there"),
        (("digits", "--device", "toaster"), "no such device: 'toaster'"),
        (("digits", "--epochs", "0"), "epochs must be at least 1, got 0"),
        (("digits", "--epochs", "many"), "--epochs"),
        (("digits", "--relaxation", "3"), "relaxation must lie in (0, 1], got 3"),
        (("digits", "--method", "magic"), "no method called 'magic'; there are: asap, "),
        (("digits", "--space", "moon"), "no search space called 'moon'; there are: darts"),
        (("digits", "--experts-lr", "fast"), "--experts-lr"),
        (("digits", "--skip-dropout", "2"), "skip-dropout must be a number in [0, 1)"),
        (("--resume", "nowhere"), "there is no folder nowhere"),
        (("--resume", "nowhere", "--backend", "fused"), "there is no folder nowhere"),
        (("digits", "--resume", "nowhere"), "--resume uses the images of the run; leave digits"),
    ],
)
def test_errors_are_one_line_and_nothing_is_written(capsys, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    status, told, err = run(capsys, "search", *arguments)
    assert status == 2
    assert told == ""
    assert words in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_one_class_is_not_enough(capsys, tmp_path):
    folder = tmp_path / "photos" / "cats"
    folder.mkdir(parents=True)
    for i in range(8):
        Image.new("L", (10, 10), 10 * i).save(folder / f"{i}.png")
    status, _, err = run(capsys, "search", tmp_path / "photos")
    assert status == 2
    assert "class" in err
    assert err.count("\n") == 1


FLAGS = """--out --seed --device --epochs --batch-size --data-dir --resume --method --space --faithful
--backend --precision --experts-lr --relaxation --no-wipeout --reward-bound --accounting --skip-dropout
--include-none --quiet"""


def test_help_names_every_fixed_flag(capsys):
    status, out, _ = run(capsys, "search", "--help")
    assert status == 0
    for flag in FLAGS.split():
        assert flag in out, flag
