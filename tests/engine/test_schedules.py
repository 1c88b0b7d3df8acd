"""Schedules give the known rates."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xnas import ConfigError
from xnas.engine.schedules import PowerCosine, scheduled_drop_path

KNOWN = json.loads((Path(__file__).parents[1] / "known_answers.json").read_text(encoding="utf8"))[
    "schedules"
]


def papers(power, lowest):
    return PowerCosine(top=0.025, epochs=1500, cycles=5, decay=0.5, power=power, lowest=lowest)


@pytest.mark.parametrize(
    ("key", "power", "lowest"),
    [("p=1,lo=0", 1, 0), ("p=1,lo=1e-08", 1, 1e-8), ("p=2,lo=0", 2, 0), ("p=2,lo=1e-08", 2, 1e-8)],
)
def test_the_papers_cycles_have_the_known_rates(key, power, lowest):
    schedule = papers(power, lowest)
    for epoch, rate in KNOWN["values"][key].items():
        assert schedule.rate(int(epoch)) == pytest.approx(rate, rel=1e-12)


def test_cinic_and_imagenet_have_the_known_rates():
    cinic = PowerCosine(top=0.025, epochs=800, cycles=5, decay=0.5, power=2, lowest=1e-8)
    for epoch, rate in KNOWN["cinic_800_lr_p2(cycle=160)"].items():
        assert cinic.rate(int(epoch)) == pytest.approx(rate, rel=1e-12)
    imagenet = PowerCosine(top=1, epochs=250, power=10)
    for epoch, rate in KNOWN["imagenet_single_cycle_250(p=10,lo=0,unit amplitude)"].items():
        assert imagenet.rate(int(epoch)) == pytest.approx(rate, rel=1e-12)


@pytest.mark.parametrize("power", [1, 2, 10])
def test_half_way_the_factor_has_a_closed_form(power):
    assert PowerCosine(top=1, epochs=2, power=power).rate(1) == pytest.approx(1 / (1 + power**0.5))


@given(
    power=st.floats(0.1, 50),
    cycles=st.integers(1, 5),
    decay=st.floats(0.1, 1),
    epoch=st.floats(0, 99.9),
)
def test_rates_stay_between_the_lowest_and_the_top_of_their_cycle(power, cycles, decay, epoch):
    schedule = PowerCosine(
        top=1, epochs=100, cycles=cycles, decay=decay, power=power, lowest=1e-3 * decay**5
    )
    cycle = min(int(epoch / (100 / cycles)), cycles - 1)
    assert 1e-3 * decay**5 - 1e-12 <= schedule.rate(epoch) <= decay**cycle + 1e-12


def test_a_warm_up_rises_linearly_and_joins_the_cosine():
    schedule = PowerCosine(top=0.4, epochs=10, warmup=2)
    assert schedule.rate(0) == 0
    assert schedule.rate(1) == pytest.approx(0.2)
    assert schedule.rate(2) == pytest.approx(0.4)
    assert schedule.rate(6) == pytest.approx(0.2)
    assert schedule.rate(9.999999) == pytest.approx(0, abs=1e-9)


def test_drop_path_rises_as_known():
    for epoch, rate in KNOWN["drop_path"]["values_e_from_0"].items():
        assert scheduled_drop_path(int(epoch), 1500, 0.2) == pytest.approx(rate, rel=1e-12)
    for epoch, rate in KNOWN["drop_path"]["cinic_800"].items():
        assert scheduled_drop_path(int(epoch), 800, 0.2) == pytest.approx(rate, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cycles": 11}, "11 cycles do not fit into 10 epochs; use fewer cycles"),
        ({"top": 0}, "top, decay and power must be positive, got 0"),
        ({"power": -1}, "must be positive, got 1, 1.0 and -1"),
        ({"warmup": 5, "cycles": 2}, "warm-up of 5 epochs must be shorter than a cycle, here 5"),
    ],
)
def test_bad_input_is_named(options, words):
    with pytest.raises(ConfigError, match=words):
        PowerCosine(**{"top": 1, "epochs": 10} | options)
