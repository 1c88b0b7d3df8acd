"""A random cell of equal size: the first that fits, else the nearest with other channels."""

import pytest

from xnas import Genotype, count_parameters, create_model
from xnas.data import stream_seed
from xnas.runs.fit import equal_cells
from xnas.runs.fit.equal_cells import TOLERANCE, equal_cell, nearest_cell
from xnas.space import find_genotype, network_spec

FOUND = Genotype.random("darts", 7)


@pytest.fixture
def _few(monkeypatch):
    monkeypatch.setattr(equal_cells, "DRAWS", 20)


def drawn(number, seed=0):
    return Genotype.random("darts", stream_seed(seed, f"random cell {number}"))


def test_the_first_draw_within_a_tenth_is_taken():
    sizes = {FOUND: 100, drawn(0): 120, drawn(1): 89, drawn(2): 109, drawn(3): 100}
    cell = nearest_cell(FOUND, 8, lambda genotype, _: sizes[genotype], seed=0)
    assert (cell.genotype, cell.channels, cell.parameters, cell.equal) == (drawn(2), 8, 109, True)
    assert cell.note == "draw 3, 109 parameters beside 100"


def test_drawing_goes_on_for_long_before_channels_are_changed():
    rare = drawn(500)
    cell = nearest_cell(FOUND, 8, lambda one, _: 100 if one in (FOUND, rare) else 200, seed=0)
    assert (cell.genotype, cell.channels) == (rare, 8)
    assert cell.note.startswith("draw 501,")


@pytest.mark.usefixtures("_few")
def test_one_of_the_nearest_draws_gets_other_channels_and_that_is_said():
    def count(genotype, channels):
        if genotype == FOUND:
            return 100 * channels
        return (140 if genotype == drawn(4) else 150) * channels

    cell = nearest_cell(FOUND, 10, count, seed=0)
    # 1000 wanted: 140 x 7 = 980 is nearer than 140 x 8 = 1120.
    assert (cell.genotype, cell.channels, cell.parameters) == (drawn(4), 7, 980)
    assert cell.equal
    assert "none of 20 draws is within 10% of 1,000 parameters" in cell.note
    assert cell.note.endswith("the nearest with 7 channels instead of 10 has 980 parameters")


@pytest.mark.usefixtures("_few")
def test_smaller_cells_get_more_channels():
    count = lambda genotype, channels: (100 if genotype == FOUND else 50) * channels  # noqa: E731
    assert nearest_cell(FOUND, 10, count, seed=3).channels == 20


@pytest.mark.usefixtures("_few")
def test_a_cell_that_is_not_of_equal_size_is_said_to_be_none():
    count = lambda genotype, channels: 100 if genotype == FOUND else 150  # noqa: E731, ARG005
    cell = nearest_cell(FOUND, 10, count, seed=3)
    assert (cell.equal, cell.channels) == (False, 10)
    assert cell.note.endswith("the nearest has 150 parameters, +50%: it is not of equal size")


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("xnas", {"channels": 4, "cells": 3}),
        ("|none~0|+|none~0|nor_conv_1x1~1|+|none~0|none~1|none~2|", {}),
    ],
)
def test_networks_are_equally_large_and_the_draw_follows_the_seed(name, sizes):
    found = find_genotype(name)
    spec = network_spec(found).but(in_chans=1, **sizes)
    cell = equal_cell(found, spec, (1, 8, 8), seed=1)
    both = [
        count_parameters(create_model(one, in_chans=1, **sizes | {"channels": channels}))
        for one, channels in ((found, spec.channels), (cell.genotype, cell.channels))
    ]
    assert both[1] == cell.parameters
    assert abs(both[1] - both[0]) <= TOLERANCE * both[0]
    assert cell.equal
    assert cell == equal_cell(found, spec, (1, 8, 8), seed=1)
    assert cell.genotype != equal_cell(found, spec, (1, 8, 8), seed=2).genotype
