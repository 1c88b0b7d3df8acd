"""Edge dropout: in a step of training, some nodes of a randomly wired network miss one of their inputs.

Xie et al. (2019, arXiv:1904.01569, Sec. 4) drop one edge into a node with several inputs, with chance
0.1 in every step. All images of a batch miss the same edge, and the other edges are not scaled up.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.nn.drop_path import DropRate


class EdgeDropout(DropRate):
    """Which edges a step keeps: with chance `rate`, a node loses one of its edges, drawn uniformly.

    Every call draws new numbers. They are drawn on the device, so that a step can be captured.
    """

    rises = False

    def kept(self, counts: Tensor, starts: Tensor, *, edges: int) -> Tensor:
        """Return factors (edges,) of 0 and 1.

        `counts` and `starts` (nodes,) say how many edges a node has, and which is its first; edges of a
        node follow one another.
        """
        hit, which = torch.rand(2, len(counts), device=counts.device)
        lost = starts + (which * counts).long()
        lost = lost.masked_fill(hit >= self.rate, edges)  # past the last: a node that loses none
        return torch.ones(edges + 1, device=counts.device).index_fill(0, lost, 0.0)[:edges]
