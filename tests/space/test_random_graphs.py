"""Random graphs: their numbers of edges and inputs, and what a public package draws with the same."""

from collections import Counter
from random import Random
from statistics import mean, stdev

import networkx as nx
import pytest

from xnas.errors import ConfigError
from xnas.space.random_graphs import GENERATORS, random_graph

NODES = 32  # Xie et al. (2019), Sec. 4


def graphs(generator, *parameters, count=40, nodes=NODES):
    return [random_graph(generator, parameters, nodes=nodes, draw=Random(s)) for s in range(count)]


def inputs(edges, nodes=NODES):
    return nodes - len({target for _, target in edges})


def test_every_graph_is_directed_from_the_smaller_number_to_the_larger_without_doubles():
    for edges in (*graphs("er", 0.2), *graphs("ba", 5), *graphs("ws", 4, 0.75)):
        assert all(0 <= source < target < NODES for source, target in edges)
        assert list(edges) == sorted(set(edges))


def test_a_ring_that_is_not_rewired_joins_each_node_to_the_next_ones():
    (ring,) = graphs("ws", 4, 0, count=1, nodes=8)
    clockwise = {(v, (v + step) % 8) for v in range(8) for step in (1, 2)}
    assert set(ring) == {(min(pair), max(pair)) for pair in clockwise}
    assert len(ring) == 16


def test_ws_moves_edges_and_keeps_their_number():
    drawn = graphs("ws", 4, 0.75)
    assert {len(edges) for edges in drawn} == {NODES * 4 // 2}
    assert len(set(drawn)) == len(drawn)
    (ring,) = graphs("ws", 4, 0, count=1)
    kept = mean(len(set(edges) & set(ring)) for edges in drawn)
    # A quarter stays, and a moved edge may land where another was: 16 of 64, and a few.
    assert 14 < kept < 24


def test_ba_has_links_times_later_nodes_and_as_many_inputs_as_links():
    for edges in graphs("ba", 5):
        assert len(edges) == 5 * (NODES - 5) == 135
        assert inputs(edges) == 5
        indegrees = Counter(target for _, target in edges)
        assert set(indegrees.values()) == {5}


def test_ba_prefers_nodes_of_high_degree_as_a_public_package_does():
    def largest(edges):
        return max(Counter(node for edge in edges for node in edge).values())

    ours = [largest(edges) for edges in graphs("ba", 3, count=200, nodes=60)]
    # It starts from a star, which is what our first new node makes of the nodes without edges.
    theirs = [largest(nx.barabasi_albert_graph(60, 3, seed=s).edges) for s in range(200)]
    error = (stdev(ours) ** 2 / 200 + stdev(theirs) ** 2 / 200) ** 0.5
    assert abs(mean(ours) - mean(theirs)) < 4 * error


def test_er_joins_each_pair_with_its_chance_and_is_connected():
    drawn = graphs("er", 0.2, count=200)
    # 496 pairs: 99.2 edges on average, with a standard deviation of 8.9
    assert abs(mean(map(len, drawn)) - 99.2) < 3 * 8.9 / 200**0.5
    assert all(nx.is_connected(nx.Graph(list(edges))) for edges in drawn)


@pytest.mark.parametrize(
    ("generator", "parameters", "words"),
    [
        ("ab", (5,), "no generator called 'ab'; there are: er, ba, ws"),
        ("ws", (4,), "ws takes neighbours and chance, got 4"),
        ("ba", (), "ba takes links, got none"),
        ("ws", (3, 0.5), "ws takes an even number of neighbours below the 32 nodes, got 3"),
        ("ws", (32, 0.5), "ws takes an even number of neighbours below the 32 nodes, got 32"),
        ("ws", (4, 1.5), "ws takes a chance from 0 to 1, got 1.5"),
        ("ws", (4.5, 0.5), "ws takes a whole number of neighbours, got 4.5"),
        ("ba", (32,), "ba takes links from 1 to 31 for 32 nodes, got 32"),
        ("er", (-0.1,), "er takes a chance from 0 to 1, got -0.1"),
        ("er", (0.01,), r"none of 1,000 graphs of 32 nodes .* connected; use a chance well above 0\.11"),
    ],
)
def test_parameters_that_draw_no_graph_are_named(generator, parameters, words):
    with pytest.raises(ConfigError, match=words):
        random_graph(generator, parameters, nodes=NODES, draw=Random(0))


def test_generators_are_known_by_their_parameters():
    assert {name: names for name, (_, names) in GENERATORS.items()} == {
        "er": ("chance",),
        "ba": ("links",),
        "ws": ("neighbours", "chance"),
    }
