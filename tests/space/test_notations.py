"""How cells are written: lists of edges, and the string of NAS-Bench-201."""

import json

import pytest

from xnas import Genotype, GenotypeError
from xnas.space import CellGenotype, CellKind, Edge
from xnas.space.notations import ArchString, EdgeLists, require_keys

CELL = CellGenotype(((Edge("sep_conv_3x3", 1), Edge("skip_connect", 0)),), (2,))
KINDS = tuple(CellKind)


def test_edge_lists_are_read_as_they_were_written():
    cells = dict.fromkeys(KINDS, CELL)
    written = {key: json.loads(text) for key, text in EdgeLists().write(cells).items()}
    assert tuple(written) == EdgeLists().keys(KINDS) == ("normal", "reduction")
    assert written["normal"] == {"nodes": [[["sep_conv_3x3", 1], ["skip_connect", 0]]], "concat": [2]}
    assert EdgeLists().read(written, KINDS) == cells
    assert EdgeLists().one_line(cells) is None


def test_the_string_is_read_as_it_was_written():
    cells = {CellKind.NORMAL: Genotype.random("nasbench201", 0).normal}
    written = ArchString().write(cells)
    assert list(written) == ["arch"]
    assert json.loads(written["arch"]) == ArchString().one_line(cells)
    assert ArchString().read({"arch": json.loads(written["arch"])}, (CellKind.NORMAL,)) == cells


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], r"the normal cell is \[\]; it must be an object with nodes and concat"),
        ({"nodes": []}, "the normal cell lacks 'concat'"),
        ({"nodes": {}, "concat": []}, r"nodes of the normal cell are \{\}; they must be a list"),
        ({"nodes": [], "concat": 2}, "concat of the normal cell is 2; it must be a list of states"),
        ({"nodes": [[["a", 0, 1]]], "concat": [2]}, "node 2 of the normal cell holds .* a list of"),
        ({"nodes": [7], "concat": [2]}, "node 2 of the normal cell holds 7"),
    ],
)
def test_faults_in_lists_are_named(value, words):
    with pytest.raises(GenotypeError, match=words):
        EdgeLists().read({"normal": value}, (CellKind.NORMAL,))


def test_keys_that_lack_or_are_not_known_are_named():
    require_keys({"a": 1}, ("a",), "it")
    with pytest.raises(GenotypeError, match="it lacks 'b'; its keys are a, b"):
        require_keys({"a": 1}, ("a", "b"), "it")
    with pytest.raises(GenotypeError, match="it has the unknown key 'c'; keys are a"):
        require_keys({"a": 1, "c": 2}, ("a",), "it")
