"""Wirings: frozen, valid as soon as they exist, and the same after any journey through JSON."""

import json
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

from xnas import ConfigError, Genotype, GenotypeError, Wiring
from xnas.space import find_architecture
from xnas.space.architecture import load_architecture, run_of
from xnas.space.wiring import EXAMPLES, REGULAR

SAMPLE = Path(__file__).parents[1] / "samples" / "wiring-v1.json"
WIRING = Wiring.random("ws", 4, 0.75, seed=2, nodes=(8, 6, 6))


def written(**changes):
    return json.dumps(json.loads(SAMPLE.read_text(encoding="utf8")) | changes)


def test_the_sample_of_version_1_loads_for_ever_and_is_what_its_seed_still_draws():
    assert Wiring.load(SAMPLE) == WIRING
    assert WIRING.to_json() == SAMPLE.read_text(encoding="utf8")


def test_a_wiring_is_frozen_can_be_a_key_and_survives_json(tmp_path):
    with pytest.raises(FrozenInstanceError):
        WIRING.seed = 1
    WIRING.save(tmp_path / "wiring.json")
    for again in (Wiring.load(tmp_path / "wiring.json"), Wiring.from_json(WIRING.to_json())):
        assert {again, WIRING} == {WIRING}
    shuffled = replace(WIRING, stages=[list(reversed(edges)) for edges in WIRING.stages])
    assert shuffled == WIRING


def test_another_seed_is_another_graph_of_as_many_edges():
    for generator, parameters in (("ws", (4, 0.75)), ("ba", (5,))):
        first, second = (Wiring.random(generator, *parameters, seed=seed) for seed in (0, 1))
        assert first.stages != second.stages
        assert [*map(len, first.stages)] == [*map(len, second.stages)]
        assert len(set(first.stages)) == 3  # every stage has a graph of its own


def test_names_are_short_for_random():
    assert Wiring.named("ws-4-0.75-7") == Wiring.random("ws", 4, 0.75, seed=7)
    assert Wiring.named("ba-5-0-regular") == Wiring.random("ba", 5, nodes=REGULAR)
    assert Wiring.named("er-0.2-1").title == "ER(0.2), seed 1"
    for name, words in (
        (
            "ws-4-0",
            "called 'ws-4-0': ws takes neighbours and .*; a name is ws-NEIGHBOURS-CHANCE-SEED, such",
        ),
        ("ba-5-0.5", "the seed of the wiring is 0.5; .*; a name is ba-LINKS-SEED"),
        ("er-0.2.1-0", "could not convert string to float: '0.2.1'; a name is er-CHANCE-SEED"),
        ("ba-99999999-0", "links from 1 to 31 for 32 nodes, got 99999999; a name is ba-LINKS-SEED"),
        ("er-0.01-0", "a chance well above 0.11; a name is er-CHANCE-SEED, such as er-0.2-0"),
        ("xs-4-0.75-0", "no wiring is called 'xs-4-0.75-0'; a name is like ws-4-0.75-0"),
    ):
        with pytest.raises(ConfigError, match=words):
            Wiring.named(name)


def test_the_examples_in_messages_are_names_of_wirings():
    for generator, example in EXAMPLES.items():
        assert Wiring.named(example).generator == generator


def test_sources_are_those_of_the_edges_into_a_node():
    wiring = Wiring("own", (), 0, (3, 1, 2), ([(0, 2), (1, 2)], [], [(0, 1)]))
    assert wiring.sources(0) == ((), (), (0, 1))
    assert wiring.sources(1) == ((),)


def test_a_wiring_is_found_by_name_file_and_run_folder(tmp_path):
    WIRING.save(tmp_path / "wiring.json")
    for cell in (WIRING, tmp_path, tmp_path / "wiring.json"):
        assert find_architecture(cell) == WIRING
    assert find_architecture("ba-5-3") == Wiring.random("ba", 5, seed=3)
    assert (run_of(tmp_path), run_of("ba-5-3"), run_of(WIRING)) == (tmp_path, None, None)
    (tmp_path / "bad.json").write_text(written(seed=-1), encoding="utf8")
    with pytest.raises(GenotypeError, match=r"bad\.json: the seed of the wiring is -1"):
        load_architecture(tmp_path / "bad.json")
    with pytest.raises(GenotypeError, match="this is not a genotype: its format is 'xnas-wiring'"):
        Genotype.load(SAMPLE)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (written(format="xnas-genotype"), "not a wiring: its format is 'xnas-genotype'"),
        (written(version=2), "version of the wiring is 2; .* wrote it, or draw it again"),
        (written(colour=1), "the wiring has the unknown key 'colour'"),
        (written(generator="WS\u001b"), r"generator of the wiring is 'WS\\x1b'; it must be a name"),
        (written(parameters=[4, float("nan")]), r"parameters of the wiring are \[4, nan\]"),
        (written(parameters=4), "parameters of the wiring are 4; they must be at most 10 finite"),
        (written(parameters=[1] * 11), "they must be at most 10 finite numbers"),
        (written(seed=True), "seed of the wiring is True; it must be a whole number from 0"),
        (written(nodes=[8, 6]), r"nodes of the wiring are \[8, 6\]; give those of 3 or 4 stages"),
        (written(nodes=[8, 6, 101]), "from 1 to 100 each"),
        (written(stages=[[]]), r"nodes for 3 stages, and its stages are \[\[\]\]; give a list"),
        (written(stages=[[], 5, []]), "stage 2 of the wiring is 5; it must be a list of edges"),
        (written(stages=[[[0, 1], [0, 1]], [], []]), r"stage 1 .* has the edge \[0, 1\] twice"),
        (written(stages=[[], [], [[5, 5]]]), r"stage 3 .* has the edge \[5, 5\]; an edge leads from"),
        (written(stages=[[], [], [[5, 6]]]), r"of a larger number, of 0 to 5"),
        (written(stages=[[], [], [[0, 1.0]]]), r"stage 3 of the wiring has the edge \[0, 1\.0\]"),
        (written(stages=[[], [], [[0, 1, 2]]]), r"has the edge \[0, 1, 2\]"),
        (written(stages=[[], [], ["01"]]), "has the edge '01'"),
        (written(stages=[[], [], [[-1, 1]]]), r"has the edge \[-1, 1\]"),
    ],
)
def test_what_is_no_wiring_is_named(text, words):
    with pytest.raises(GenotypeError, match=words):
        Wiring.from_json(text)


def test_generators_of_ones_own_are_written_down_and_not_drawn():
    own = replace(WIRING, generator="small_world", parameters=())
    assert Wiring.from_json(own.to_json()) == own
    with pytest.raises(ConfigError, match="no generator called 'small_world'; there are: er, ba, ws"):
        Wiring.random("small_world")
    with pytest.raises(GenotypeError, match="the seed of the wiring is None"):
        Wiring.random("ba", 5, seed=None)
