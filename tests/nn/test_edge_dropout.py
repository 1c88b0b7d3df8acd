"""Edge dropout: one edge of a node at most, with the chance that was set."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from xnas.errors import ConfigError
from xnas.nn.edge_dropout import EdgeDropout

COUNTS = torch.tensor([2, 3, 5])
STARTS = torch.tensor([0, 2, 5])


def draws(rate, count):
    torch.manual_seed(0)
    dropout = EdgeDropout(rate)
    return torch.stack([dropout.kept(COUNTS, STARTS, edges=10) for _ in range(count)])


def test_a_node_loses_one_edge_at_most_and_any_of_its_own():
    lost = 1 - draws(0.5, 2000)
    by_node = lost.split(COUNTS.tolist(), dim=1)
    for edges in by_node:
        assert set(edges.sum(1).tolist()) == {0.0, 1.0}
        # 1,000 of 2,000 lose one, with a standard deviation of 22; each edge alike
        assert abs(edges.sum() - 1000) < 5 * 22
        share = 1000 / edges.shape[1]
        assert (edges.sum(0) - share).abs().max() < 5 * share**0.5


def test_nothing_is_lost_at_rate_0_and_the_rate_is_not_raised_by_a_schedule():
    assert draws(0.0, 50).min() == 1
    assert not EdgeDropout(0.1).rises
    with pytest.raises(ConfigError, match=r"drop_path_rate must lie in \[0, 1\), got 1"):
        EdgeDropout(1.0)


def test_a_draw_reads_nothing_on_the_host_so_that_it_can_be_captured():
    with FakeTensorMode():  # tensors without values: any read of one raises
        counts = torch.tensor([2, 3])
        kept = EdgeDropout(0.1).kept(counts, counts.cumsum(0) - counts, edges=5)
        assert kept.shape == (5,)
