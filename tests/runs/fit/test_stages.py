"""The runs of a fit: begun, resumed or found finished; what a finished one says of its network."""

from dataclasses import replace

from fitting import Watching, pictures
from training import metrics

from xnas import FitConfig, count_parameters
from xnas.errors import FinishedError
from xnas.model.model import load_model
from xnas.runs.fit.comparing import wilson_interval
from xnas.runs.fit.parts import FitData, train_settings
from xnas.runs.fit.stages import Stages
from xnas.space import find_architecture

CONFIG = FitConfig(device="cpu")
CHANGES = {"device": "cpu", "data_dir": None}


def stages():
    return Stages(CONFIG, FitData(pictures(), CONFIG, 0.2), Watching(), CHANGES)


def finish(out, *, finished=False):
    """What is called for the run in `out`, with what."""
    called = []

    def resume(more):
        called.append(("resume", more))
        if finished:
            raise FinishedError("finished")

    stages()._finish(out, lambda: called.append("begin"), resume)
    return called


def test_a_run_is_begun_unless_it_has_a_config(tmp_path):
    assert finish(tmp_path / "none") == ["begin"]
    (tmp_path / "recipe.json").touch()  # of a start that was killed
    assert finish(tmp_path) == ["begin"]
    (tmp_path / "config.json").touch()
    assert finish(tmp_path) == [("resume", {"device": "cpu"})]
    assert finish(tmp_path, finished=True) == [("resume", {"device": "cpu"})]


def test_a_row_has_the_last_accuracy_and_the_size_of_its_network(tmp_path):
    out = tmp_path / "found"
    settings = train_settings(CONFIG, "xnas", share=0.2, epochs=2, out=out, cells=3, channels=2)
    stages().train(settings, out)
    played = stages()
    found = played.row("found", "3 cells", out, seconds=lambda: 100.0)
    assert found.accuracy == metrics(out)[-1]["valid_accuracy"]
    right = played.answers["found"]
    assert (len(right), right.double().mean()) == (16, found.accuracy)
    assert (found.lower, found.upper) == wilson_interval(int(right.sum()), 16)
    assert found.parameters == count_parameters(load_model(out)[0])
    assert (found.name, found.out, found.epochs) == ("found", "found", 2)
    assert found.cost.seconds == 100
    assert found.cost.latency.batch == 1
    stages().train(settings, out)  # finished already: nothing is trained again
    assert len(metrics(out)) == 2


def test_the_present_speed_of_networks_is_measured():
    networks = [
        ("found", find_architecture("xnas"), {"cells": 3, "channels": 2}),
        ("resnet-8", find_architecture("resnet-8"), {}),
    ]
    found = Stages(replace(CONFIG, minutes=0.01), stages().data, Watching(), {}).speeds(networks)
    assert [(one.cell, one.channels, one.steps) for one in found] == [
        ("found", 2, 4),
        ("resnet-8", 16, 4),
    ]
    assert min(one.step for one in found) > 0
