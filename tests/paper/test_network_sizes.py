"""Counts of networks, stored or computed, and the width that comes nearest to a printed one."""

from dataclasses import replace

import pytest

from xnas.paper.network_sizes import (
    CIFAR,
    DARTS_IMAGENET,
    IMAGENET,
    agreement,
    counted_network,
    empty_network,
    macs,
    nearest_channels,
    parameters,
)
from xnas.space import Genotype, count_parameters, zoo_cell


@pytest.mark.parametrize(
    ("counted", "millions", "expected"),
    [
        (3_793_438, 3.8, "yes, rounded"),
        (3_749_999, 3.7, "yes"),
        (3_650_000, 3.7, "yes, rounded"),
        (3_799_999, 3.7, "yes, truncated"),
        (3_699_999, 3.6, "yes, truncated"),
        (10_521_802, 11, "yes, rounded"),
        (10_521_802, 10, "yes, truncated"),
        (10_521_802, 12, "no"),
    ],
)
def test_agreement_is_by_the_digits_that_are_printed(counted, millions, expected):
    assert agreement(counted, millions) == expected


@pytest.mark.parametrize(
    ("cell", "spec"), [("xnas", CIFAR), ("xnas", IMAGENET), ("pnas", DARTS_IMAGENET)]
)
def test_parameters_are_a_parabola_in_the_channels(cell, spec):
    for channels in (24, 70):  # off the three counts, on both sides
        network = empty_network(cell, spec.but(channels=channels))
        count = count_parameters(network)
        assert nearest_channels(cell, spec, count / 1e6) == (channels, count)
        assert nearest_channels(cell, spec, count / 1e6 + 0.001)[0] == channels


def test_a_stem_follows_the_channels_if_it_is_a_multiple_of_them():
    assert CIFAR.but(channels=44).stem_channels == 132
    assert DARTS_IMAGENET.but(channels=40).stem_channels == 40
    assert IMAGENET.but(channels=40).stem_channels == 56


def test_stored_counts_are_used_for_names_and_computed_for_genotypes():
    genotype = zoo_cell("xnas").genotype
    assert parameters("xnas", CIFAR) == parameters(genotype, CIFAR) == 3_793_438


def test_an_auxiliary_tower_adds_parameters_and_no_macs():
    genotype = Genotype.random("darts", seed=0)
    small = CIFAR.but(channels=4, cells=5)
    tower = replace(small, auxiliary=True)
    assert parameters(genotype, tower) > parameters(genotype, small)
    assert macs(genotype, tower) == macs(genotype, small) > 0


def test_macs_are_left_out_where_they_are_not_wanted():
    record = counted_network("xnas", CIFAR, with_macs=False)
    assert (record.cell, record.spec, record.parameters, record.macs) == ("xnas", CIFAR, 3_793_438, None)
