"""Sizes of networks without building them: equal to those of built ones."""

from random import Random

import pytest

from xnas.space import (
    NETWORKS,
    SPACES,
    Genotype,
    build_network,
    count_macs,
    count_parameters,
    encoding_of,
    zoo_cell,
)
from xnas.space.network_size import NetworkSizes

CIFAR = NETWORKS["cifar"]


@pytest.mark.parametrize(
    ("space", "spec", "image"),
    [
        ("darts", CIFAR.but(channels=8, cells=8), (3, 32, 32)),
        ("nasnet", CIFAR.but(channels=4, cells=4), (1, 29, 31)),
        ("darts", NETWORKS["imagenet"].but(channels=8, cells=3), (3, 64, 64)),
        (
            "nasbench201",
            SPACES["nasbench201"].defaults.networks["cifar"].but(channels=4, cells=1),
            (3, 16, 16),
        ),
    ],
)
def test_sizes_are_those_of_the_network(space, spec, image):
    spec = spec.but(in_chans=image[0])
    sizes, encoding, draw = NetworkSizes(spec, image), encoding_of(space), Random(0)
    for _ in range(3):
        cell = encoding.decode(encoding.draw(draw))
        size, network = sizes.size(cell), build_network(cell, spec)
        assert size.parameters == count_parameters(network)
        assert size.macs == count_macs(network, image)
        assert sizes.size(cell) == size


def test_a_published_cell_whose_output_joins_an_input_is_counted():
    spec = CIFAR.but(channels=4, cells=3)
    sizes = NetworkSizes(spec, (3, 32, 32))
    for name in ("amoebanet_a_google", "nasnet_a", "amoebanet_a_google"):
        cell = zoo_cell(name).genotype
        assert sizes.size(cell).parameters == count_parameters(build_network(cell, spec))


def test_an_auxiliary_tower_does_not_count():
    cell, spec = Genotype.random("darts", 0), CIFAR.but(channels=4, cells=3)
    plain = NetworkSizes(spec, (3, 32, 32)).size(cell)
    assert NetworkSizes(spec.but(auxiliary=True), (3, 32, 32)).size(cell) == plain
