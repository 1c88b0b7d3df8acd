"""A wiring from training to export, through every file that a run has."""

import shutil

import pytest
from training import Listening, checkpoint, metrics, read, same_runs

import xnas
from xnas import ConfigError, GenotypeError, TrainConfig, Wiring, create_model
from xnas.errors import FinishedError
from xnas.model.model_card import read_card
from xnas.process.interrupt import Interrupted
from xnas.runs.cells import architecture_of
from xnas.runs.evaluate import evaluate_run
from xnas.runs.export import export_run
from xnas.runs.model_options import EvaluateConfig, ExportConfig
from xnas.runs.train import resume_training, train

WIRING = Wiring.random("ws", 2, 0.5, seed=1, nodes=(4, 3, 3))


def settings(out, **more):
    options = {"cell": WIRING, "channels": 4, "batch_size": 256, "epochs": 2, "device": "cpu"}
    return TrainConfig(out=out, drop_path_rate=0.5, **options | more)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("wired") / "run"
    display = Listening()
    return out, train(settings(out), "digits", display=display), "\n".join(display.lines)


def test_the_run_folder_holds_the_wiring(whole):
    out, result, said = whole
    assert Wiring.load(out / "wiring.json") == WIRING
    assert not (out / "genotype.json").exists()
    assert "network of the wiring WS(2, 0.5), seed 1: no auxiliary tower, no drop path" in said
    assert f"network: {result.parameters:,} parameters" in said
    assert "3 stages of 4 channels" in said
    # Unlike that of drop path, the rate does not rise from 0.
    assert [line["drop_path_rate"] for line in metrics(out)] == [0.5, 0.5]


def test_a_stopped_training_resumes_to_the_same_end(whole, tmp_path):
    out, _, _ = whole
    with pytest.raises(Interrupted):
        train(settings(tmp_path / "run"), "digits", display=Listening(stop_after=8))
    assert checkpoint(tmp_path / "run")["step_in_epoch"] > 0
    resume_training(tmp_path / "run")
    same_runs(tmp_path / "run", out)


def test_the_card_has_the_wiring_in_place_of_a_genotype(whole):
    out, result, _ = whole
    saved = read(out / "model.json")
    assert (saved["version"], saved["wiring"]["generator"], "genotype" in saved) == (2, "ws", False)
    card, _ = read_card(out)
    assert card.architecture == WIRING
    assert card.network.drop_path_rate == 0
    again = evaluate_run(out, None, EvaluateConfig(device="cpu", out=out.parent / "again"))
    assert again.evaluation.top1 == result.test.top1
    assert "cifar network of 3 stages and 4 channels" in repr(xnas.load(out, "cpu"))
    assert create_model(out, channels=4).architecture == WIRING  # a run folder names its wiring


def test_a_damaged_wiring_of_a_finished_training_is_written_again(whole, tmp_path):
    out, _, _ = whole
    run, display = tmp_path / "run", Listening()
    display.warn = display.lines.append
    shutil.copytree(out, run)
    (run / "wiring.json").write_text("{", encoding="utf8")
    with pytest.raises(
        GenotypeError, match=r"wiring\.json: .* not JSON.*; xnas train --resume .* again"
    ):
        architecture_of(run)
    with pytest.raises(FinishedError):
        resume_training(run, display=display)
    assert any("wiring.json is damaged" in line for line in display.lines)
    assert architecture_of(run) == WIRING


@pytest.mark.parametrize("onnx", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_it_is_exported_with_the_same_answers(whole, onnx, tmp_path):
    out, _, _ = whole
    result = export_run(out, ExportConfig(out=tmp_path / "export", onnx=onnx))
    names = {file.path.rsplit("/", 1)[-1] for file in result.files}
    assert names == {"model.safetensors", "model.pt2"} | ({"model.onnx"} if onnx else set())
    assert max(file.difference or 0 for file in result.files) < 1e-4


def test_the_most_channels_within_a_limit_are_chosen(whole):
    out, _, _ = whole
    limited = settings(out.parent / "limited", channels=None, max_params=40_000, epochs=1)
    result = train(limited, "digits")
    assert 30_000 < result.parameters <= 40_000
    with pytest.raises(
        ConfigError, match=r"no network of 3 stages is within --max-params 99: with .* raise the limit$"
    ):
        train(settings(out.parent / "none", channels=None, max_params=99), "digits")
