"""Cells evaluated by the shared weights of a search."""

import os
import pickle
import signal
from copy import copy

import pytest
from searching import stripes, tiny

from xnas import ConfigError, Genotype, SampleConfig, sample, search
from xnas.process.interrupt import Interrupted
from xnas.runs.displays import Silence
from xnas.runs.sampling import sample_job, shared_evaluator
from xnas.runs.sampling.evaluators import EVALUATORS, evaluate_trial
from xnas.runs.sampling.sample import _usual_data
from xnas.runs.truth import recorded_cell
from xnas.samplers import Trial


class StoppingAfterAnEpoch(Silence):
    """Ends a search with a checkpoint that the discretization gap was just measured on."""

    def after_epoch(self, record, epochs):  # noqa: ARG002
        self.record = record
        os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    out, display = tmp_path_factory.mktemp("shared") / "search", StoppingAfterAnEpoch()
    with pytest.raises(Interrupted):
        search(tiny(out=out, gap_every=1), stripes(), display=display)
    return out, display.record


def build(weights, images=None, **options):
    options = {"weights": weights, "evaluator": "shared", "device": "cpu"} | options
    return EVALUATORS["shared"].build(SampleConfig(**options), images or stripes())


def test_the_value_of_a_cell_is_the_line_of_the_gap_of_the_same_checkpoint(stopped, tmp_path):
    out, record = stopped
    evaluator = pickle.loads(pickle.dumps(build(out)))  # noqa: S301 - as a pool sends it
    # 14 edges of 7 operations in each of two kinds of cells
    assert evaluator.line.endswith("after epoch 1, on its validation half; 196 of 196 experts are left")
    assert evaluator.device == "cpu"
    cell = recorded_cell(record)
    for _ in range(2):
        result = evaluate_trial(evaluator, Trial(number=3, genotype=cell), tmp_path)
        assert (result.value, result.at) == (record.gap.cell, 1)
    assert result.cost["parameters"] == evaluator.size(cell).parameters
    other = Trial(number=4, genotype=Genotype.random("nasbench201", 0))
    failed = evaluate_trial(evaluator, other, tmp_path)
    assert failed.state == "failed"
    assert "is not in a supernet of darts" in failed.reason
    with pytest.raises(ConfigError, match="shared weights know no epochs, and the sampler asks for 2"):
        evaluate_trial(evaluator, Trial(number=5, genotype=cell, budget=2), tmp_path)


def test_weights_that_cannot_be_used_are_refused(stopped, tmp_path):
    out, _ = stopped
    with pytest.raises(ConfigError, match="needs trained weights; name a search with --weights RUN"):
        build(None)
    with pytest.raises(ConfigError, match="is of the space darts, not of nasbench201; give --space dar"):
        build(out, space="nasbench201")
    with pytest.raises(ConfigError, match=r"the images are not those that the search in .* was tra"):
        build(out, stripes(seed=1))
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "config.json").write_bytes((out / "config.json").read_bytes())
    with pytest.raises(ConfigError, match="holds no checkpoint, so there are no weights"):
        _ = build(empty).line


@pytest.mark.parametrize(("kind", "noun"), [("sample", "sampling"), ("train", "training")])
def test_weights_of_another_kind_are_named_before_data_are_loaded(tmp_path, monkeypatch, kind, noun):
    weights = tmp_path / "other"
    weights.mkdir()
    (weights / "config.json").write_text(f'{{"format": "xnas-run", "version": 1, "kind": "{kind}"}}')
    monkeypatch.setattr("xnas.runs.sampling.sample.load_data", lambda *_: pytest.fail("loaded"))
    with pytest.raises(
        ConfigError, match=rf"--weights needs the folder of a search, and .*other holds a {noun}; name"
    ):
        sample(SampleConfig(evaluator="shared", weights=weights, out=tmp_path / "run"), "digits")


def test_a_supernet_that_lost_experts_is_refused_before_the_folder_is_made(
    stopped, tmp_path, monkeypatch
):
    load = shared_evaluator.loaded

    def faded(evaluator):
        search = copy(load(evaluator))
        search.deleted = [("normal", 0, 1), ("reduction", 3, 2)]
        return search

    monkeypatch.setattr(shared_evaluator, "loaded", faded)
    config = SampleConfig(weights=stopped[0], evaluator="shared", device="cpu", out=tmp_path / "run")
    with pytest.raises(ConfigError, match=r"194 of 196 experts are left in .* --no-wipeout or --method"):
        sample(config, stripes())
    assert not config.out.exists()


@pytest.mark.parametrize(
    ("sampler", "settings"),
    [
        ("random", None),
        pytest.param("controller", "minibatch=4,hidden=16", id="ENAS"),
        pytest.param("latent", "epochs=2,hidden=8,embedding=8", id="NAO-WS"),
    ],
)
def test_a_whole_search_draws_cells_of_the_supernet(stopped, tmp_path, monkeypatch, sampler, settings):
    monkeypatch.setattr(sample_job, "_draw", lambda *_: None)
    out, _ = stopped
    config = SampleConfig(
        weights=out,
        evaluator="shared",
        sampler=sampler,
        settings=settings,
        evaluations=10,
        device="cpu",
        out=tmp_path / "r",
        report=False,
    )
    result = sample(config, stripes())
    assert len(result.evaluations) == 10
    assert all(0 <= record.value <= 1 for record in result.evaluations)
    shown = build(out)
    best = max(result.evaluations, key=lambda record: record.value)
    again = evaluate_trial(shown, Trial(number=0, genotype=result.genotype), tmp_path)
    assert again.value == best.value  # the weights are what they were


def test_the_images_are_those_of_the_search_if_none_are_named(stopped):
    assert _usual_data(None) == "digits"
    assert _usual_data(stopped[0]) == "digits"  # that search was given its images in memory
