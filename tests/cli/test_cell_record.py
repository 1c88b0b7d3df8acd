"""`xnas show --json` prints one JSON document with stable keys."""

import json

import pytest
from commands import call

from xnas.space import Genotype, Wiring, list_cells, zoo_cell

HEAD = {"format", "version"}
CELL = HEAD | {"cell", "space", "string", "depth", "networks", "published", "genotype"}
NETWORK = {"network", "channels", "cells", "pixels", "parameters", "macs"}


def shown(capsys, *arguments):
    status, out, err = call(capsys, "show", *arguments, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def test_a_published_cell_has_its_networks_and_its_source(capsys):
    record = shown(capsys, "xnas")
    assert {*record} == CELL
    assert all({*network} == NETWORK for network in record["networks"])
    assert record["networks"][0]["parameters"] == 3_793_438  # XNAS-Small, as the guide has it
    assert record["published"]["title"] == "XNAS"
    assert record["depth"] == 1.375  # Table 4 of the paper
    assert Genotype.from_json(json.dumps(record["genotype"])) == zoo_cell("xnas").genotype


def test_a_network_of_the_paper_has_its_own_size(capsys):
    assert shown(capsys, "xnas_large")["networks"][0]["parameters"] == 7_174_760


def test_a_cell_of_another_space_has_its_string(capsys):
    cell = Genotype.random("nasbench201", seed=1)
    record = shown(capsys, cell.arch)
    assert record["string"] == cell.arch
    assert record["depth"] is None
    assert record["published"] is None
    assert [network["channels"] for network in record["networks"]] == [16]


def test_a_wiring_is_shown_as_in_its_file(capsys):
    record = shown(capsys, "ws-4-0.75-0")
    assert Wiring.from_json(json.dumps(record["wiring"])) == Wiring.named("ws-4-0.75-0")
    assert "genotype" not in record


def test_the_zoo_is_listed(capsys):
    cells = shown(capsys, "--zoo")["cells"]
    assert [cell["name"] for cell in cells] == list_cells()
    assert all({*cell} >= NETWORK for cell in cells)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("xnas", "--svg", "cell.svg"), "--json prints and draws nothing, got --svg cell.svg with it"),
        (("ws-4-0.75-0", "--truth", "cells.csv"), "--truth knows cells, and ws-4-0.75-0 is a wiring"),
    ],
)
def test_what_does_not_go_together_is_one_line(capsys, arguments, words):
    status, out, err = call(capsys, "show", *arguments, "--json")
    assert (status, out) == (2, "")
    assert words in err
