"""The end of a fit: the winner alone is tested and exported."""

import pytest
from fitting import answers, pictures, row
from training import TINY, read

from xnas.data.parts import without_test
from xnas.errors import ConfigError
from xnas.records import ExportedFile, ExportResult
from xnas.runs.fit import concluding
from xnas.runs.fit.concluding import conclude
from xnas.runs.fit.stage_times import StageTimes
from xnas.runs.run_folder import RunFolder
from xnas.runs.train import train


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A fit's folder with one training, which both rows of the tests name."""
    out = tmp_path_factory.mktemp("fit")
    data = without_test(pictures())
    train("xnas", data, **TINY | {"epochs": 1}, out=out / "found", validation=0.2, quiet=True)
    return out


ROWS = [row("found", 0.9), row("random", 0.8)]


def ended(out, warnings, images=None):
    return conclude(
        ROWS,
        answers(16, found=14, random=13),
        RunFolder(out),
        images or pictures(),
        missing={"pretrained": "none"},
        times=StageTimes(RunFolder(out), 0.0),
        warn=warnings.append,
        device="cpu",
    )


def test_the_winner_is_tested_and_exported_as_far_as_packages_allow(trained, monkeypatch):
    asked = []

    def require_onnx():
        raise ConfigError("writing ONNX needs the package onnx")

    def export_run(run, config, *, images):
        asked.append((run, config.onnx, config.torch_export, len(images.labels)))
        files = (ExportedFile(path=str(run / "model.pt2"), bytes=7, difference=0.0),)
        return ExportResult(files=files, checked_on="", latencies=(), threads=1)

    monkeypatch.setattr(concluding, "require_onnx", require_onnx)
    monkeypatch.setattr(concluding, "export_run", export_run)
    warnings = []
    summary = ended(trained, warnings)
    assert warnings == ["writing ONNX needs the package onnx"]
    assert asked == [(trained, False, True, 80)]
    assert summary.files == ("model.pt2",)
    assert summary.test.images == 20
    figures = read(trained / "model.json")["figures"]
    assert figures == {"validation_accuracy": 0.9, "test_accuracy": summary.test.top1}
    saved = read(trained / "fit.json")
    assert saved["missing"] == {"pretrained": "none"}
    assert saved["images"] == 16
    assert saved["cost"]["stages"] == read(trained / "times.json")["cost"]


def test_an_export_that_fails_is_a_warning_and_no_test_images_are_no_test(trained, monkeypatch):
    def export_run(*_, **__):
        raise ConfigError("model.onnx was not written")

    monkeypatch.setattr(concluding, "export_run", export_run)
    warnings = []
    summary = ended(trained, warnings, without_test(pictures()))
    assert warnings == ["the model was not exported: model.onnx was not written"]
    assert (summary.files, summary.test) == ((), None)
    assert read(trained / "model.json")["figures"] == {"validation_accuracy": 0.9}
