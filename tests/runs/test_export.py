"""`export_run`: which files it writes, and which it refuses to replace."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from trained import AS_ROOT, saved_run

import xnas
from xnas import ConfigError
from xnas.model import export as job
from xnas.process.folder import storage_errors
from xnas.runs.export import export_run
from xnas.runs.model_options import ExportConfig


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    saved_run(folder)
    return folder


@pytest.fixture
def no_tracing(monkeypatch):
    """A test that is about something else takes the network itself for its export."""
    monkeypatch.setattr(job, "_exported", lambda model, _: model)
    monkeypatch.setattr(torch.export, "save", lambda _, file: file.write(b"program"))


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


def test_an_export_does_not_go_into_the_folder_of_the_images(tmp_path):
    saved_run(tmp_path / "run")
    path = tmp_path / "run" / "config.json"
    config = json.loads(path.read_text(encoding="utf8"))
    path.write_text(json.dumps(config | {"data": str(tmp_path / "photos")}), encoding="utf8")
    out = tmp_path / "photos" / "exported"
    with pytest.raises(ConfigError, match=r"exported lies in the data folder .*photos"):
        export_run(tmp_path / "run", ExportConfig(out=out, onnx=False, torch_export=False))
    assert not out.exists()
    path.write_text("{", encoding="utf8")  # then nothing says where the images are
    export_run(tmp_path / "run", ExportConfig(out=out, onnx=False, torch_export=False))


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
def test_a_disk_that_is_full_is_reported_and_nothing_is_left(run, tmp_path, monkeypatch):
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


def test_an_export_of_no_format_into_the_run_itself_is_refused_and_leaves_its_files(tmp_path):
    saved_run(tmp_path)
    (tmp_path / "model.onnx").write_text("of these weights", encoding="utf8")
    for config in (replace(WEIGHTS, out=tmp_path), WEIGHTS):
        with pytest.raises(ConfigError, match=r"nothing to export: .*leave out --no-onnx or .*--out$"):
            export_run(tmp_path, config)
    assert (tmp_path / "model.onnx").read_text(encoding="utf8") == "of these weights"


@pytest.mark.usefixtures("no_tracing")
def test_an_export_in_the_run_itself_is_replaced_only_if_that_was_asked_for(tmp_path, monkeypatch):
    saved_run(tmp_path)
    weights = (tmp_path / "model.safetensors").stat().st_mtime_ns
    (tmp_path / "model.pt2").write_text("mine", encoding="utf8")
    model = xnas.load(tmp_path, "cpu").model
    monkeypatch.setattr(torch.export, "load", lambda _: type("P", (), {"module": lambda _: model})())
    words = r"already exported: .*model\.pt2; pass --overwrite to replace it, or choose another folder"
    for config in (ExportConfig(onnx=False), ExportConfig(onnx=False, out=tmp_path)):
        with pytest.raises(ConfigError, match=words):
            export_run(tmp_path, config)
    (tmp_path / "model.onnx").write_text("mine", encoding="utf8")
    monkeypatch.setattr("xnas.runs.export.require_onnx", lambda: None)
    with pytest.raises(ConfigError, match=r"model\.onnx and .*model\.pt2; .* to replace them, or"):
        export_run(tmp_path, ExportConfig())
    assert (tmp_path / "model.pt2").read_text(encoding="utf8") == "mine"
    result = export_run(tmp_path, ExportConfig(onnx=False, overwrite=True))
    assert (tmp_path / "model.pt2").read_text(encoding="utf8") == "program"
    assert [Path(file.path).name for file in result.files] == ["model.pt2"]
    assert (tmp_path / "model.safetensors").stat().st_mtime_ns == weights


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
