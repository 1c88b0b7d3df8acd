"""Genotypes: frozen, valid as soon as they exist, and the same after any journey through JSON."""

import json
import os
from collections import Counter
from copy import deepcopy
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xnas.errors import GenotypeError
from xnas.space import SPACES, CellGenotype, CellKind, Edge, Genotype, SearchSpace, cell_depth

SAMPLE = Path(__file__).parents[1] / "samples" / "genotype-v1.json"


DARTS = SPACES["darts"]


NODES = (2, 3, 4, 5)


def cell(edges, concat=NODES):
    """A cell from one flat row of operations and sources, as DARTS's `genotypes.py` writes it."""
    pairs = [Edge(operation, int(source)) for operation, source in map(str.split, edges.split(", "))]
    return CellGenotype(tuple(zip(pairs[::2], pairs[1::2], strict=True)), concat)


# github.com/NivNayman/XNAS, genotypes.py (the paper's Figure 9)
XNAS = Genotype(
    "darts",
    cell(
        "sep_conv_3x3 1, skip_connect 0, sep_conv_3x3 0, sep_conv_3x3 2, "
        "sep_conv_3x3 3, sep_conv_3x3 1, dil_conv_5x5 4, sep_conv_3x3 0"
    ),
    cell(
        "max_pool_3x3 0, avg_pool_3x3 1, avg_pool_3x3 0, skip_connect 2, "
        "dil_conv_3x3 3, max_pool_3x3 0, dil_conv_5x5 4, avg_pool_3x3 0"
    ),
)


# github.com/quark0/darts, cnn/genotypes.py
DARTS_V1 = cell(
    "sep_conv_3x3 1, sep_conv_3x3 0, skip_connect 0, sep_conv_3x3 1, "
    "skip_connect 0, sep_conv_3x3 1, sep_conv_3x3 0, skip_connect 2"
)


DARTS_V2 = cell(
    "sep_conv_3x3 0, sep_conv_3x3 1, sep_conv_3x3 0, sep_conv_3x3 1, "
    "sep_conv_3x3 1, skip_connect 0, skip_connect 0, dil_conv_3x3 2"
)


NASNET_A = cell(
    "sep_conv_5x5 1, sep_conv_3x3 0, sep_conv_5x5 0, sep_conv_3x3 0, avg_pool_3x3 1, skip_connect 0, "
    "avg_pool_3x3 0, avg_pool_3x3 0, sep_conv_3x3 1, skip_connect 1",
    (2, 3, 4, 5, 6),
)


AMOEBANET_A = cell(
    "avg_pool_3x3 0, max_pool_3x3 1, sep_conv_3x3 0, sep_conv_5x5 2, sep_conv_3x3 0, avg_pool_3x3 3, "
    "sep_conv_3x3 1, skip_connect 1, skip_connect 0, avg_pool_3x3 1",
    (4, 5, 6),
)


# Two public collections of genotypes agree on it; its authors published no file.
ASAP = cell(
    "sep_conv_3x3 0, sep_conv_3x3 1, sep_conv_3x3 1, skip_connect 0, "
    "skip_connect 0, skip_connect 2, skip_connect 1, skip_connect 2"
)


@pytest.fixture
def more_spaces(monkeypatch):
    """A space that allows any graph, and one that allows what its searches find."""
    monkeypatch.setattr(SPACES, "_entries", dict(SPACES._entries))
    SPACES.add("free", SearchSpace("free", ("none", *DARTS.operations), rule=lambda *_: None))
    SPACES.add("strict", SearchSpace("strict", DARTS.operations))


@st.composite
def genotypes(draw):
    def any_cell():
        edge = st.sampled_from(DARTS.operations)
        nodes = []
        for node in NODES:
            sources = draw(st.permutations(range(node)))[:2]
            nodes.append(tuple(Edge(draw(edge), source) for source in sources))
        concat = draw(st.lists(st.sampled_from(NODES), min_size=1, unique=True))
        return CellGenotype(tuple(nodes), tuple(concat))

    return Genotype("darts", any_cell(), any_cell())


def written(**changes):
    """The sample as data, with some of its keys replaced."""
    return json.loads(SAMPLE.read_text(encoding="utf8")) | changes


def with_cell(kind, **changes):
    value = written()
    value[kind] |= changes
    return value


def with_edge(kind, node, edge, value):
    data = written()
    data[kind]["nodes"][node - 2][edge] = value
    return data


class TestDepth:
    @pytest.mark.parametrize(
        ("normal", "depth"),
        [(XNAS.normal, 1.375), (DARTS_V1, 0.625), (DARTS_V2, 0.625), (ASAP, 0.875)],
        ids=["XNAS", "DARTS V1", "DARTS V2", "ASAP"],
    )
    def test_searched_cells_have_the_depth_of_table_4(self, normal, depth):
        assert cell_depth(replace(XNAS, normal=normal)) == depth

    @pytest.mark.parametrize(
        ("normal", "depth"), [(NASNET_A, 0.4), (AMOEBANET_A, 0.9)], ids=["NASNet", "Amoeba-A"]
    )
    def test_cells_of_five_nodes_have_the_depth_of_table_4(self, normal, depth):
        assert cell_depth(Genotype("darts", normal, normal)) == pytest.approx(depth)


class TestData:
    def test_a_genotype_is_frozen_and_can_be_a_key(self):
        with pytest.raises(FrozenInstanceError):
            XNAS.space = "other"
        with pytest.raises(FrozenInstanceError):
            XNAS.normal.concat = ()
        with pytest.raises(FrozenInstanceError):
            XNAS.normal.nodes[0][0].source = 1
        assert len({XNAS, Genotype.from_json(XNAS.to_json()), replace(XNAS, normal=ASAP)}) == 2

    def test_a_cell_is_found_by_its_kind(self):
        assert XNAS.cell(CellKind.NORMAL) is XNAS.normal
        assert XNAS.cell(CellKind.REDUCTION) is XNAS.reduction

    def test_an_invalid_genotype_cannot_be_made(self):
        with pytest.raises(GenotypeError, match="concat of the normal cell is empty"):
            replace(XNAS, normal=replace(ASAP, concat=()))
        with pytest.raises(GenotypeError, match=r"'cifar', which is not known here; known are darts"):
            replace(XNAS, space="cifar")

    @pytest.mark.usefixtures("more_spaces")
    def test_which_edges_are_allowed_is_up_to_the_space(self):
        twins = replace(ASAP, nodes=((Edge("none", 0), Edge("none", 0), Edge("skip_connect", 1)),))
        twins = replace(twins, concat=(0, 2))
        published = Genotype("free", twins, ASAP)
        assert Genotype.from_json(published.to_json()) == published
        with pytest.raises(GenotypeError, match=r"the normal cell has 1 nodes; .* 'strict' has 4"):
            replace(published, space="strict")
        with pytest.raises(GenotypeError, match=r"node 2 of the normal cell has 3 incoming edges"):
            replace(published, space="darts")

    def test_published_cells_may_be_freer_than_what_a_search_finds(self):
        nodes = ((Edge("none", 0), Edge("none", 0)), (Edge("sep_conv_7x7", 2), Edge("skip_connect", 1)))
        freer = CellGenotype(nodes, (0, 3))
        published = Genotype("darts", freer, freer)
        assert Genotype.from_json(published.to_json()) == published

    @pytest.mark.usefixtures("more_spaces")
    def test_no_space_allows_an_edge_from_the_future(self):
        with pytest.raises(GenotypeError, match="node 2 of the normal cell has an edge from 2"):
            Genotype("free", replace(ASAP, nodes=((Edge("none", 2),), *ASAP.nodes[1:])), ASAP)


class TestJson:
    def test_sample_of_version_1_loads_for_ever(self):
        assert Genotype.load(SAMPLE) == XNAS

    def test_json_is_the_format_of_version_1(self):
        assert json.loads(XNAS.to_json()) == written()
        assert list(json.loads(XNAS.to_json())) == ["format", "version", "space", "normal", "reduction"]

    @given(genotypes())
    def test_a_round_trip_changes_nothing(self, genotype):
        assert Genotype.from_json(genotype.to_json()) == genotype

    def test_the_layout_of_the_text_does_not_matter(self):
        assert Genotype.from_json(json.dumps(written(), indent=7)) == XNAS
        assert Genotype.from_json(json.dumps(dict(reversed(written().items())))) == XNAS


FAULTS = {
    "another format": (written(format="onnx"), r"its format is 'onnx', not 'xnas-genotype'"),
    "no format": ({"version": 1}, "this is not a genotype: its format is missing"),
    "a later version": (written(version=2), "version of the genotype is 2; this xnas reads version 1"),
    "a version that is true": (written(version=True), "version of the genotype is True"),
    "a version that is a fraction": (written(version=1.0), r"version of the genotype is 1\.0"),
    "another space": (
        written(space="atlantis"),
        "search space 'atlantis', which is not known here; known are darts",
    ),
    "a space that is a number": (
        written(space=3),
        "search space of the genotype is 3; it must be a name",
    ),
    "a superfluous key": (written(author="me"), "unknown key 'author'; keys are format, version"),
    "a cell that is a list": (written(normal=[]), r"the normal cell is \[\]; it must be an object"),
    "a superfluous key in a cell": (
        with_cell("normal", depth=3),
        "the normal cell has the unknown key 'depth'; keys are nodes, concat",
    ),
    "nodes that are a name": (
        with_cell("reduction", nodes="all"),
        "nodes of the reduction cell are 'all'",
    ),
    "a node that is null": (
        with_cell("normal", nodes=[None]),
        r"node 2 of the normal cell holds None; a node is a list of \[operation, source\]",
    ),
    "an edge of three": (
        with_edge("normal", 3, 0, ["skip_connect", 0, 1]),
        r"node 3 of the normal cell holds \['skip_connect', 0, 1\]",
    ),
    "an operation that is a number": (
        with_edge("normal", 4, 1, [3, 0]),
        "node 4 of the normal cell has the operation 3; an operation is a name",
    ),
    "an unknown operation": (
        with_edge("reduction", 5, 1, ["conv_9x9", 0]),
        "node 5 of the reduction cell uses the unknown operation 'conv_9x9'; .*there are: none, ",
    ),
    "a misspelt operation": (
        with_edge("reduction", 5, 1, ["sep_conv3x3", 0]),
        "the unknown operation 'sep_conv3x3'; did you mean sep_conv_3x3, .* or .*? there are: none",
    ),
    "no nodes": (with_cell("normal", nodes=[], concat=[0]), "normal cell has no nodes; .* at least 1"),
    "a source that is true": (
        with_edge("normal", 2, 0, ["skip_connect", True]),
        "node 2 of the normal cell has an edge from True; .* here 0 to 1",
    ),
    "a source that is its node": (
        with_edge("normal", 3, 0, ["skip_connect", 3]),
        "node 3 of the normal cell has an edge from 3; .* here 0 to 2",
    ),
    "a negative source": (with_edge("normal", 3, 0, ["skip_connect", -1]), "has an edge from -1"),
    "too few edges": (
        with_cell(
            "reduction", nodes=[n[: 2 - (i == 1)] for i, n in enumerate(written()["normal"]["nodes"])]
        ),
        "^node 3 of the reduction cell has 1 incoming edge; every node needs 2$",
    ),
    "too many edges": (
        with_cell("normal", nodes=[[["skip_connect", s] for s in (0, 1, 0)]] * 4),
        "node 2 of the normal cell has 3 incoming edges; every node needs 2",
    ),
    "concat that is a number": (
        with_cell("normal", concat=2),
        "concat of the normal cell is 2; it must be",
    ),
    "an empty concat": (with_cell("reduction", concat=[]), "concat of the reduction cell is empty"),
    "concat out of range": (
        with_cell("reduction", concat=[2, 6]),
        "concat of the reduction cell lists 6; its states are 0 to 5",
    ),
    "concat of true": (with_cell("normal", concat=[True, 2]), "normal cell lists True; its states"),
    "concat of a name": (with_cell("normal", concat=["2"]), "concat of the normal cell lists '2'"),
    "concat that repeats": (with_cell("normal", concat=[3, 2, 3]), r"cell is \[3, 2, 3\]; .* once"),
}


STRICTER = {
    "an operation that the space lacks": (
        with_edge("reduction", 5, 1, ["sep_conv_7x7", 0]),
        "node 5 of the reduction cell uses 'sep_conv_7x7', .*'strict'.* are max_pool_3x3, ",
    ),
    "none": (
        with_edge("reduction", 5, 1, ["none", 0]),
        "node 5 of the reduction cell uses 'none', which a search never chooses; .* are max_pool_3x3",
    ),
    "a repeated source": (
        with_edge("normal", 2, 0, ["skip_connect", 0]),
        "node 2 of the normal cell has two edges from state 0",
    ),
    "too few nodes": (
        with_cell("normal", nodes=written()["normal"]["nodes"][:3], concat=[2]),
        "the normal cell has 3 nodes; a cell of the space 'strict' has 4",
    ),
    "concat of an input": (
        with_cell("normal", concat=[1, 2]),
        "concat of the normal cell lists 1, an input; .* joins nodes, 2 to 5",
    ),
}


class TestFaults:
    @pytest.mark.parametrize("name", FAULTS)
    def test_every_fault_is_named_in_one_line(self, name):
        value, words = FAULTS[name]
        with pytest.raises(GenotypeError, match=words) as caught:
            Genotype.from_json(json.dumps(value))
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("name", STRICTER)
    @pytest.mark.usefixtures("more_spaces")
    def test_a_space_may_allow_no_more_than_its_searches_find(self, name):
        value, words = STRICTER[name]
        assert isinstance(Genotype.from_json(json.dumps(value)), Genotype)
        with pytest.raises(GenotypeError, match=words):
            Genotype.from_json(json.dumps(value | {"space": "strict"}))

    @pytest.mark.parametrize("key", ["version", "space", "normal", "reduction"])
    def test_a_missing_key_is_named(self, key):
        value = written()
        del value[key]
        with pytest.raises(GenotypeError, match=f"{key}.* missing|lacks '{key}'; its keys are format"):
            Genotype.from_json(json.dumps(value))

    @pytest.mark.parametrize("key", ["nodes", "concat"])
    def test_a_missing_key_of_a_cell_is_named(self, key):
        value = written()
        del value["reduction"][key]
        with pytest.raises(GenotypeError, match=f"the reduction cell lacks '{key}'; its keys are nodes"):
            Genotype.from_json(json.dumps(value))

    def test_a_key_that_stands_twice_is_named(self):
        text = SAMPLE.read_text(encoding="utf8").replace('"version"', '"space": "darts", "version"')
        with pytest.raises(GenotypeError, match="has the key 'space' twice; remove one"):
            Genotype.from_json(text)

    def test_every_truncation_is_refused(self):
        text = XNAS.to_json().rstrip()
        for length in range(len(text)):
            with pytest.raises(GenotypeError, match=r"not JSON .*; it may be truncated or another file"):
                Genotype.from_json(text[:length])

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("[1]", r"the genotype is \[1\]; it must be a JSON object"),
            ("[" * 100_000, "nested too deeply"),
            ('{"version": ' + "9" * 5000 + "}", r"the number 999999999\.\.\.; that is too large"),
            ('{"format": NaN}', "its format is nan"),
        ],
        ids=["a list", "deep", "large", "nan"],
    )
    def test_json_that_is_no_genotype_is_refused(self, text, words):
        with pytest.raises(GenotypeError, match=words):
            Genotype.from_json(text)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


ALIKE = {str: st.sampled_from(("none", *DARTS.operations)), int: st.integers(0, 6)}


def places(value, path=()):
    """Every place inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


def mutate(value, draw):
    """Replace, remove, repeat or reorder something in a genotype's JSON."""
    *way, last = draw(st.sampled_from(sorted(places(value), key=str)))
    parent = value
    for key in way:
        parent = parent[key]
    change = draw(st.sampled_from(["alike", "alike", "reverse", "anything", "remove", "copy"]))
    if change == "alike" and type(parent[last]) in ALIKE:
        parent[last] = draw(ALIKE[type(parent[last])])
    elif change == "reverse" and isinstance(parent[last], list):
        parent[last].reverse()
    elif change == "remove":
        del parent[last]
    elif change == "copy" and isinstance(parent, list):
        parent.append(deepcopy(parent[last]))
    elif change == "copy":
        parent[draw(st.sampled_from(sorted(parent)) | st.text(max_size=3))] = deepcopy(parent[last])
    else:
        parent[last] = draw(ANY_JSON)


@st.composite
def mutations(draw):
    """A genotype's JSON with one to three changes."""
    value = json.loads(draw(genotypes()).to_json())
    for _ in range(draw(st.integers(1, 3))):
        mutate(value, draw)
    return value


def read(text):
    """The genotype, or the error that refuses it."""
    try:
        return Genotype.from_json(text)
    except GenotypeError as error:
        return error


def plain(value):
    """JSON as text: in Python True == 1 == 1.0, in JSON they differ."""
    return json.dumps(value, sort_keys=True)


class TestGeneratedInput:
    def test_a_mutation_is_refused_or_read_as_it_stands(self):
        seen = Counter()

        @settings(max_examples=400, database=None)
        @given(mutations())
        def check(value):
            found = read(json.dumps(value))
            seen[type(found)] += 1
            if isinstance(found, Genotype):
                assert plain(json.loads(found.to_json())) == plain(value)
            else:
                assert "\n" not in str(found)

        check()
        assert seen[Genotype] > 20  # both ways were taken
        assert seen[GenotypeError] > 100

    @given(st.text() | ANY_JSON.map(json.dumps))
    def test_arbitrary_text_and_json_are_refused(self, text):
        assert isinstance(read(text), GenotypeError)

    def test_damaged_text_is_refused_or_read(self):
        sample, seen = SAMPLE.read_text(encoding="utf8"), Counter()

        @settings(max_examples=200, database=None)
        @given(st.integers(0, len(sample) - 1), st.sampled_from(' \n03]},"x') | st.text(max_size=4))
        def check(place, noise):
            found = read(sample[:place] + noise + sample[place + 1 :])
            seen[type(found)] += 1
            if isinstance(found, Genotype):
                assert Genotype.from_json(found.to_json()) == found

        check()
        assert seen[Genotype] > 2  # both ways were taken; how often depends on the version of Hypothesis
        assert seen[GenotypeError] > 50


class TestRandom:
    def test_one_seed_is_one_cell(self):
        assert Genotype.random("darts", 3) == Genotype.random(DARTS, 3)
        assert len({Genotype.random("darts", seed) for seed in range(50)}) == 50

    def test_cells_are_such_as_a_search_finds(self, more_spaces):  # noqa: ARG002
        for seed in range(50):
            drawn = Genotype.random("strict", seed)
            assert drawn.space == "strict"
            assert all(edges[0].source < edges[1].source for edges in drawn.normal.nodes)
        assert Genotype.random(DARTS.with_none(), 0) == Genotype.random("darts", 0)

    def test_every_cell_is_as_likely_as_any_other(self, monkeypatch):
        monkeypatch.setattr(SPACES, "_entries", dict(SPACES._entries))
        SPACES.add("small", SearchSpace("small", ("none", "skip_connect", "sep_conv_3x3"), nodes=2))
        draws = 6000
        seen = Counter(Genotype.random("small", seed).normal for seed in range(draws))
        assert len(seen) == 2**2 * 3 * 2**2  # operations, pairs of sources, operations
        expected = draws / len(seen)
        chi_squared = sum((count - expected) ** 2 / expected for count in seen.values())
        assert chi_squared < 82.7  # exceeded once in a thousand samples with 47 degrees of freedom

    def test_the_mean_depth_of_random_cells_is_five_quarters(self):
        depths = [cell_depth(Genotype.random("darts", seed)) for seed in range(2000)]
        assert sum(depths) / len(depths) == pytest.approx(1.25, abs=0.03)


class TestFiles:
    def test_a_saved_genotype_loads_and_leaves_nothing_else(self, tmp_path):
        XNAS.save(tmp_path / "cell.json")
        assert Genotype.load(str(tmp_path / "cell.json")) == XNAS
        assert [file.name for file in tmp_path.iterdir()] == ["cell.json"]

    def test_saving_replaces_a_file_of_that_name(self, tmp_path):
        replace(XNAS, normal=ASAP).save(tmp_path / "cell.json")
        XNAS.save(tmp_path / "cell.json")
        assert Genotype.load(tmp_path / "cell.json") == XNAS

    @pytest.mark.parametrize("broken", ["fsync", "replace"])
    def test_a_write_that_fails_leaves_the_old_file_whole(self, tmp_path, monkeypatch, broken):
        def fail(*_):
            raise OSError(28, "No space left on device")

        old = replace(XNAS, normal=ASAP)
        old.save(tmp_path / "cell.json")
        monkeypatch.setattr(os if broken == "fsync" else Path, broken, fail)
        with pytest.raises(GenotypeError, match=r"cannot write .*cell\.json: No space left on device"):
            XNAS.save(tmp_path / "cell.json")
        monkeypatch.undo()
        assert Genotype.load(tmp_path / "cell.json") == old
        assert [file.name for file in tmp_path.iterdir()] == ["cell.json"]

    def test_a_file_that_cannot_be_written_is_named(self, tmp_path):
        for path in (tmp_path / "nowhere" / "cell.json", Path("/"), f"{tmp_path}/a\0b"):
            with pytest.raises(
                GenotypeError, match=r"cannot write the genotype .*in a folder that exists"
            ):
                XNAS.save(path)

    def test_a_file_that_cannot_be_read_is_named(self, tmp_path):
        (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
        for path, words in (
            (tmp_path / "missing.json", r"cannot read .*missing\.json: No such file or directory"),
            (tmp_path, "cannot read .*: Is a directory"),
            (tmp_path / "bytes.json", r"bytes\.json is not a genotype: .*can't decode"),
            (f"{tmp_path}/a\0b", "is not a genotype: embedded null"),
        ):
            with pytest.raises(GenotypeError, match=words):
                Genotype.load(path)

    def test_a_fault_in_a_file_is_reported_with_its_path(self, tmp_path):
        (tmp_path / "cell.json").write_text("{", encoding="utf8")
        with pytest.raises(GenotypeError, match=r"cell\.json: the genotype is not JSON \("):
            Genotype.load(tmp_path / "cell.json")
