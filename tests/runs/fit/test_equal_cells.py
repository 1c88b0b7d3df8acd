"""A random cell of equal size: the first that fits, else the nearest with other channels."""

import pytest

from xnas import Genotype, count_parameters, create_model
from xnas.data import stream_seed
from xnas.runs.fit.equal_cells import DRAWS, TOLERANCE, equal_cell, nearest_cell
from xnas.space import find_genotype, network_spec

FOUND = Genotype.random("darts", 7)


def drawn(number, seed=0):
    return Genotype.random("darts", stream_seed(seed, f"random cell {number}"))


def test_the_first_draw_within_a_tenth_is_taken():
    sizes = {FOUND: 100, drawn(0): 120, drawn(1): 89, drawn(2): 109, drawn(3): 100}
    cell = nearest_cell(FOUND, 8, lambda genotype, _: sizes[genotype], seed=0)
    assert (cell.genotype, cell.channels, cell.parameters) == (drawn(2), 8, 109)
    assert cell.note == "draw 3, 109 parameters beside 100"


def test_one_of_the_nearest_draws_gets_other_channels_and_that_is_said():
    def count(genotype, channels):
        if genotype == FOUND:
            return 100 * channels
        return (140 if genotype == drawn(4) else 150) * channels

    cell = nearest_cell(FOUND, 10, count, seed=0)
    # 1000 wanted: 140 x 7 = 980 is nearer than 140 x 8 = 1120.
    assert (cell.genotype, cell.channels, cell.parameters) == (drawn(4), 7, 980)
    assert f"none of {DRAWS} draws is within 10% of 1,000 parameters" in cell.note
    assert "7 channels instead of 10, 980 parameters" in cell.note


def test_smaller_cells_get_more_channels():
    count = lambda genotype, channels: (100 if genotype == FOUND else 50) * channels  # noqa: E731
    assert nearest_cell(FOUND, 10, count, seed=3).channels == 20


@pytest.mark.parametrize("name", ["xnas"])
def test_networks_are_equally_large_and_the_draw_follows_the_seed(name):
    found = find_genotype(name)
    spec = network_spec(found).but(channels=4, cells=3, in_chans=1)
    cell = equal_cell(found, spec, seed=1)
    sizes = [
        count_parameters(create_model(one, channels=channels, cells=3, in_chans=1))
        for one, channels in ((found, 4), (cell.genotype, cell.channels))
    ]
    assert sizes[1] == cell.parameters
    assert abs(sizes[1] - sizes[0]) <= TOLERANCE * sizes[0]
    assert cell == equal_cell(found, spec, seed=1)
    assert cell.genotype != equal_cell(found, spec, seed=2).genotype
