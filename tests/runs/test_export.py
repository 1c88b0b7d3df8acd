"""`export_run`: files that answer as PyTorch does, or no files."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
import torch
from trained import AS_ROOT, saved_run

import xnas
from xnas import ConfigError
from xnas.data import load_data, standardize
from xnas.process.folder import storage_errors
from xnas.runs import export as job
from xnas.runs.export import TOLERANCE, ExportConfig, compare, export_run, latency, onnx_answers

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


@pytest.fixture
def no_tracing(monkeypatch):
    """A test that is about something else takes the network itself for its export."""
    monkeypatch.setattr(job, "_exported", lambda model, _: model)
    monkeypatch.setattr(torch.export, "save", lambda _, file: file.write(b"program"))


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
    with torch.no_grad(), job._calm():
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


def test_latency_is_told_for_both_runtimes_and_batches(exported):
    latencies = exported[1].latencies
    assert {(entry.runtime, entry.batch) for entry in latencies} == {
        (runtime, batch) for runtime in ("PyTorch", "onnxruntime") for batch in (1, 32)
    }
    assert all(entry.milliseconds > 0 and entry.runs >= 3 for entry in latencies)


def test_latency_is_a_median_over_a_bounded_number_of_runs(monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    calls = []
    found = latency("x", calls.append, torch.zeros(4, 1))
    # A clock that ticks once a look: each run takes a tick, and the time is up soon.
    assert (found.milliseconds, found.runs, found.batch) == (1000, 3, 4)
    assert len(calls) == 4


@pytest.mark.usefixtures("no_tracing")
def test_a_file_that_differs_is_refused_and_nothing_is_left(run, tmp_path, monkeypatch):
    class Wrong:
        def module(self):
            return lambda images: 1.001 * xnas.load(run, "cpu").model(images)

    monkeypatch.setattr(torch.export, "load", lambda _: Wrong())
    out = tmp_path / "out"
    with pytest.raises(
        ConfigError, match=r"model\.pt2 was not written: for a batch of 1 images .* 0\.001"
    ):
        export_run(run, ExportConfig(out=out, onnx=False))
    assert not out.exists()
    before = sorted(run.iterdir())
    with pytest.raises(ConfigError, match=r"model\.pt2 was not written"):
        export_run(run, ExportConfig(onnx=False))
    assert sorted(run.iterdir()) == before


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


@pytest.mark.usefixtures("no_tracing")
def test_without_its_data_a_run_is_checked_on_generated_images(tmp_path, monkeypatch):
    saved_run(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf8"))
    (tmp_path / "config.json").write_text(json.dumps(config | {"data": "gone"}), encoding="utf8")
    model = xnas.load(tmp_path, "cpu").model
    monkeypatch.setattr(torch.export, "load", lambda _: type("P", (), {"module": lambda _: model})())
    result = export_run(tmp_path, ExportConfig(onnx=False))
    assert result.checked_on == (
        "32 generated images, because those of the run are not at hand or cannot be read"
    )
    assert {entry.runtime for entry in result.latencies} == {"PyTorch"}
    assert (tmp_path / "model.pt2").exists()


def test_a_missing_package_is_named_with_its_remedy(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    words = r"needs the package onnxscript .*pip install 'xnas\[onnx\]', or pass --no-onnx"
    with pytest.raises(ConfigError, match=words):
        export_run(run, ExportConfig(out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_targets_that_cannot_be_written_are_named_and_keep_what_they_hold(run, tmp_path):
    (tmp_path / "file").write_text("mine", encoding="utf8")
    plain = ExportConfig(onnx=False, torch_export=False)
    with pytest.raises(ConfigError, match="file is a file; choose a folder with --out"):
        export_run(run, replace(plain, out=tmp_path / "file"))
    with pytest.raises(ConfigError, match="holds file, which is no part of an export; choose another"):
        export_run(run, replace(plain, out=tmp_path))
    with pytest.raises(ConfigError, match=r"cannot write to .*file"):
        export_run(run, replace(plain, out=tmp_path / "file" / "deeper"))
    assert (tmp_path / "file").read_text(encoding="utf8") == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_in_the_way_is_named_with_its_remedy(tmp_path):
    (tmp_path / "tensorboard").touch()
    words = (
        "cannot write to run: File exists; move the file .*tensorboard away, or choose another folder"
    )
    with pytest.raises(ConfigError, match=words), storage_errors(Path("run")):
        (tmp_path / "tensorboard").mkdir()


@pytest.mark.skipif(AS_ROOT, reason="root may write anywhere")
def test_a_folder_without_permission_is_named(run, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigError, match=r"cannot write to .*: Permission denied"):
        export_run(run, ExportConfig(onnx=False, torch_export=False, out=tmp_path / "out"))


@pytest.mark.usefixtures("no_tracing")
def test_a_disk_that_is_full_is_told_and_nothing_is_left(run, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    model = xnas.load(run, "cpu").model
    monkeypatch.setattr(torch.export, "load", lambda _: type("P", (), {"module": lambda _: model})())
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ConfigError, match=r"cannot write to .*: No space left on device; make room"):
        export_run(run, ExportConfig(onnx=False, out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


WEIGHTS = ExportConfig(onnx=False, torch_export=False, overwrite=True)


def test_weights_alone_can_be_exported(run, tmp_path):
    (tmp_path / ".mine").touch()
    result = export_run(run, replace(WEIGHTS, out=tmp_path))
    assert [Path(file.path).name for file in result.files] == ["model.safetensors"]
    assert {path.name for path in tmp_path.iterdir()} == {".mine", "model.json", "model.safetensors"}


def test_an_earlier_export_is_replaced_whole(run, tmp_path):
    export_run(run, replace(WEIGHTS, out=tmp_path))
    with pytest.raises(ConfigError, match=r"is not empty; .* or pass --overwrite"):
        export_run(run, replace(WEIGHTS, out=tmp_path, overwrite=False))
    for name in ("model.onnx", "model.pt2"):
        (tmp_path / name).write_text("of other weights", encoding="utf8")
    export_run(run, replace(WEIGHTS, out=tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"model.json", "model.safetensors"}


def test_an_export_into_the_run_itself_leaves_its_other_files(tmp_path):
    saved_run(tmp_path)
    (tmp_path / "model.onnx").write_text("of these weights", encoding="utf8")
    export_run(tmp_path, replace(WEIGHTS, out=tmp_path))
    assert (tmp_path / "model.onnx").exists()


@pytest.mark.parametrize(
    ("names", "out", "words"),
    [
        (("model.json", "model.safetensors", "config.json"), "other", "holds config.json, which is no"),
        (("genotype.json",), "other", "holds genotype.json, which is no part"),
        (("cat/1.png", "dog/1.png"), "other", "holds cat, which is no part"),
        (("model.onnx",), "other", "holds no earlier export"),
        (
            ("config.json", "best/model.json", "best/model.safetensors"),
            "other/best",
            "holds the best weights of a training",
        ),
    ],
)
def test_nothing_but_an_earlier_export_is_overwritten(run, tmp_path, names, out, words):
    for name in names:
        (tmp_path / "other" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "other" / name).write_text("mine", encoding="utf8")
    with pytest.raises(ConfigError, match=f"{words}.*; choose another folder with --out"):
        export_run(run, replace(WEIGHTS, out=tmp_path / out))
    assert {p.read_text(encoding="utf8") for p in tmp_path.rglob("*") if p.is_file()} == {"mine"}
    files = {str(p.relative_to(tmp_path / "other")) for p in tmp_path.rglob("*") if p.is_file()}
    assert files == set(names)
