"""Recipes by space."""

import pytest

from xnas.methods import METHODS
from xnas.methods.recipes import BENCHMARK, DARTS, by_space


def test_the_benchmark_has_its_own_recipe():
    chosen = by_space(DARTS, nasbench201=BENCHMARK)
    assert [chosen(space).epochs for space in ("darts", "nasbench201", "mine")] == [50, 100, 50]


@pytest.mark.parametrize("name", list(METHODS))
def test_every_method_has_a_recipe_a_summary_a_paper_and_its_costs(name):
    entry = METHODS[name]
    for space in ("darts", "nasbench201"):
        assert entry.recipe_on(space) is not None
    assert entry.summary
    assert "arXiv:" in entry.paper or "NeurIPS" in entry.paper
    assert entry.costs
