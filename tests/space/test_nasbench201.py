"""NAS-Bench-201's space: its supernet, what a search of it may give, the benchmark's own networks."""

import json
from pathlib import Path

import pytest
import torch
from nasbench201 import arch

from xnas import (
    ConfigError,
    Genotype,
    GenotypeError,
    discretize,
)
from xnas.space import SPACES, CellKind, explain
from xnas.space.discretize import strongest_cell

SPACE = SPACES["nasbench201"]


SAMPLE = Path(__file__).parents[1] / "samples" / "genotype-nasbench201-v1.json"


SAMPLE_ARCH = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|nor_conv_3x3~2|"


SKIPS = arch(["skip_connect"] * 6)


class TestSpace:
    def test_it_has_six_edges_and_four_operations_and_none_can_join(self):
        assert SPACE.edges == ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
        assert SPACE.operations == ("skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
        assert SPACE.with_none().operations == ("none", *SPACE.operations)
        assert SPACE.kinds == (CellKind.NORMAL,)
        assert SPACE.concat == (3,)

    def test_random_cells_are_all_those_without_none(self):
        drawn = {Genotype.random("nasbench201", seed) for seed in range(50_000)}
        assert len(drawn) == 4**6  # one is missed with a chance of 4096 (1 - 1/4096)^50000 = 0.02
        assert not any("none" in cell.arch for cell in drawn)

    def test_json_is_the_format_of_version_1(self):
        assert json.loads(Genotype.from_arch(SKIPS).to_json()) == {
            "format": "xnas-genotype",
            "version": 1,
            "space": "nasbench201",
            "arch": SKIPS,
        }

    def test_sample_of_version_1_loads_for_ever(self):
        genotype = Genotype.load(SAMPLE)
        assert genotype.arch == SAMPLE_ARCH
        assert genotype.to_json() == SAMPLE.read_text(encoding="utf8")

    def test_a_genotype_has_one_cell(self):
        cell = Genotype.load(SAMPLE).normal
        with pytest.raises(
            GenotypeError, match=r"'nasbench201' has the cells normal; .* normal, reduction"
        ):
            Genotype("nasbench201", cell, cell)
        with pytest.raises(GenotypeError, match="of the space 'nasbench201' has no reduction cell"):
            Genotype("nasbench201", cell).cell(CellKind.REDUCTION)
        darts = Genotype.random("darts", 0).normal
        with pytest.raises(
            GenotypeError, match=r"'darts' has the cells normal, reduction; .* has normal"
        ):
            Genotype("darts", darts)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"arch": None}, "the architecture is None; it must read like"),
            ({"arch": "|none~0|"}, "has 3 nodes and gives the last; this one has 1"),
            ({"normal": {}}, "the genotype has the unknown key 'normal'; keys are .*arch"),
        ],
    )
    def test_faults_in_json_are_named(self, change, words):
        value = json.loads(SAMPLE.read_text(encoding="utf8")) | change
        with pytest.raises(GenotypeError, match=words):
            Genotype.from_json(json.dumps(value))

    def test_json_without_the_string_is_refused(self):
        value = json.loads(SAMPLE.read_text(encoding="utf8"))
        del value["arch"]
        with pytest.raises(GenotypeError, match="the genotype lacks 'arch'; its keys are"):
            Genotype.from_json(json.dumps(value))


class TestDiscretization:
    def tables(self, columns, space, dead=()):
        strengths = torch.full((6, len(space.operations)), 0.1)
        for row, column in enumerate(columns):
            strengths[row, column] = 0.5
        alive = torch.ones_like(strengths, dtype=torch.bool)
        for row, column in dead:
            alive[row, column] = False
        return {"normal": strengths}, {"normal": alive}

    def test_all_six_edges_are_kept_each_with_its_strongest_operation(self):
        strengths, alive = self.tables([0, 1, 2, 3, 0, 2], SPACE)
        operations = ["skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]
        wanted = arch([*operations, "skip_connect", "nor_conv_3x3"])
        assert discretize(strengths, alive, SPACE).arch == wanted
        assert strongest_cell(strengths, alive, SPACE).arch == wanted
        choices = explain(strengths, alive, SPACE)
        assert [c.kept for c in choices] == [True] * 6
        assert {c.decided_by for c in choices} == {"no rival"}

    def test_none_is_never_chosen_but_stands_in_the_strongest_cell(self):
        space = SPACE.with_none()
        strengths, alive = self.tables([0, 1, 0, 2, 3, 4], space)
        strengths["normal"][0, 4] = 0.2
        rest = ["nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]
        found = discretize(strengths, alive, space)
        assert found.arch == arch(["avg_pool_3x3", "skip_connect", "skip_connect", *rest])
        strongest = strongest_cell(strengths, alive, space)
        assert strongest.arch == arch(["none", "skip_connect", "none", *rest])

    def test_the_strongest_cell_is_one_of_the_living(self):
        space = SPACE.with_none()
        strengths, alive = self.tables([0, 1, 2, 3, 4, 0], space, dead=[(0, 0), (5, 0), (5, 1), (5, 2)])
        found = strongest_cell(strengths, alive, space).arch
        middle = ["skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]
        assert found == arch(["skip_connect", *middle, "nor_conv_3x3"])
        assert discretize(strengths, alive, space).arch == found

    def test_an_edge_on_which_only_none_lives_still_gets_an_operation(self):
        space = SPACE.with_none()
        strengths, alive = self.tables([0] * 6, space, dead=[(0, i) for i in range(1, 5)])
        strengths["normal"][0, 3] = 0.3
        assert discretize(strengths, alive, space).arch == arch(["nor_conv_3x3"] + ["skip_connect"] * 5)
        assert strongest_cell(strengths, alive, space).arch == arch(["none"] * 6)

    def test_a_table_for_a_cell_that_the_space_lacks_is_refused(self):
        strengths, alive = self.tables([0] * 6, SPACE)
        strengths["reduction"] = strengths["normal"]
        with pytest.raises(ConfigError, match="has a tensor for 'reduction'; kinds of cells are normal"):
            discretize(strengths, alive, SPACE)
