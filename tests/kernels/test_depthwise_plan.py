"""Plans of depthwise convolutions: which weights, groups and members a kernel finds in their tables."""

import pytest
import torch

from xnas.kernels.depthwise_plan import plan_of

CPU = torch.device("cpu")
# input, side, dilation
ROWS = [(1, 3, 1), (0, 5, 1), (0, 3, 2), (1, 3, 1)]


def test_every_slot_knows_its_row_among_the_weights_of_its_side():
    plan = plan_of(ROWS, inputs=2, device=CPU)
    assert plan.table.view(-1, 4).tolist() == [[1, 3, 1, 0], [0, 5, 1, 0], [0, 3, 2, 1], [1, 3, 1, 2]]
    assert plan.sides == [3, 5]
    assert plan.dilations == [1, 2]


def test_groups_share_an_input_and_a_dilation():
    plan = plan_of(ROWS, inputs=3, device=CPU)
    assert plan.groups == ((0, 1), (0, 2), (1, 1))
    assert plan.group_table.view(-1, 4).tolist() == [[0, 1, 0, 1], [0, 2, 1, 2], [1, 1, 2, 4]]
    assert plan.members.view(-1, 4).tolist() == [[1, 5, 0, 0], [2, 3, 1, 0], [0, 3, 0, 0], [3, 3, 2, 0]]
    assert plan.arrivals.tolist() == [0, 2, 3, 3]  # the last input is read by no slot


def test_slots_alone_read_the_input_of_their_number():
    assert plan_of([(0, 3, 1), (1, 5, 1)], inputs=2, device=CPU, alone=True).alone
    with pytest.raises(AssertionError):
        plan_of([(1, 3, 1), (0, 5, 1)], inputs=2, device=CPU, alone=True)
