"""`xnas evaluate`, `xnas predict` and `xnas export`, from arguments to what is printed."""

import json

import pytest
from PIL import Image
from trained import saved_run

import xnas
from xnas.cli import main
from xnas.cli.export import export_report
from xnas.data import load_data
from xnas.records import ExportedFile, ExportResult, Latency


def call(capsys, *arguments):
    """Exit status, stdout and stderr of `xnas ARGUMENTS`."""
    status = 0
    try:
        main(arguments)
    except SystemExit as exit_:
        status = exit_.code or 0
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    saved_run(folder)
    return folder


@pytest.fixture
def pictures(tmp_path):
    """A folder of two digits and a text, and one more digit in a folder inside."""
    folder = tmp_path / "pictures"
    (folder / "more").mkdir(parents=True)
    for index, name in enumerate(("a.png", "b.jpg", "more/c.png")):
        Image.fromarray(load_data("digits").test_images[index, 0].numpy()).save(folder / name)
    (folder / "read.me").write_text("no image", encoding="utf8")
    return folder


def test_evaluate_prints_the_table_and_says_what_was_written(capsys, run, tmp_path):
    status, out, err = call(
        capsys, "evaluate", str(run), "--device", "cpu", "--out", str(tmp_path / "o")
    )
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("digits: test error ")
    assert lines[2].startswith("class  images  accuracy")
    assert len([line for line in lines if line.endswith((")", "%"))]) >= 10
    assert lines[-2].startswith("note: scikit-learn's digits")
    assert str(tmp_path / "o" / "evaluation.json") in lines[-1]


def test_quiet_evaluation_prints_nothing(capsys, run, tmp_path):
    out = str(tmp_path / "o")
    assert call(capsys, "evaluate", str(run), "digits", "--quiet", "--out", out) == (0, "", "")
    assert (tmp_path / "o" / "evaluation-digits.json").exists()


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


def test_export_prints_sizes_deviations_and_latency(capsys, run, tmp_path):
    arguments = ("--no-onnx", "--no-torch-export", "--out", str(tmp_path / "o"))
    status, out, err = call(capsys, "export", str(run), *arguments)
    assert (status, err) == (0, "")
    assert out.splitlines()[1].startswith(str(tmp_path / "o" / "model.safetensors"))
    assert "compared" not in out  # only weights were written
    assert "deviation" not in out
    assert "CPU, ms (median)  batch 1  batch 32" in out


def test_an_export_is_told_in_two_tables():
    files = (
        ExportedFile(path="o/model.safetensors", bytes=15_000_000, difference=None),
        ExportedFile(path="o/model.onnx", bytes=16_000_000, difference=2e-7),
    )
    times = tuple(
        Latency(runtime=runtime, batch=batch, milliseconds=batch * 1.5, runs=3)
        for batch in (1, 32)
        for runtime in ("PyTorch", "onnxruntime")
    )
    text = export_report(
        ExportResult(files=files, checked_on="32 images of x", latencies=times, threads=1)
    )
    lines = [line.split() for line in text.splitlines()]
    assert lines[2] == ["o/model.onnx", "16.00", "MB", "2.0e-07"]
    assert "compared with PyTorch's on 32 images of x" in text
    assert lines[-3] == ["PyTorch", "1.50", "48.00"]
    assert lines[-2] == ["onnxruntime", "1.50", "48.00"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("evaluate", "{tmp}/none"), "no trained model in"),
        (("evaluate", "{run}", "{tmp}/none"), "no dataset or folder called"),
        (("predict", "", "a"), "an argument is empty; give a value"),
        (("predict", "{run}"), "no images to look at; give files or folders"),
        (("predict", "{run}", "{tmp}/none.png"), "none.png; check the path"),
        (("predict", "{run}", "{tmp}"), "no images in"),
        (("predict", "{run}", "{run}/model.json", "--top", "0"), "top must be at least 1, got 0"),
        (("export", "{tmp}"), "no trained model in"),
        (("export", "{run}", "--out", "{run}/model.json", "--no-onnx"), "model.json is a file"),
    ],
)
def test_errors_are_one_line(capsys, run, tmp_path, arguments, words):
    status, out, err = call(capsys, *(word.format(run=run, tmp=tmp_path) for word in arguments))
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("evaluate", ("--out", "--device", "--cell", "--network", "--channels", "--every-image")),
        ("predict", ("--top", "--json", "--device", "--skip-bad-images", "RUN/best")),
        ("export", ("--onnx", "--no-onnx", "--torch-export", "--out", "--overwrite")),
    ],
)
def test_help_is_complete(capsys, command, flags):
    status, out, _ = call(capsys, command, "--help")
    assert status == 0
    assert all(flag in out for flag in flags)
