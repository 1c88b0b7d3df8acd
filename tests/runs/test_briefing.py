"""What a search says of itself follows from its settings."""

import torch
from datasets_made import make_image
from searching import stripes, tiny

from xnas.data import load_data
from xnas.engine import play_round
from xnas.runs.briefing import cautions, duration, forecast, introduction
from xnas.runs.prepare import prepare
from xnas.runs.sources import holding


def prepared(**arguments):
    return prepare(tiny(**arguments), stripes())


def told(**arguments):
    return cautions(prepared(**arguments), stripes(1000))


def test_settings_that_need_no_caution_get_none():
    assert told(epochs=10) == []


def test_few_images_are_reported_below_a_thousand():
    assert any("80 images are few" in line for line in cautions(prepared(epochs=10), stripes()))


def test_a_faithful_search_names_what_is_not_faithful():
    (line,) = (x for x in told(epochs=10, faithful=True, relaxation=0.1) if "faithful" in x)
    assert line.startswith("faithful to the paper except for data stripes, epochs 10, batch-size 8, ")
    assert line.endswith("relaxation 0.1")
    assert not any("faithful" in x for x in told(epochs=10))


def test_a_single_round_is_counted_as_one():
    lines = introduction(prepared(epochs=1, batch_size=40), stripes())
    assert any(", 1 round on cpu" in line for line in lines)


def test_a_warm_up_without_a_whole_epoch_is_reported():
    assert any(line.startswith("--warmup 0.1 of 4 epochs") for line in told(epochs=4, warmup=0.1))
    assert not any("warm-up" in line for line in told(epochs=4, warmup=0.2))


def test_the_introduction_names_the_epochs_of_warm_up():
    lines = introduction(prepared(epochs=10, warmup=0.2), stripes())
    assert any(line.startswith("warm-up: 2 epochs of 10, in which") for line in lines)
    assert not any("warm-up" in line for line in introduction(prepared(epochs=10), stripes()))


def test_a_relaxation_of_no_wipeout_is_reported():
    words = "without wipeout, relaxation 0.5 changes nothing"
    assert told(epochs=10, wipeout=False, relaxation=0.5) == [words]
    assert told(epochs=10, wipeout=False) == []


def test_auto_augment_s_origin_is_reported():
    assert "AutoAugment's policy was learned with labels of CIFAR-10" in told(
        epochs=10, auto_augment=True
    )
    lines = told(epochs=10, auto_augment=True, auto_augment_policy="svhn-original")
    assert "AutoAugment's policy was learned with labels of SVHN" in lines
    assert any("add --auto-augment" in x for x in told(epochs=10, auto_augment_policy="svhn-original"))


def test_a_single_level_search_says_that_nothing_is_held_out():
    def said(**arguments):
        lines = introduction(prepared(epochs=2, **arguments), stripes())
        return [line for line in lines if line.startswith("single-level: ")]

    assert said() == []
    (joint,), (apart,) = said(method="snas"), said(single_level=True)
    assert "from the same batch; validation figures are of these images" in joint
    assert "from another batch; " in apart


def test_the_introduction_gives_both_rates_of_each_kind():
    ready = prepared(experts_lr=0.25)
    lines = introduction(ready, stripes())
    rates = [line for line in lines if line.startswith("learning rate of the")]
    assert [line.split()[4] for line in rates] == ["normal", "reduction"]
    assert all("paper" in line and "matched" in line and "used: 0.25" in line for line in rates)


def test_durations_are_said_as_a_person_would():
    assert [duration(s) for s in (5, 89, 120, 5000, 7200)] == ["5 s", "89 s", "2 min", "83 min", "2.0 h"]


def test_wipeouts_are_forecast_where_there_are_any():
    for arguments, has_forecast in (
        ({}, True),
        ({"wipeout": False}, False),
        ({"method": "darts"}, False),
    ):
        ready = prepared(**arguments)
        ready.search.begin_epoch()
        play_round(ready.search)
        assert (forecast(ready) is not None) is has_forecast


def test_no_first_wipeout_is_forecast_once_experts_have_gone():
    ready = prepared(relaxation=0.01)
    ready.search.begin_epoch()
    play_round(ready.search)
    assert not all(ready.search.method.alive(m).all() for m in ready.search.mixtures.values())
    assert not ready.search.deleted  # that comes with the end of the epoch
    assert forecast(ready) is None


def test_where_the_images_are_is_reported():
    lines = introduction(prepared(epochs=10), stripes())
    assert "80 training images of 1 x 8 x 8, all in memory on cpu (0 MiB)" in lines


def test_streamed_images_are_reported(tmp_path):
    for number in range(16):
        make_image(tmp_path / f"{number % 2}" / f"{number}.png", (number, 0, 0), size=(8, 8))
    data = load_data(tmp_path, stream=True)
    line = holding(data, torch.device("cpu"))
    count = f"{len(data.labels)} training images of 3 x 8 x 8"
    assert line == f"{count}, decoded by worker processes as they are needed"
