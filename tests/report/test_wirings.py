"""Wirings in the terminal: what is drawn can be read back, and fits."""

import re
from dataclasses import dataclass

import pytest

from xnas import Wiring
from xnas.report.wirings import LEGEND, layers, wiring_lines


@dataclass
class Drawn:
    nodes: tuple
    stages: tuple


def test_a_small_wiring_is_drawn_as_a_person_would():
    drawn = wiring_lines(Drawn((3, 1), (((0, 1), (0, 2), (1, 2)), ())))
    assert drawn.splitlines() == [
        "stage 1: 3 nodes, 3 edges                stage 2: 1 node, 0 edges",
        "1 in, 1 out, 3 nodes in a row at most    1 in, 1 out, 1 node in a row at most",
        "node       in  out                       node     in  out",
        "   0 ▼      0    2                          0 ◆    0    0",
        "   1 ●╲     1    1",
        "   2 ●●■    2    0",
        "",
        LEGEND,
    ]


@pytest.mark.parametrize("name", ["ws-4-0.75-0", "ba-5-1-regular", "er-0.2-2"])
def test_edges_and_degrees_can_be_read_back(name):
    wiring = Wiring.named(name)
    for nodes, edges in zip(wiring.nodes, wiring.stages, strict=True):
        text = wiring_lines(Drawn((nodes,), (edges,)))
        assert f"{nodes} nodes, {len(edges)} edges" in text
        found, degrees = [], []
        for row in re.findall(r"^ +(\d+) ([●·]*)([▼■◆╲]) +(\d+) +(\d+)$", text, re.MULTILINE):
            node, marks, mark, inward, outward = row
            assert len(marks) == int(node)
            found += [(source, int(node)) for source, dot in enumerate(marks) if dot == "●"]
            degrees.append((int(inward), int(outward)))
            assert (mark in "▼◆", mark in "■◆") == (inward == "0", outward == "0")
        assert sorted(found) == list(edges)
        assert degrees == [
            (sum(t == node for _, t in edges), sum(s == node for s, _ in edges)) for node in range(nodes)
        ]


def test_stages_of_the_paper_fit_the_terminal():
    assert max(map(len, wiring_lines(Wiring.named("ws-4-0.75-0-regular")).splitlines())) <= 100


def test_a_node_lies_below_the_latest_of_its_sources():
    assert layers(5, [(0, 2), (2, 3), (1, 3)]) == [0, 0, 1, 2, 0]
