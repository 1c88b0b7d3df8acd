"""Exports that answer as PyTorch does, or are refused."""

import json
import logging
import sys
from pathlib import Path

import onnx
import pytest
import torch
from trained import saved_run

import xnas
from xnas import ConfigError
from xnas.data import load_data, standardize
from xnas.model import export as job
from xnas.model.export import TOLERANCE, compare, onnx_answers
from xnas.runs.export import export_run
from xnas.runs.model_options import ExportConfig

NAMES = {"model.json", "model.safetensors", "model.onnx", "model.pt2"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    saved_run(folder)
    return folder


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    """An export of everything, into another folder."""
    out = tmp_path_factory.mktemp("parent") / "out"
    return out, export_run(run, ExportConfig(out=out))


def test_all_files_are_there_and_a_classifier_loads_from_them(exported, run):
    out, result = exported
    assert {path.name for path in out.iterdir()} == NAMES
    assert [Path(file.path).name for file in result.files] == [
        "model.safetensors",
        "model.pt2",
        "model.onnx",
    ]
    assert all(file.bytes == Path(file.path).stat().st_size for file in result.files)
    assert result.checked_on == "32 images of digits"
    image = load_data("digits").test_images[0]
    assert xnas.load(out, "cpu").predict(image) == xnas.load(run, "cpu").predict(image)


@pytest.mark.parametrize("batch", [1, 3, 50])  # sizes that the export itself did not try
def test_exports_answer_as_the_network_does(exported, run, batch):
    out, result = exported
    classifier, data = xnas.load(run, "cpu"), load_data("digits")
    images = data.test_images[:batch]
    expected = classifier.logits(images)
    given = standardize(images, data.mean, data.std)
    near = {"rtol": 0, "atol": TOLERANCE * float(expected.abs().max())}
    onnx_file = onnx_answers((out / "model.onnx").read_bytes())
    torch.testing.assert_close(onnx_file(given), expected, **near)
    with torch.no_grad(), job._quiet_exporters():
        program = torch.export.load(out / "model.pt2").module()
        torch.testing.assert_close(program(given), expected, **near)
    assert all(file.difference <= TOLERANCE for file in result.files if file.difference is not None)


def test_the_onnx_file_says_how_it_is_used(exported):
    proto = onnx.load(exported[0] / "model.onnx")
    told = {entry.key: json.loads(entry.value) for entry in proto.metadata_props if "xnas" in entry.key}
    data = load_data("digits")
    assert told["xnas.classes"] == list(data.classes)
    assert told["xnas.mean"] == list(data.mean)
    assert told["xnas.std"] == list(data.std)
    assert (told["xnas.size"], told["xnas.channels"], told["xnas.resize"]) == ([8, 8], 1, "crop")
    assert told["xnas.card"]["format"] == "xnas-model"
    (images,), (logits,) = proto.graph.input, proto.graph.output
    assert (images.name, logits.name) == ("images", "logits")
    shape = images.type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in shape] == ["batch", 1, 8, 8]


def test_latency_is_reported_for_both_runtimes_and_batches(exported):
    latencies = exported[1].latencies
    assert {(entry.runtime, entry.batch) for entry in latencies} == {
        (runtime, batch) for runtime in ("PyTorch", "onnxruntime") for batch in (1, 32)
    }
    assert all(entry.milliseconds > 0 and entry.runs >= 5 for entry in latencies)


@pytest.mark.parametrize(
    ("exported", "words"),
    [
        (lambda x: x[:, :1], "deviate from PyTorch's by inf"),
        (lambda x: x * torch.nan, "deviate from PyTorch's by nan"),
        (lambda x: x if len(x) < 7 else x + 1, "for a batch of 7 images"),
        (
            lambda x: 1 / 0 if len(x) == 2 else x,
            r"cannot answer a batch of 2 images \(division by zero\)",
        ),
    ],
)
def test_every_kind_of_difference_is_seen(exported, words):
    with pytest.raises(ConfigError, match=words):
        compare("it", torch.nn.Identity(), exported, torch.ones(4, 3))


def test_what_is_within_tolerance_passes_and_is_measured():
    found = compare("it", torch.nn.Identity(), lambda x: x + 1e-5, torch.full((4, 3), 2.0))
    assert found == pytest.approx(1e-5 / 2, rel=0.05)  # 32-bit numbers near 2


def test_a_missing_package_is_named_with_its_remedy(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    words = r"needs the package onnxscript .*pip install 'xnas\[onnx\]', or pass --no-onnx"
    with pytest.raises(ConfigError, match=words):
        export_run(run, ExportConfig(out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_onnxscript_logs_nothing_meanwhile(caplog):
    log = logging.getLogger("onnxscript.optimizer._constant_folding")
    with job._quiet_exporters():
        log.warning("Skipping constant folding for op Split with multiple outputs.")
    assert caplog.messages == []
    log.warning("again")
    assert caplog.messages == ["again"]
