"""Discretization: two edges a node, one operation an edge, every tie by its rule."""

import json
from collections import Counter
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from oracles.discretize import discretize_cell

from xnas import ExpertsOptimizer, uniform_mixture
from xnas.errors import ConfigError, GenotypeError
from xnas.space import SPACES, CellKind, Genotype, SearchSpace, discretize, explain
from xnas.space.cell_rules import searched_cell

DARTS = SPACES["darts"]
EIGHT = DARTS.with_none()
SKIP, SEP3, SEP5 = (DARTS.operations.index(n) for n in ("skip_connect", "sep_conv_3x3", "sep_conv_5x5"))


def tables(space=DARTS, value=0.0, dtype=torch.float64):
    """A table full of one value for each kind of cell."""
    shape = len(space.edges), len(space.operations)
    return {kind: torch.full(shape, value, dtype=dtype) for kind in space.kinds}


def everybody(space=DARTS):
    return tables(space, True, torch.bool)


def at(table, source, node, space=DARTS):
    """The row of one edge of the normal cell, to be written to."""
    return table[CellKind.NORMAL][space.edges.index((source, node))]


def choice(choices, source, node, kind="normal"):
    (found,) = [c for c in choices if (c.kind, c.source, c.node) == (kind, source, node)]
    return found


def kept_sources(choices, node, kind="normal"):
    return [c.source for c in choices if (c.kind, c.node, c.kept) == (kind, node, True)]


@st.composite
def situations(draw):
    """Coarse strengths and sums, so that exact ties are everywhere, with experts wiped and `none`."""
    space = draw(st.sampled_from([DARTS, EIGHT, SearchSpace("darts", ("none", "skip_connect"))]))
    shape = len(space.edges), len(space.operations)
    levels = draw(st.sampled_from([1, 2, 4, 16]))

    def table(low, high):
        level = st.integers(low, high)
        return {k: draw(hnp.arrays(np.int64, shape, elements=level)) / levels for k in space.kinds}

    masks = {}
    for kind in space.kinds:
        mask = draw(hnp.arrays(np.bool_, shape))
        mask[~mask.any(-1), draw(st.integers(0, shape[1] - 1))] = True
        masks[kind] = torch.from_numpy(mask)
    tensors = [{k: torch.from_numpy(v) for k, v in t.items()} for t in (table(0, levels), table(-3, 3))]
    return space, tensors[0], masks, tensors[1] if draw(st.booleans()) else None


@settings(max_examples=150, database=None)
@given(situations())
def test_no_cell_has_repeated_edges_or_none_or_joins_its_inputs(situation):
    """Published cells may; what a search finds never does."""
    space, strengths, alive, sums = situation
    found = discretize(strengths, alive, space, sums)
    for kind in space.kinds:
        searched_cell(space, kind, found.cell(kind))  # raises
        for edges in found.cell(kind).nodes:
            assert len({edge.source for edge in edges}) == len(edges) == 2
            assert "none" not in {edge.operation for edge in edges}


class TestAgainstTheOracle:
    def test_generated_cells_are_the_oracles(self):
        reasons = Counter()

        @settings(max_examples=250, database=None)
        @given(situations())
        def check(situation):
            space, strengths, alive, sums = situation
            found = discretize(strengths, alive, space, sums)
            for kind in space.kinds:
                expected = discretize_cell(
                    strengths[kind].tolist(),
                    alive[kind].tolist(),
                    space.operations,
                    space.nodes,
                    None if sums is None else sums[kind].tolist(),
                )
                nodes = found.cell(kind).nodes
                assert [[(e.operation, e.source) for e in edges] for edges in nodes] == expected
            reasons.update(c.decided_by for c in explain(strengths, alive, space, sums))

        check()
        for reason in (
            "strength",
            "lead of the sums",
            "lower source index",
            "living experts",
            "no rival",
        ):
            assert reasons[reason] > 20  # every rule was put to the test
        assert reasons["only none is alive"] > 20
        assert reasons["only none is alive; strength"] > 0

    @settings(max_examples=50)
    @given(situations())
    def test_the_record_agrees_with_the_genotype(self, situation):
        space, strengths, alive, sums = situation
        choices = explain(strengths, alive, space, sums)
        genotype = discretize(strengths, alive, space, sums)
        assert [(c.kind, c.source, c.node) for c in choices] == [
            (str(kind), source, node) for kind in space.kinds for source, node in space.edges
        ]
        for kind in space.kinds:
            edges = [(c.operation, c.source) for c in choices if c.kept and c.kind == kind]
            assert edges == [(e.operation, e.source) for n in genotype.cell(kind).nodes for e in n]
        assert "none" not in {c.operation for c in choices} | {c.runner_up for c in choices}
        assert Genotype.from_json(genotype.to_json()) == genotype

    @settings(max_examples=50)
    @given(situations())
    def test_float32_and_plain_names_of_kinds_change_nothing(self, situation):
        space, strengths, alive, sums = situation  # all values are exact in float32
        cast = {str(kind): table.float() for kind, table in strengths.items()}
        masks = {str(kind): mask for kind, mask in alive.items()}
        assert discretize(cast, masks, space, sums) == discretize(strengths, alive, space, sums)


class TestEdges:
    def test_a_search_that_is_sure_gives_its_cell(self):
        # XNAS's normal cell (github.com/NivNayman/XNAS), with its edges in the order of their sources
        cell = [
            [("skip_connect", 0), ("sep_conv_3x3", 1)],
            [("sep_conv_3x3", 0), ("sep_conv_3x3", 2)],
            [("sep_conv_3x3", 1), ("sep_conv_3x3", 3)],
            [("sep_conv_3x3", 0), ("dil_conv_5x5", 4)],
        ]
        strengths = tables(value=1 / 7)
        for node, edges in enumerate(cell, start=2):
            for operation, source in edges:
                at(strengths, source, node)[DARTS.operations.index(operation)] = 0.5
        genotype = discretize(strengths, everybody(), "darts")
        assert [[(e.operation, e.source) for e in edges] for edges in genotype.normal.nodes] == cell
        assert genotype.normal.concat == (2, 3, 4, 5)
        assert genotype.space == "darts"

    def test_two_strongest_edges_are_kept(self):
        strengths = tables(value=0.1)
        for source, strength in enumerate((0.3, 0.2, 0.5, 0.4, 0.2)):
            at(strengths, source, 5)[SEP3] = strength
        choices = explain(strengths, everybody(), DARTS)
        assert kept_sources(choices, 5) == [2, 3]
        assert {choice(choices, s, 5).decided_by for s in range(5)} == {"strength"}
        assert choice(choices, 2, 5).strength == 0.5

    def test_an_edge_is_as_strong_as_its_strongest_expert_wiped_or_not(self):
        strengths, alive = tables(value=0.1), everybody()
        at(strengths, 2, 3)[SEP5], at(alive, 2, 3)[SEP5] = 0.5, False
        at(strengths, 2, 3)[SKIP] = 0.2
        choices = explain(strengths, alive, DARTS)
        assert kept_sources(choices, 3) == [0, 2]
        kept = choice(choices, 2, 3)
        assert (kept.operation, kept.strength) == ("skip_connect", 0.5)
        assert (kept.runner_up, kept.runner_up_strength) == ("sep_conv_5x5", 0.5)

    def test_equal_edges_go_to_the_larger_lead(self):
        strengths, sums = tables(value=1 / 7), tables()
        at(sums, 2, 3)[0] = 3.0  # the first operation of equals leads by 3, elsewhere by 0
        choices = explain(strengths, everybody(), DARTS, sums)
        assert kept_sources(choices, 3) == [0, 2]
        assert choice(choices, 2, 3).decided_by == "lead of the sums"
        assert choice(choices, 2, 3).lead == 3.0
        assert choice(choices, 0, 3).decided_by == "lower source index"
        assert choice(choices, 1, 3).decided_by == "lower source index"

    def test_a_lead_is_over_the_best_other_expert(self):
        strengths, sums = tables(value=1 / 7), tables()
        at(sums, 1, 3)[:] = torch.tensor([5.0, 4.0, 0, 0, 0, 0, 0])
        at(sums, 2, 3)[:] = torch.tensor([2.0, 0, 0, 0, 0, 0, 0])
        choices = explain(strengths, everybody(), DARTS, sums)
        assert [choice(choices, s, 3).lead for s in range(3)] == [0.0, 1.0, 2.0]
        assert kept_sources(choices, 3) == [1, 2]

    def test_strength_comes_before_the_lead(self):
        strengths, sums = tables(value=0.1), tables()
        at(sums, 2, 3)[0] = 9.0
        for source in (0, 1):
            at(strengths, source, 3)[0] = 0.1 + 1e-15  # the comparison is exact
        assert kept_sources(explain(strengths, everybody(), DARTS, sums), 3) == [0, 1]

    def test_equal_edges_without_sums_go_to_the_lower_source(self):
        choices = explain(tables(value=1 / 7), everybody(), DARTS)
        for node in (3, 4, 5):
            assert kept_sources(choices, node) == [0, 1]
        assert choice(choices, 0, 5).decided_by == "lower source index"
        assert choice(choices, 0, 5).lead is None

    def test_a_node_with_two_edges_has_no_choice(self):
        choices = explain(tables(value=1 / 7), everybody(), DARTS)
        assert [choice(choices, s, 2).decided_by for s in (0, 1)] == ["no rival", "no rival"]


class TestOperations:
    def test_the_strongest_living_expert_is_chosen(self):
        strengths, alive = tables(value=0.1), everybody()
        at(strengths, 0, 2)[SEP5] = 0.4
        at(strengths, 0, 2)[SKIP] = 0.3
        first = choice(explain(strengths, alive, DARTS), 0, 2)
        assert (first.operation, first.runner_up) == ("sep_conv_5x5", "skip_connect")
        assert (first.strength, first.runner_up_strength) == (0.4, 0.3)
        at(alive, 0, 2)[SEP5] = False
        assert choice(explain(strengths, alive, DARTS), 0, 2).operation == "skip_connect"

    def test_equal_operations_go_to_the_earlier_one(self):
        strengths, alive = tables(value=1 / 7), everybody()
        assert choice(explain(strengths, alive, DARTS), 0, 2).operation == "max_pool_3x3"
        at(alive, 0, 2)[0] = False
        assert choice(explain(strengths, alive, DARTS), 0, 2).operation == "avg_pool_3x3"

    def test_none_is_never_chosen_and_lends_no_strength(self):
        strengths = tables(EIGHT, 0.1)
        at(strengths, 2, 3, EIGHT)[0] = 0.9
        at(strengths, 0, 3, EIGHT)[1 + SEP3] = 0.2
        choices = explain(strengths, everybody(EIGHT), EIGHT)
        assert kept_sources(choices, 3) == [0, 1]
        assert choice(choices, 2, 3).strength == 0.1
        assert choice(choices, 0, 3).operation == "sep_conv_3x3"

    def test_an_edge_where_only_none_lives_gives_way_to_weaker_ones(self):
        strengths, alive = tables(EIGHT, 0.1), everybody(EIGHT)
        at(alive, 0, 3, EIGHT)[1:] = False
        at(strengths, 0, 3, EIGHT)[1 + SEP3] = 0.6
        choices = explain(strengths, alive, EIGHT)
        assert kept_sources(choices, 3) == [1, 2]
        assert choice(choices, 0, 3).decided_by == "only none is alive"
        assert choice(choices, 1, 3).decided_by == "living experts"

    def test_an_edge_where_only_none_lives_fills_a_place_by_its_strongest_other_expert(self):
        strengths, alive = tables(EIGHT, 0.1), everybody(EIGHT)
        at(alive, 0, 2, EIGHT)[1:] = False
        at(strengths, 0, 2, EIGHT)[1 + SEP5] = 0.3
        first = choice(explain(strengths, alive, EIGHT), 0, 2)
        assert (first.operation, first.kept) == ("sep_conv_5x5", True)
        assert first.decided_by == "only none is alive; no rival"

    def test_where_only_none_lives_everywhere_the_strongest_edges_are_kept(self):
        strengths, alive = tables(EIGHT, 0.1), everybody(EIGHT)
        for source in range(3):
            at(alive, source, 3, EIGHT)[1:] = False
            at(strengths, source, 3, EIGHT)[1 + SKIP] = 0.2 + source / 10
        choices = explain(strengths, alive, EIGHT)
        assert kept_sources(choices, 3) == [1, 2]
        assert choice(choices, 2, 3).decided_by == "only none is alive; strength"

    def test_a_space_of_one_operation_has_no_runner_up(self):
        alone = SearchSpace("darts", ("skip_connect",))
        first, *_ = explain(tables(alone, 1.0), everybody(alone), alone, tables(alone, 5.0))
        assert (first.operation, first.runner_up, first.runner_up_strength) == (
            "skip_connect",
            None,
            None,
        )
        assert first.lead == 0.0


def test_edges_still_differ_after_algorithm_1_has_wiped_out_all_but_one():
    # At t = T one expert is left on every edge (line 11: θ = max v), and max u over the living is 1.
    mixtures = {kind: uniform_mixture(14, 7) for kind in CellKind}
    optimizer = ExpertsOptimizer(mixtures.values(), horizon=10, lr=0.1)
    strong = DARTS.edges.index((3, 4)), DARTS.edges.index((2, 4))
    for _ in range(10):
        for mixture in mixtures.values():
            mixture.grad = torch.zeros(14, 7)
            mixture.grad[:, SEP3] = -0.5
            mixture.grad[strong, SEP3] = -1.0
        optimizer.step()
    alive = {kind: optimizer.alive(m) for kind, m in mixtures.items()}
    assert all((mask.sum(-1) == 1).all() for mask in alive.values())
    assert all((m.detach().amax(-1) == 1).all() for m in mixtures.values())
    strengths = {kind: optimizer.strengths(m) for kind, m in mixtures.items()}
    genotype = discretize(strengths, alive, DARTS)
    assert [edge.source for edge in genotype.normal.nodes[2]] == [2, 3]
    assert {e.operation for n in genotype.normal.nodes for e in n} == {"sep_conv_3x3"}


def test_costs_of_absence_rank_edges_and_strengths_still_choose_operations():
    strengths, costs = tables(value=0.1), {k: torch.zeros(14, dtype=torch.float64) for k in DARTS.kinds}
    at(strengths, 0, 4)[SEP3] = 0.9  # the strongest edge of node 4, which no loss misses
    at(strengths, 3, 4)[SKIP] = 0.2
    costs[CellKind.NORMAL][DARTS.edges.index((1, 4))] = 0.02
    costs[CellKind.NORMAL][DARTS.edges.index((3, 4))] = 0.01
    costs[CellKind.NORMAL][DARTS.edges.index((2, 4))] = -0.01  # the loss falls without it
    choices = explain(strengths, everybody(), DARTS, None, costs)
    assert kept_sources(choices, 4) == [1, 3]
    assert choice(choices, 3, 4).operation == "skip_connect"
    assert choice(choices, 3, 4).decided_by == choice(choices, 2, 4).decided_by == "cost of absence"
    assert choice(choices, 1, 4).absence_cost == 0.02
    assert kept_sources(explain(strengths, everybody(), DARTS), 4) == [0, 3]
    assert [
        e.source for e in discretize(strengths, everybody(), DARTS, None, costs).normal.nodes[2]
    ] == [
        1,
        3,
    ]


def test_equal_costs_leave_the_choice_to_strengths():
    strengths, costs = tables(value=0.1), {k: torch.ones(14, dtype=torch.float64) for k in DARTS.kinds}
    at(strengths, 2, 4)[SEP3] = 0.9
    choices = explain(strengths, everybody(), DARTS, None, costs)
    assert kept_sources(choices, 4) == [0, 2]
    assert choice(choices, 2, 4).decided_by == "strength"


def test_costs_of_another_shape_are_refused():
    with pytest.raises(ConfigError, match=r"edge_costs of the normal cell has shape \(14, 7\)"):
        discretize(tables(value=0.1), everybody(), DARTS, None, tables())


def test_choices_are_frozen_and_become_json():
    first, *_ = explain(tables(value=1 / 7), everybody(), DARTS, tables())
    with pytest.raises(FrozenInstanceError):
        first.kept = False
    assert json.loads(json.dumps(first.to_json())) == {
        "kind": "normal",
        "node": 2,
        "source": 0,
        "operation": "max_pool_3x3",
        "strength": 1 / 7,
        "lead": 0.0,
        "runner_up": "avg_pool_3x3",
        "runner_up_strength": 1 / 7,
        "absence_cost": None,
        "kept": True,
        "decided_by": "no rival",
    }


def spoilt(**changes):
    """Good arguments, some of them replaced in the normal cell."""
    arguments = {"strengths": tables(value=1 / 7), "alive": everybody(), "cumulative_rewards": tables()}
    for name, table in changes.items():
        arguments[name] = arguments[name] | {CellKind.NORMAL: table}
    return arguments


def nobody_on_the_last_edge():
    mask = torch.ones(14, 7, dtype=torch.bool)
    mask[-1] = False
    return mask


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (
                spoilt(strengths=torch.ones(14, 8)),
                r"strengths of the normal cell has shape \(14, 8\); .*'darts' has 14 edges and 7 op",
            ),
            (
                spoilt(alive=torch.ones(14, dtype=torch.bool)),
                r"alive of the normal cell has shape \(14,\)",
            ),
            (spoilt(cumulative_rewards=torch.ones(7, 14)), r"cumulative_rewards .* shape \(7, 14\)"),
            (
                spoilt(alive=torch.ones(14, 7)),
                r"alive of the normal cell is torch\.float32; give a mask",
            ),
            (
                spoilt(strengths=torch.full((14, 7), torch.nan)),
                "strengths of the normal cell has nan; give finite floating-point numbers",
            ),
            (
                spoilt(cumulative_rewards=torch.full((14, 7), -torch.inf)),
                "cumulative_rewards .* has -inf",
            ),
            (
                spoilt(strengths=torch.ones(14, 7, dtype=torch.bool)),
                r"strengths .* has torch\.bool; give",
            ),
            (
                spoilt(alive=nobody_on_the_last_edge()),
                "no expert is alive on the edge from 4 to 5 of the normal cell; a mask keeps",
            ),
        ],
        ids=["experts", "rank", "edges", "mask", "nan", "inf", "bool", "nobody"],
    )
    def test_tables_that_do_not_fit_are_named(self, arguments, words):
        for function in (explain, discretize):
            with pytest.raises(ConfigError, match=words):
                function(**arguments, space=DARTS)

    @pytest.mark.parametrize("name", ["strengths", "alive", "cumulative_rewards"])
    def test_a_missing_kind_and_an_unknown_one_are_named(self, name):
        arguments = spoilt()
        del arguments[name][CellKind.REDUCTION]
        with pytest.raises(
            ConfigError, match=f"{name} lacks the reduction cell; give a tensor for each of normal"
        ):
            discretize(**arguments, space=DARTS)
        arguments[name]["reduce"] = torch.ones(14, 7)
        with pytest.raises(ConfigError, match=f"{name} has a tensor for 'reduce'; kinds of cells are"):
            discretize(**arguments, space=DARTS)

    def test_an_unknown_space_is_named(self):
        with pytest.raises(ConfigError, match="no search space called 'cifar'; there are: darts"):
            discretize(**spoilt(), space="cifar")

    def test_a_space_that_is_not_registered_gives_reasons_but_no_genotype(self):
        mine = SearchSpace("mine", ("a", "b"), nodes=1)
        arguments = tables(mine, 0.5), everybody(mine), mine
        assert len(explain(*arguments)) == 4
        with pytest.raises(GenotypeError, match="search space 'mine', which is not known here"):
            discretize(*arguments)
