"""The layout of a cell's graph."""

import re

import pytest

from xnas.report.page.graphs import CellGraph, CellGraphs, GraphEdge, brief_name, leaders, line_width
from xnas.space import SPACES

SPACE = SPACES["darts"]
GRAPH = CellGraph(
    kind="normal",
    inputs=2,
    nodes=4,
    operations=SPACE.operations,
    edges=tuple(GraphEdge(source=source, node=node) for source, node in SPACE.edges),
    concat=SPACE.concat,
    frames=(),
)


def numbers(path):
    return [float(number) for number in re.findall(r"-?[\d.]+", path)]


def test_every_line_stays_inside_the_drawing():
    for edge in GRAPH.edges:
        place = GRAPH.label_place(edge)
        assert 0 < place[0] < GRAPH.width
        assert 9 < place[1] < GRAPH.height  # half a label is 9 high
    for state in GRAPH.concat:
        found = numbers(GRAPH.output_path(state))
        assert max(found[0::2]) < GRAPH.width
        assert max(found[1::2]) < GRAPH.height


def test_labels_never_lie_on_each_other():
    places = [GRAPH.label_place(edge) for edge in GRAPH.edges]
    for at, (x, y) in enumerate(places):
        assert all(abs(x - a) > 66 or abs(y - b) >= 18 for a, b in places[:at])  # their boxes


def test_an_edge_to_the_next_state_is_straight():
    start, level, end, other = numbers(GRAPH.path(GraphEdge(source=2, node=3)))
    assert level == other == GRAPH.row
    assert GRAPH.x(2) < start < end < GRAPH.x(3)


def test_states_are_named_and_inputs_come_first():
    assert [GRAPH.name(state) for state in range(4)] == ["in 1", "in 2", "2", "3"]


@pytest.mark.parametrize(
    ("name", "brief"),
    [
        ("sep_conv_5x5", "sep 5x5"),
        ("max_pool_3x3", "max 3x3"),
        ("skip_connect", "skip"),
        ("none", "none"),
        ("conv", "conv"),
        ("my_very_long_operation", "my very lon…"),
    ],
)
def test_names_of_operations_are_short_enough_for_an_edge(name, brief):
    assert brief_name(name) == brief


def test_lines_grow_with_the_weight_within_limits():
    assert line_width(0) == line_width(-1) < line_width(0.5) < line_width(1) == line_width(2)


def test_the_leader_of_an_edge_is_its_first_largest_expert():
    assert leaders([(0.1, 0.6, 0.3), (0.5, 0.5), (0.0, 0.0), ()]) == (1, 0, -1, -1)


def test_without_graphs_there_are_no_epochs():
    assert CellGraphs(title="", caption="", graphs=(), colours={}).epochs == ()


def test_the_label_of_a_straight_edge_stands_between_its_line_and_the_way_to_the_output():
    for edge in GRAPH.edges:
        _, y = GRAPH.label_place(edge)
        if edge.node - edge.source > 1:
            assert y < GRAPH.row
            continue
        assert y - 9 >= GRAPH.row + line_width(1.0) / 2  # half a label is 9 high
        assert y + 9 < max(numbers(GRAPH.output_path(2))[1::2])
