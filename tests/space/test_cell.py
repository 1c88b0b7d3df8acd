"""A cell of the supernet computes what a plain loop over its edges does."""

import pytest
import torch

from xnas.space import SearchSpace
from xnas.space.cell import SearchCell
from xnas.space.cell_genotype import CellKind

SPACE = SearchSpace("two", ("skip_connect", "sep_conv_3x3"), nodes=2)


def cell_of(kind, **options):
    torch.manual_seed(0)
    return SearchCell(SPACE, kind, 4, inputs=(3, 5), **{"after_reduction": False} | options).eval()


def test_a_node_adds_the_predictions_on_its_edges_and_the_output_joins_the_nodes():
    cell = cell_of(CellKind.NORMAL)
    older, newer = torch.randn(2, 3, 8, 8), torch.randn(2, 5, 8, 8)
    mixture = torch.rand(5, 2).softmax(-1)
    states = [cell.prepare_before_that(older), cell.prepare_previous(newer)]
    row = 0
    for node in (2, 3):
        total = 0
        for source in range(node):
            experts = cell.forecaster(row).experts
            u, x = mixture[row], states[source]
            total = total + u[0] * experts["skip_connect"](x) + u[1] * experts["sep_conv_3x3"](x)
            row += 1
        states.append(total)
    torch.testing.assert_close(cell(older, newer, mixture), torch.cat(states[2:], 1))


@pytest.mark.parametrize(
    ("kind", "after_reduction", "older", "side"),
    [
        (CellKind.NORMAL, True, 16, 8),
        (CellKind.REDUCTION, False, 8, 4),
        (CellKind.REDUCTION, True, 16, 4),
    ],
)
def test_sizes_are_those_of_the_newer_input_halved_in_a_reduction(kind, after_reduction, older, side):
    cell = cell_of(kind, after_reduction=after_reduction)
    out = cell(torch.randn(1, 3, older, older), torch.randn(1, 5, 8, 8), torch.full((5, 2), 0.5))
    assert out.shape == (1, 8, side, side)
