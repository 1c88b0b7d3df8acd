"""`xnas export`, from arguments to what is printed."""

import pytest
from commands import call

from xnas.cli.export import export_report
from xnas.records import ExportedFile, ExportResult, Latency


def test_export_prints_sizes_deviations_and_latency(capsys, run, tmp_path):
    arguments = ("--no-onnx", "--no-torch-export", "--out", str(tmp_path / "o"))
    status, out, err = call(capsys, "export", str(run), *arguments)
    assert (status, err) == (0, "")
    assert out.splitlines()[1].startswith(str(tmp_path / "o" / "model.safetensors"))
    assert "compared" not in out  # only weights were written
    assert "deviation" not in out
    assert "CPU, ms (median)  batch 1  batch 32" in out


def test_an_export_is_reported_in_two_tables():
    files = (
        ExportedFile(path="o/model.safetensors", bytes=15_000_000, difference=None),
        ExportedFile(path="o/model.onnx", bytes=16_000_000, difference=2e-7),
    )
    times = tuple(
        Latency(runtime=runtime, batch=batch, milliseconds=batch * 1.5, lower=1.0, upper=60.0, runs=5)
        for batch in (1, 32)
        for runtime in ("PyTorch", "onnxruntime")
    )
    text = export_report(
        ExportResult(files=files, checked_on="32 images of x", latencies=times, threads=1)
    )
    lines = [line.split() for line in text.splitlines()]
    assert lines[2] == ["o/model.onnx", "16.00", "MB", "2.0e-07"]
    assert "compared with PyTorch's on 32 images of x; deviation: largest difference" in text
    assert "(limit: 0.0001)" in text
    assert lines[-3] == ["PyTorch", "1.50", "48.00"]
    assert lines[-2] == ["onnxruntime", "1.50", "48.00"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("export", "{tmp}"), "no trained model in"),
        (("export", "{run}", "--out", "{run}/model.json", "--no-onnx"), "model.json is a file"),
    ],
)
def test_errors_are_one_line(capsys, run, tmp_path, arguments, words):
    status, out, err = call(capsys, *(word.format(run=run, tmp=tmp_path) for word in arguments))
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_help_is_complete(capsys):
    status, out, _ = call(capsys, "export", "--help")
    assert status == 0
    assert all(flag in out for flag in ("--onnx", "--no-onnx", "--torch-export", "--out", "--overwrite"))
