"""The zoo: every published cell as it was published, and every number in its file counted again."""

import json
from importlib.resources import files

import pytest
import torch

from xnas import ConfigError, cell_depth, count_macs, count_parameters, list_cells
from xnas.errors import UnknownNameError
from xnas.nn.operations import OPERATIONS
from xnas.space import NETWORKS, build_network, find_genotype, zoo_cell
from xnas.space.zoo import other_systems

NAMES = [
    *("amoebanet_a", "amoebanet_a_google", "amoebanet_b", "amoebanet_b_google", "amoebanet_c_google"),
    *("asap", "darts_v1", "darts_v2", "enas", "gaea_edarts4", "gdas_v1", "nasnet_a", "pc_darts_cifar"),
    *("pc_darts_image", "pdarts", "pnas", "sharpsepconv_darts", "snas_aggressive", "snas_mild"),
    *("snas_moderate", "xnas"),
]
FAST = NETWORKS["cifar"]
QUICK = ("amoebanet_b_google", "gdas_v1", "pnas", "xnas")
SIDE = {"cifar": 32, "imagenet": 224}
SIZES = [(name, size) for name in NAMES for size in zoo_cell(name).sizes]


def identify(case):
    return case if isinstance(case, str) else f"{case.spec.network}-{case.spec.channels}"


def test_the_zoo_has_every_published_cell():
    assert list_cells() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_complete_and_can_be_built(name):
    cell = zoo_cell(name)
    text = (files("xnas.space") / "cells" / f"{name}.json").read_text(encoding="utf8")
    assert json.loads(text)["format"] == "xnas-cell"
    assert json.loads(text)["version"] == 1
    assert cell.title
    assert cell.source
    assert cell.depth == cell_depth(cell.genotype)
    assert find_genotype(name) is cell.genotype
    assert {size.spec.network for size in cell.sizes} == {"cifar", "imagenet"}


@pytest.mark.parametrize(("name", "size"), SIZES, ids=identify)
def test_parameters_are_counted_again(name, size):
    with torch.device("meta"):
        assert count_parameters(build_network(find_genotype(name), size.spec)) == size.parameters


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param(name, size, marks=[pytest.mark.slow] * (size.spec != FAST or name not in QUICK))
        for name, size in SIZES
    ],
    ids=identify,
)
def test_macs_are_counted_again(name, size):
    side = SIDE[size.spec.network]
    with torch.device("meta"):
        model = build_network(find_genotype(name), size.spec)
    assert count_macs(model, (3, side, side)) == size.macs


def test_every_row_of_a_table_says_which_network_its_parameters_belong_to():
    for name in NAMES:
        counted = [size.spec for size in zoo_cell(name).sizes]
        for row in zoo_cell(name).paper:
            assert row.network in counted, f"{name}: {row.row} is not counted"


def test_systems_without_a_cell_say_why():
    assert all(row.network is None and row.note for row in other_systems())
    assert {"AutoAugment", "ProxylessNAS", "RandWire"} <= {row.row for row in other_systems()}


def test_older_cells_need_their_operations():
    used = {
        edge.operation
        for name in NAMES
        for kind in ("normal", "reduction")
        for edges in zoo_cell(name).genotype.cell(kind).nodes
        for edge in edges
    }
    of_own_spaces = {"flood_conv_3x3", "sharp_dil_conv_3x3", "sharp_dil_conv_5x5"}
    assert used == set(OPERATIONS) - of_own_spaces


def test_an_unknown_cell_offers_the_nearest():
    with pytest.raises(ConfigError, match=r"no cell called 'dart_v2'; did you mean darts_v2"):
        zoo_cell("dart_v2")
    with pytest.raises(ConfigError, match=r"no cell, file or run folder called 'xnsa'; did you"):
        find_genotype("xnsa")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("ws-4-nan-0", "ws-NEIGHBOURS-CHANCE-SEED, such as ws-4-0.75-0"),
        ("WS-4-0.75-0", "ws-NEIGHBOURS-CHANCE-SEED, such as ws-4-0.75-0"),
        ("ws-4-0.75-0-large", "ws-NEIGHBOURS-CHANCE-SEED, such as ws-4-0.75-0"),
        ("ws-4-0,75-0", "ws-NEIGHBOURS-CHANCE-SEED, such as ws-4-0.75-0"),
        ("er-1e-300-0", "er-CHANCE-SEED, such as er-0.2-0"),
        ("ba-", "ba-LINKS-SEED, such as ba-5-0"),
    ],
)
def test_a_name_like_that_of_a_wiring_is_told_how_wirings_are_called(name, form):
    with pytest.raises(
        UnknownNameError,
        match=rf"no cell, file, run folder or wiring called '{name}'; .* {form}, in small",
    ):
        find_genotype(name)
