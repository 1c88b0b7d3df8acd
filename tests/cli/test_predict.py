"""`xnas predict`, from arguments to what is printed."""

import json

import pytest
from commands import call
from PIL import Image

import xnas
from xnas.data import load_data


@pytest.fixture
def pictures(tmp_path):
    """A folder of two digits and a text, and one more digit in a folder inside."""
    folder = tmp_path / "pictures"
    (folder / "more").mkdir(parents=True)
    for index, name in enumerate(("a.png", "b.jpg", "more/c.png")):
        Image.fromarray(load_data("digits").test_images[index, 0].numpy()).save(folder / name)
    (folder / "read.me").write_text("no image", encoding="utf8")
    return folder


def test_predict_prints_a_line_for_each_image_of_files_and_folders(capsys, run, pictures):
    files = [pictures / "a.png", pictures / "b.jpg", pictures / "more" / "c.png"]
    status, out, err = call(
        capsys, "predict", str(run), str(files[0]), str(pictures), "--top", "2", "--device", "cpu"
    )
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert [line.split("  ")[0] for line in lines] == [str(f) for f in (files[0], *files)]
    (answer,) = xnas.load(run, "cpu").predict(files[0], top=2)
    shown = [f"{name} {100 * share:.1f} %" for name, share in answer.ranking]
    assert lines[0].split("  ")[1:] == shown


def test_bad_images_can_be_left_out_of_predictions(capsys, run, pictures):
    (pictures / "b.jpg").write_bytes(b"no image")
    status, out, err = call(capsys, "predict", str(run), str(pictures))
    assert (status, out) == (2, "")
    assert "b.jpg" in err
    assert err.endswith("fix or remove it, or leave it out with --skip-bad-images\n")
    status, out, err = call(capsys, "predict", str(run), str(pictures), "--skip-bad-images")
    assert status == 0
    assert [line.split("  ")[0].rsplit("/")[-1] for line in out.splitlines()] == ["a.png", "c.png"]
    (answer,) = xnas.load(run, "cpu").predict(pictures / "more" / "c.png")
    assert out.splitlines()[1].endswith(f"  {answer.label} {100 * answer.probability:.1f} %")
    assert err.startswith("warning: left out: cannot read the image")
    assert err.count("\n") == 1
    bad = str(pictures / "b.jpg")
    status, out, err = call(capsys, "predict", str(run), bad, "--skip-bad-images")
    assert (status, out) == (2, "")
    assert "none of the images can be read; the first: cannot read the image" in err


def test_predict_prints_json(capsys, run, pictures):
    _, out, _ = call(capsys, "predict", str(run), str(pictures), "--json", "--top", "3")
    records = [json.loads(line) for line in out.splitlines()]
    assert [len(record["ranking"]) for record in records] == [3, 3, 3]
    assert records[0]["image"] == str(pictures / "a.png")
    assert records[0]["label"] == records[0]["ranking"][0]["label"]


def test_every_image_is_one_line_whatever_its_name(capsys, run, pictures):
    odd = pictures / "a\nb\x1b[31m\x9b.png"
    (pictures / "a.png").rename(odd)
    shown = str(pictures / "a\\nb\\x1b[31m\\x9b.png")
    status, out, err = call(capsys, "predict", str(run), str(odd))
    assert (status, err, out.count("\n")) == (0, "", 1)
    assert out.startswith(f"{shown}  ")
    status, out, err = call(capsys, "predict", str(run), str(odd), "--json")
    assert (status, err, out.count("\n")) == (0, "", 1)
    assert out.rstrip("\n").isprintable()
    assert json.loads(out)["image"] == str(odd)
    odd.write_bytes(b"no image")
    status, out, err = call(capsys, "predict", str(run), str(pictures), "--skip-bad-images")
    assert (status, err.count("\n")) == (0, 1)
    assert shown in err


def test_a_file_of_an_export_is_answered_with_its_folder(capsys, run, tmp_path):
    (tmp_path / "model.onnx").touch()
    folder = (
        f"{tmp_path}/model.onnx is a file; give the folder of a training or an export, with model.json"
    )
    status, _, err = call(capsys, "predict", str(tmp_path / "model.onnx"), "a.png")
    assert (status, err.count("\n")) == (2, 1)
    assert folder in err
    status, _, err = call(capsys, "predict", str(run / "model.safetensors"), "a.png")
    assert err.endswith(f"model.safetensors, such as {run}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("predict", "", "a"), "an argument is empty; give a value"),
        (("predict", "{run}"), "no images to classify; give files or folders"),
        (("predict", "{run}", "{tmp}/none.png"), "none.png; check the path"),
        (("predict", "{run}", "{tmp}"), "no images in"),
        (("predict", "{run}", "{run}/model.json", "--top", "0"), "top must be at least 1, got 0"),
    ],
)
def test_errors_are_one_line(capsys, run, tmp_path, arguments, words):
    status, out, err = call(capsys, *(word.format(run=run, tmp=tmp_path) for word in arguments))
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_help_is_complete(capsys):
    status, out, _ = call(capsys, "predict", "--help")
    assert status == 0
    assert all(flag in out for flag in ("--top", "--json", "--device", "--skip-bad-images", "RUN/best"))
